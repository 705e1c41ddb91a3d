// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// checksums is the file that `sha256sum --check` reads.
const checksums = "SHA256SUMS"

// entry is a file of an archive, or with a link a symbolic link.
type entry struct {
	name, link string
	mode       int64
	content    []byte
}

// archive packs entries in the given order, owned by root, all with the time date.
func archive(date time.Time, entries []entry) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	files := tar.NewWriter(compressed)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: date}
		if e.link != "" {
			header = &tar.Header{Name: e.name, Linkname: e.link, Typeflag: tar.TypeSymlink, Mode: 0o777, ModTime: date}
		}
		if err := files.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("adding %s: %w", e.name, err)
		}
		if _, err := files.Write(e.content); err != nil {
			return nil, fmt.Errorf("adding %s: %w", e.name, err)
		}
	}
	if err := files.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// writeFile writes an artifact.
func (r *release) writeFile(name string, content []byte) error {
	fmt.Printf("  %s: %d kB\n", name, (len(content)+999)/1000)
	return os.WriteFile(filepath.Join(r.output, name), content, 0o644) //nolint:gosec // the artifacts are public
}

// writeChecksums comes last: it writes a line for every file in the folder.
func (r *release) writeChecksums() error {
	var out strings.Builder
	folder := os.DirFS(r.output)
	files, err := fs.ReadDir(folder, ".") // sorted
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := fs.ReadFile(folder, file.Name())
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(content), file.Name())
	}
	return r.writeFile(checksums, []byte(out.String()))
}

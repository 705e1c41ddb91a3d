// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeChart packages the chart with Helm, with this version: without the v in the chart's version, as Helm requires, and with
// the v in appVersion, which is the image's tag. Helm keeps the times of the files, so it packages a copy with the release's time.
func (r *release) writeChart(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	source := filepath.Join(folder, filepath.Base(chartFolder))
	if err := os.CopyFS(source, os.DirFS(chartFolder)); err != nil {
		return err
	}
	err = filepath.WalkDir(source, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, r.date, r.date)
	})
	if err != nil {
		return fmt.Errorf("setting times: %w", err)
	}
	version := strings.TrimPrefix(r.version, "v")
	packed := filepath.Base(chartFolder) + "-" + version + ".tgz"
	_, err = output(ctx, r.helm, "package", source, "--version", version, "--app-version", r.version, "--destination", folder)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(folder, packed))
	if err != nil {
		return err
	}
	return r.writeFile(packed, content)
}

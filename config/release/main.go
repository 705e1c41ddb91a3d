// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

// release is what all artifacts have in common. Paths are relative to the repository.
type release struct {
	version string    // v1.2.3
	date    time.Time // of every file
	helm    string    // the program
	output  string    // the folder
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	r := release{}
	flag.StringVar(&r.version, "version", "", "Version, such as v1.2.3. Default: a trial version with the commit in it.")
	flag.StringVar(&r.helm, "helm", ".bin/helm", "Helm.")
	flag.StringVar(&r.output, "output", "dist", "Output folder. Its content is removed first.")
	flag.Parse()
	if err := r.readSource(ctx); err != nil {
		return fmt.Errorf("reading source: %w", err)
	}
	fmt.Printf("targetgate %s of %s into %s\n", r.version, r.date.Format(time.RFC3339), r.output)
	if err := empty(r.output); err != nil {
		return fmt.Errorf("emptying the folder: %w", err)
	}
	if err := os.MkdirAll(r.output, 0o750); err != nil {
		return fmt.Errorf("creating the folder: %w", err)
	}
	return r.write(ctx)
}

// empty removes a folder of artifacts, but no other folder.
func empty(folder string) error {
	found, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, checksums)); len(found) > 0 && err != nil {
		return fmt.Errorf("%s has files but no %s, so this program did not write it: remove it yourself", folder, checksums)
	}
	return os.RemoveAll(folder)
}

// write writes every artifact. The fast ones come first, because they may fail, too.
func (r *release) write(ctx context.Context) error {
	if err := r.writeManifests(); err != nil {
		return fmt.Errorf("writing manifests: %w", err)
	}
	if err := r.writeChart(ctx); err != nil {
		return fmt.Errorf("writing chart: %w", err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		if err := r.writeBinary(ctx, arch); err != nil {
			return fmt.Errorf("writing binary for %s: %w", arch, err)
		}
	}
	if err := r.writeChecksums(); err != nil {
		return fmt.Errorf("writing checksums: %w", err)
	}
	return nil
}

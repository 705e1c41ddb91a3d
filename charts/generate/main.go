// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate CHART-FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "generate: %v\n", err)
		os.Exit(1)
	}
}

func run(chart string) error {
	values, err := readValues(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return err
	}
	ignored, err := readIgnored(filepath.Join(chart, "files/ignored-values.yaml"))
	if err != nil {
		return err
	}
	description, err := schema(values, ignored)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(chart, "values.schema.json"), description, 0o600); err != nil {
		return fmt.Errorf("writing schema: %w", err)
	}
	if err := os.WriteFile(filepath.Join(chart, "files/known-values.yaml"), known(values), 0o600); err != nil {
		return fmt.Errorf("writing names of values: %w", err)
	}
	if err := os.WriteFile(filepath.Join(chart, "README.md"), readme(values, ignored), 0o600); err != nil {
		return fmt.Errorf("writing README: %w", err)
	}
	if err := os.WriteFile(filepath.Join(chart, "ANNOTATIONS.md"), annotations(annotation.Table()), 0o600); err != nil {
		return fmt.Errorf("writing annotations: %w", err)
	}
	return nil
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

const program = "targetgate"

// writeBinary compiles for Linux, and writes the archive and the SBOM.
func (r *release) writeBinary(ctx context.Context, arch string) error {
	folder := filepath.Join(r.output, "linux_"+arch)
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, program)
	if err := r.compile(ctx, arch, path); err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	if err := r.checkBinary(ctx, arch, path, info); err != nil {
		return fmt.Errorf("checking the binary: %w", err)
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	packed, err := archive(r.date, []entry{
		{name: "LICENSE", mode: 0o644, content: license},
		{name: "kubectl-" + program, link: program},
		{name: program, mode: 0o755, content: binary},
	})
	if err != nil {
		return fmt.Errorf("packing: %w", err)
	}
	name := fmt.Sprintf("%s_%s_linux_%s", program, r.version, arch)
	if err := r.writeFile(name+".tar.gz", packed); err != nil {
		return err
	}
	inventory, err := newBOM(r.version, r.date, info, binary)
	if err != nil {
		return fmt.Errorf("creating SBOM: %w", err)
	}
	return r.writeFile(name+".cdx.json", inventory)
}

// buildArguments are the arguments of `go build`, also in config/image/Dockerfile.
func buildArguments(version string) []string {
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version=" + version}
}

// compile gives the same result on every host, because Go cross-compiles, and with any Go settings of the user.
func (r *release) compile(ctx context.Context, arch, path string) error {
	command := exec.CommandContext(ctx, ".tools/build", append([]string{path, ".", "4"}, buildArguments(r.version)...)...)
	command.Args = append(command.Args, "./cmd/"+program)
	command.Env = append(os.Environ(),
		"CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command.Run()
}

// checkBinary checks a binary's platform, compiler and version. To get the version it runs the binary, if it can run here: with
// -trimpath, the binary does not record the linker flags.
func (r *release) checkBinary(ctx context.Context, arch, path string, info *debug.BuildInfo) error {
	got := map[string]string{"Go": info.GoVersion}
	for _, setting := range info.Settings {
		got[setting.Key] = setting.Value
	}
	want := map[string]string{"Go": runtime.Version(), "GOOS": "linux", "GOARCH": arch, "CGO_ENABLED": "0", "-trimpath": "true"}
	for key, value := range want {
		if got[key] != value {
			return fmt.Errorf("%s is %q, want %q", key, got[key], value)
		}
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != arch {
		return nil
	}
	version, err := output(ctx, path, "--version")
	if err == nil && version != r.version {
		err = fmt.Errorf("it reports version %q, want %q", version, r.version)
	}
	return err
}

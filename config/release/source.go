// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	chartFolder = "charts/targetgate"
	dockerfile  = "config/image/Dockerfile"
)

// versions matches versions of Helm charts, with a v, but without a + as in v1.0.0+a, which an image tag cannot contain.
var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z]+([.-][0-9A-Za-z]+)*)?$`)

// readSource sets version and date. It fails before anything is compiled, and its error says what to do.
func (r *release) readSource(ctx context.Context) error {
	content, err := os.ReadFile(dockerfile)
	if err != nil {
		return err
	}
	if want, got := "go"+goOfImage(string(content)), runtime.Version(); got != want {
		return fmt.Errorf("this is %s, but the image is built with %s: a release needs the same (GOTOOLCHAIN=%s makes Go download it)",
			got, want, want)
	}
	commit, seconds, err := headCommit(ctx)
	if err != nil && os.Getenv("SOURCE_DATE_EPOCH") == "" {
		return fmt.Errorf("no commit to take the time from (without one, set SOURCE_DATE_EPOCH and VERSION): %w", err)
	}
	epoch, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), seconds), 10, 64)
	if err != nil {
		return fmt.Errorf("reading SOURCE_DATE_EPOCH: %w", err)
	}
	r.date = time.Unix(epoch, 0).UTC()
	if r.version == "" {
		r.version, err = trialVersion(commit)
		return err
	}
	return checkVersion(r.version, commit)
}

func checkVersion(version, commit string) error {
	if !versions.MatchString(version) {
		return fmt.Errorf("version %q is invalid: want one such as v1.2.3 or v1.2.3-rc.1", version)
	}
	if strings.HasSuffix(commit, "-dirty") {
		return errors.New("uncommitted changes or files: a version needs a commit (without VERSION, a trial version is built)")
	}
	return nil
}

// trialVersion returns a version that sorts before the chart's and cannot be mistaken for it.
func trialVersion(commit string) (string, error) {
	if commit == "" {
		return "", errors.New("no commit to derive a version from: set VERSION")
	}
	content, err := os.ReadFile(chartFolder + "/Chart.yaml")
	if err != nil {
		return "", err
	}
	var chart struct{ AppVersion string }
	if err := yaml.Unmarshal(content, &chart); err != nil {
		return "", fmt.Errorf("reading Chart.yaml: %w", err)
	}
	return chart.AppVersion + "-g" + commit, nil
}

// headCommit returns the short hash, with -dirty if the working tree differs, and the time in seconds.
func headCommit(ctx context.Context) (hash, seconds string, err error) {
	head, err := output(ctx, "git", "log", "-1", "--abbrev=12", "--format=%h %ct")
	if err != nil {
		return "", "", err
	}
	hash, seconds, _ = strings.Cut(head, " ")
	changes, err := output(ctx, "git", "status", "--porcelain")
	if err != nil {
		return "", "", err
	}
	if changes != "" {
		hash += "-dirty"
	}
	return hash, seconds, nil
}

// goOfImage returns the version of Go that a Dockerfile builds with.
func goOfImage(content string) string {
	if found := regexp.MustCompile(`(?m)^FROM .*\bgolang:([0-9.]+)`).FindStringSubmatch(content); found != nil {
		return found[1]
	}
	return ""
}

// output runs a program and returns its standard output, trimmed. An error contains its standard error.
func output(ctx context.Context, program string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if failure, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("running %s %s: %w: %s", program, args[0], err, strings.TrimSpace(string(failure.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("running %s: %w", program, err)
	}
	return strings.TrimSpace(string(out)), nil
}

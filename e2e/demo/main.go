// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// options are the command line.
type options struct {
	controlPlane, targetgate string
	html                     string
	scale                    float64
}

func main() {
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	opts, err := parseOptions(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	report, err := play(ctx, opts, testbed.NewProgress(os.Stdout))
	if ctx.Err() != nil {
		return errors.New("interrupted; nothing is left running")
	}
	if err != nil {
		return err
	}
	report.Date = time.Now()
	if report.Version, err = versionOfProgram(ctx, opts.targetgate); err != nil {
		return err
	}
	if err := writeTerminal(os.Stdout, report, newPaint(os.Stdout)); err != nil {
		return err
	}
	if err := savePage(opts.html, report); err != nil {
		return err
	}
	fmt.Printf("Diagram of both acts: %s\n", opts.html)
	return report.verdict()
}

// versionOfProgram asks targetgate for its version.
func versionOfProgram(ctx context.Context, path string) (string, error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", path, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.StringVar(&o.controlPlane, "control-plane", "", "`path` of the control plane built from e2e/kubernetes (required)")
	flags.StringVar(&o.targetgate, "targetgate", "", "`path` of targetgate (required)")
	flags.StringVar(&o.html, "html", "demo.html", "`path` of the page to write")
	flags.Float64Var(&o.scale, "scale", 0.2, "`factor` of all times of load balancers and nodes: 0.2 is five times faster than AWS")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	return o, o.complete()
}

// complete checks the options and makes their paths absolute.
func (o *options) complete() error {
	if o.controlPlane == "" || o.targetgate == "" {
		return errors.New("-control-plane and -targetgate are required; `make demo` builds both and sets them")
	}
	if o.scale <= 0 || o.scale > 1 {
		return fmt.Errorf("-scale must be above 0 and at most 1, not %v", o.scale)
	}
	for _, path := range []*string{&o.controlPlane, &o.targetgate, &o.html} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("finding %s: %w", *path, err)
		}
		*path = absolute
	}
	return nil
}

// scaled is a duration of AWS's or of a pod's spec as the test bed has it.
func (o options) scaled(d time.Duration) time.Duration { return time.Duration(float64(d) * o.scale) }

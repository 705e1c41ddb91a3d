// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/targetgate/targetgate/e2e/run"
)

// options are the command line.
type options struct {
	run.Programs
	html  string
	scale float64
}

func main() { run.Main("demo", demo) }

func demo(ctx context.Context, args []string) error {
	opts, err := parseOptions(args)
	if err != nil {
		return err
	}
	report, err := play(ctx, opts, run.NewProgress(os.Stdout))
	if err = errors.Join(err, context.Cause(ctx)); err != nil {
		return err
	}
	report.Date = time.Now()
	if report.Version, err = opts.Version(ctx); err != nil {
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

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	o.AddFlags(flags)
	flags.StringVar(&o.html, "html", "demo.html", "`path` of the page to write")
	flags.Float64Var(&o.scale, "scale", 0.2, "`factor` of all times of load balancers and nodes: 0.2 is five times faster than AWS")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	return o, o.complete()
}

// complete checks the options and makes their paths absolute.
func (o *options) complete() error {
	if o.scale <= 0 || o.scale > 1 {
		return fmt.Errorf("-scale must be above 0 and at most 1, not %v", o.scale)
	}
	return errors.Join(o.Complete("demo"), run.MakeAbsolute(&o.html))
}

// scaled is a duration of AWS's or of a pod's spec as the test bed has it.
func (o options) scaled(d time.Duration) time.Duration { return time.Duration(float64(d) * o.scale) }

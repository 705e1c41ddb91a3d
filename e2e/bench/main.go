// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/targetgate/targetgate/e2e/run"
)

// options are the command line.
type options struct {
	run.Programs
	json, logs  string
	quick, list bool
	scenarios   []scenario
}

// garbagePercent has this process, which plays thousands of pods, spend less of the shared machine on collecting garbage.
const garbagePercent = 400

func main() {
	debug.SetGCPercent(garbagePercent)
	run.Main("bench", bench)
}

func bench(ctx context.Context, args []string) error {
	opts, err := parseOptions(args)
	if err != nil {
		return err
	}
	if opts.list {
		fmt.Print(listed())
		return nil
	}
	r := report{Date: time.Now(), Quick: opts.quick}
	if r.Environment, err = environmentOf(ctx, opts.Programs); err != nil {
		return err
	}
	p := run.NewProgress(os.Stdout)
	var failures []error
	for _, s := range opts.scenarios {
		result, err := measure(ctx, opts, s, p)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.Results = append(r.Results, *result)
		failures = append(failures, err, r.save(opts.json)) // after each, so that none is lost
		fmt.Print(result.table())
	}
	fmt.Print(r.summary())
	return errors.Join(failures...)
}

// measure runs one scenario on a bed of its own. Why it was not run to its end, the result says: that may be long.
func measure(ctx context.Context, opts options, s scenario, p *run.Progress) (*result, error) {
	r := newResult(s, opts.quick)
	p.Say("%s: %s, %s", s.Name, s.Title, size(s.Bindings, s.Replicas))
	if err := perform(ctx, opts, s, p, r); err != nil {
		r.Error = err.Error()
		p.Say("%s: not run to its end: %v", s.Name, err)
		return r, fmt.Errorf("scenario %s was not run to its end", s.Name)
	}
	return r, nil
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	o.AddFlags(flags)
	names := flags.String("scenario", "", "`names` of scenarios to run, with commas; \"all\" is all, and \"\" those that -list marks")
	flags.BoolVar(&o.list, "list", false, "print the names of all scenarios, and run none")
	flags.StringVar(&o.json, "json", "bench.json", "`path` of the report to write as JSON; \"\" is none")
	flags.StringVar(&o.logs, "logs", "", "`folder` for targetgate's log of each scenario; \"\" keeps none")
	flags.BoolVar(&o.quick, "quick", false, "make scenarios small, to try the bench; their figures say nothing")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.list {
		return o, nil
	}
	var err error
	if o.scenarios, err = choose(*names); err != nil {
		return o, err
	}
	return o, o.complete()
}

// complete checks the options, makes their paths absolute, and makes scenarios small where that is asked for.
func (o *options) complete() error {
	if err := errors.Join(o.Complete("bench"), run.MakeAbsolute(&o.json, &o.logs)); err != nil {
		return err
	}
	for i, s := range o.scenarios {
		if o.quick && !s.Growth {
			o.scenarios[i] = s.quick()
		}
	}
	return nil
}

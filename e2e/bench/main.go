// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// options are the command line.
type options struct {
	controlPlane, targetgate string
	json, logs               string
	quick                    bool
	scenarios                []scenario
}

// garbagePercent has this process, which plays thousands of pods, spend less of the shared machine on collecting garbage.
const garbagePercent = 400

func main() {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // clients complain when a bed ends
	debug.SetGCPercent(garbagePercent)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "bench:", err)
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
	r := report{Date: time.Now(), Quick: opts.quick}
	if r.Environment, err = environmentOf(ctx, opts.targetgate); err != nil {
		return err
	}
	p := testbed.NewProgress(os.Stdout)
	var failures []error
	for _, s := range opts.scenarios {
		result, err := measure(ctx, opts, s, p)
		if ctx.Err() != nil {
			return errors.New("interrupted; nothing is left running")
		}
		r.Results = append(r.Results, *result)
		failures = append(failures, err, r.save(opts.json)) // after each, so that none is lost
		fmt.Print(result.table())
	}
	fmt.Print(r.summary())
	return errors.Join(failures...)
}

// measure runs one scenario on a bed of its own. Why it was not run to its end, the result says: that may be long.
func measure(ctx context.Context, opts options, s scenario, p *testbed.Progress) (*result, error) {
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
	flags.StringVar(&o.controlPlane, "control-plane", "", "`path` of the control plane built from e2e/kubernetes (required)")
	flags.StringVar(&o.targetgate, "targetgate", "", "`path` of targetgate, built without the race detector (required)")
	names := flags.String("scenario", scenarioNames(), "`names` of scenarios to run, with commas; \"\" is none")
	sizes := flags.String("growth", "", "`sizes` of growth runs in pods, with commas, such as 100,1000,5000, each with a namespace for each "+
		"binding and with one for all; \"\" is none")
	flags.StringVar(&o.json, "json", "bench.json", "`path` of the report to write as JSON; \"\" is none")
	flags.StringVar(&o.logs, "logs", "", "`folder` for targetgate's log of each scenario; \"\" keeps none")
	flags.BoolVar(&o.quick, "quick", false, "make scenarios small, to try the bench; their figures say nothing")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.scenarios, err = choose(*names, *sizes); err != nil {
		return o, err
	}
	return o, o.complete()
}

// complete checks the options, makes their paths absolute, and makes scenarios small where that is asked for.
func (o *options) complete() error {
	if o.controlPlane == "" || o.targetgate == "" {
		return errors.New("-control-plane and -targetgate are required; `make bench` builds both and sets them")
	}
	for _, path := range []*string{&o.controlPlane, &o.targetgate, &o.json, &o.logs} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("finding %s: %w", *path, err)
		}
		*path = absolute
	}
	for i, s := range o.scenarios {
		if o.quick && !s.Growth {
			o.scenarios[i] = s.quick()
		}
	}
	return nil
}

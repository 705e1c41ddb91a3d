// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr/funcr"
	"github.com/spf13/pflag"

	"github.com/targetgate/targetgate/e2e/emulator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "emulator:", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, args []string, out io.Writer) error {
	var flags options
	fs := pflag.NewFlagSet(args[0], pflag.ContinueOnError)
	flags.addFlags(fs)
	err := fs.Parse(args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	opts, err := flags.build()
	if err != nil {
		return err
	}
	opts.DataPlane.Log = funcr.New(func(_, line string) { fmt.Fprintln(out, line) }, funcr.Options{})
	e, err := emulator.Start(ctx, opts)
	if err != nil {
		return err
	}
	explain(out, e)
	<-ctx.Done()
	return e.Close()
}

func explain(out io.Writer, e *emulator.Emulator) {
	fmt.Fprintf(out, `AWS endpoint: %[1]s (ELBv2, EC2, STS; account %[2]s)
Point a client at it:
  export AWS_ENDPOINT_URL=%[1]s AWS_REGION=%[3]s AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
  aws --endpoint-url %[1]s elbv2 describe-target-groups
Targets 10.a.b.c are reached at 127.a.b.c.
`, e.URL(), e.Region.Account(""), e.Region.Name())
	vpcs, _ := e.EC2.VPCs("") // an error is for ids
	for _, vpc := range vpcs {
		fmt.Fprintf(out, "VPC %s %v\n", vpc.ID, vpc.CIDRs)
		for _, subnet := range vpc.Subnets {
			fmt.Fprintf(out, "  subnet %s %s %v\n", subnet.ID, subnet.Zone, subnet.CIDR)
		}
	}
	fmt.Fprintln(out, "Ready.")
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/spf13/pflag"
)

// The incumbent's flags for features that targetgate does not have. They are accepted, logged and ignored, so that an existing argument
// list works.
var (
	ignoredSwitches = []string{"enable-acm-certificates", "enable-cert-mgmt", "enable-endpoint-slices"}
	ignoredValues   = []string{
		"alb-gateway-max-concurrent-reconciles", "aws-vpc-cache-ttl", "aws-vpc-tag-key",
		"gateway-class-max-concurrent-reconciles", "globalaccelerator-max-concurrent-reconciles",
		"globalaccelerator-max-exponential-backoff-delay", "ingress-max-exponential-backoff-delay", "lb-stabilization-monitor-interval",
		"leader-election-lease-duration", "load-balancer-class", "nlb-gateway-max-concurrent-reconciles",
		"quic-environment-variable-name", "service-max-concurrent-reconciles", "service-max-exponential-backoff-delay",
		"targetgroupbinding-requeue-duration",
	}
)

func addIgnoredFlags(flags *pflag.FlagSet) {
	for _, name := range ignoredSwitches {
		flags.Bool(name, false, "")
		hide(flags, name)
	}
	for _, name := range ignoredValues {
		flags.String(name, "", "")
		hide(flags, name)
	}
}

// hide keeps a flag that does nothing out of the help.
func hide(flags *pflag.FlagSet, name string) { flags.Lookup(name).Hidden = true }

// setIgnoredFlags returns the ignored flags on the command line.
func setIgnoredFlags(flags *pflag.FlagSet) []string {
	var out []string
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(ignoredSwitches, f.Name) || slices.Contains(ignoredValues, f.Name) {
			out = append(out, f.Name)
		}
	})
	return out
}

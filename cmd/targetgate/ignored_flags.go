// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"github.com/spf13/pflag"
)

// The incumbent's flags for features that targetgate does not have: load balancers and listeners. They are
// accepted, logged and ignored, so that an existing argument list works.
var (
	ignoredSwitches = []string{
		"disable-ingress-class-annotation", "disable-ingress-group-name-annotation",
		"enable-acm-certificates", "enable-backend-security-group", "enable-cert-mgmt",
		"enable-endpoint-slices", "enable-manage-backend-security-group-rules",
		"enable-shield", "enable-waf", "enable-wafv2", "tolerate-non-existent-backend-action",
		"tolerate-non-existent-backend-service",
	}
	ignoredValues = []string{
		"alb-gateway-max-concurrent-reconciles", "allowed-certificate-authority-arns", "aws-vpc-cache-ttl", "aws-vpc-tag-key",
		"backend-security-group", "default-load-balancer-scheme", "default-pca-arn", "default-ssl-policy", "default-tags", "default-target-type",
		"external-managed-tags", "gateway-class-max-concurrent-reconciles", "globalaccelerator-max-concurrent-reconciles",
		"globalaccelerator-max-exponential-backoff-delay", "ingress-class", "ingress-max-concurrent-reconciles",
		"ingress-max-exponential-backoff-delay", "lb-stabilization-monitor-interval", "leader-election-lease-duration", "load-balancer-class",
		"nlb-gateway-max-concurrent-reconciles", "quic-environment-variable-name", "required-secrets-label",
		"service-max-concurrent-reconciles", "service-max-exponential-backoff-delay",
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

// setIgnoredFlags returns the ignored flags on the command line, sorted.
func setIgnoredFlags(flags *pflag.FlagSet) []string {
	var out []string
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(ignoredSwitches, f.Name) || slices.Contains(ignoredValues, f.Name) {
			out = append(out, f.Name)
		}
	})
	slices.Sort(out)
	return out
}

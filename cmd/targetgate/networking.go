// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/cmd/targetgate/command"
	"github.com/targetgate/targetgate/targets/networking"
)

// networkingOptions say which inbound rules are made for spec.networking.
type networkingOptions struct {
	Make         bool
	ExtraTags    map[string]string
	Unrestricted bool
	Quota        int
}

func (o *networkingOptions) addFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.Make, "security-group-rules", true,
		"Add the inbound rules that spec.networking of bindings asks for to the security groups of their targets, and remove them again.")
	flags.StringToStringVar(&o.ExtraTags, "service-target-eni-security-group-tags", nil,
		"Where a network interface has several security groups, the rules go to the one with the tag kubernetes.io/cluster/CLUSTER and "+
			"these tags, key=value,...")
	flags.BoolVar(&o.Unrestricted, "disable-restricted-sg-rules", false,
		"Always add one rule for each range of ports that a binding asks for. By default ranges of one protocol and source security group "+
			"are merged near the quota of rules.")
	flags.IntVar(&o.Quota, "security-group-rule-quota", 60,
		"How many inbound rules AWS lets a security group have, for IPv4 and IPv6 each. Rules beyond it are not added, and the condition "+
			"NetworkingReady says so.")
}

// recordNamespace is where records of security group rules are kept: targetgate's own.
func (o *options) recordNamespace() string {
	return cmp.Or(o.Certificates.SelfMade.Namespace, o.LeaderElectionNamespace, command.DefaultNamespace)
}

// releaseTimeout is how long a binding that is deleted waits for its rules to go, half of what the incumbent waits for the binding.
const releaseTimeout = 30 * time.Second

// newNetworking is nil when no rules are made.
func newNetworking(opts *options, mgr ctrl.Manager, ec2 *ec2.Client, ownVPC func(context.Context) (string, error)) *networking.Settings {
	if !opts.Networking.Make {
		return nil
	}
	return &networking.Settings{
		ClusterName: opts.ClusterName, VPC: ownVPC, ExtraTags: opts.Networking.ExtraTags,
		Restricted: !opts.Networking.Unrestricted, RuleQuota: opts.Networking.Quota,
		Partial: len(opts.WatchNamespaces) > 0, DriftInterval: opts.DriftInterval, ReleaseTimeout: releaseTimeout, Clock: clock.RealClock{},
		EC2: ec2,
		Records: &networking.ConfigMap{
			Client: mgr.GetClient(), Reader: mgr.GetAPIReader(),
			Key: client.ObjectKey{Namespace: opts.recordNamespace(), Name: "targetgate-security-group-rules"},
		},
	}
}

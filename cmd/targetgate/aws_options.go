// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/cmd/targetgate/command"
)

func (o *options) addAWSFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Region, "aws-region", "", "AWS Region. Default: AWS_REGION, AWS_DEFAULT_REGION, instance metadata.")
	flags.StringVar(&o.VpcID, "aws-vpc-id", "", "ID of the cluster's VPC. Default: read from instance metadata when needed.")
	flags.StringToStringVar(&o.VpcTags, "aws-vpc-tags", nil, "Not supported. Ignored if --aws-vpc-id is set.")
	hide(flags, "aws-vpc-tags")
	flags.StringToStringVar(&o.Endpoints, "aws-api-endpoints", nil,
		"Base URLs by service ID, such as \"Elastic Load Balancing v2=https://...,EC2=https://...,STS=https://...\".")
	flags.StringVar(&o.throttleText, "aws-api-throttle", "",
		"Rate limits (token buckets) for AWS calls, retries included: serviceID:operationRegex=rate:burst,... (default \""+
			budget.Text(budget.DefaultRules())+"\"). "+
			"Rules for a service replace all of its defaults.")
	flags.StringVar(&o.RoleSessionName, "aws-role-session-name", sessionOfBinding,
		"Name of assumed-role sessions: binding is CLUSTER+NAMESPACE+BINDING, cluster is AWS-LBC-CLUSTER as in aws-load-balancer-controller.")
	flags.BoolVar(&o.Sessions.Tagged, "aws-role-session-tags", false,
		"Tag assumed-role sessions with targetgate.dev/cluster, /namespace and /binding. "+
			"targetgate's own role and the trust policy of every assumed role must allow sts:TagSession.")
	flags.IntVar(&o.MaxRetries, "aws-max-retries", 10,
		"Maximum retries of a failed AWS call. Registrations, deregistrations and health reads are retried until they succeed.")
}

// completeAWS names sessions, and parses endpoints and rate limits. It returns their faults.
func (o *options) completeAWS() []error {
	o.Sessions.Cluster, o.Sessions.NamedByCluster = o.ClusterName, o.RoleSessionName == sessionOfCluster
	faults, unknown := command.ValidateEndpoints(o.Endpoints)
	for _, service := range unknown {
		o.ignoredFlags = append(o.ignoredFlags, "aws-api-endpoints: "+service)
	}
	rules, skipped, err := budget.ParseRules(o.throttleText)
	if o.Throttle = rules; err != nil {
		faults = append(faults, fmt.Errorf("--aws-api-throttle: %w", err))
	}
	for _, part := range skipped {
		o.ignoredFlags = append(o.ignoredFlags, "aws-api-throttle: "+part)
	}
	return faults
}

// validateAWS returns the faults of what plan takes, too, apart from those of provisioning.
func (o *options) validateAWS() (faults []error) {
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(o.ClusterName == "", "--cluster-name is required")
	fault(len(o.VpcTags) > 0 && o.VpcID == "", "--aws-vpc-tags=%v is not supported: set --aws-vpc-id", o.VpcTags)
	fault(!slices.Contains([]string{sessionOfBinding, sessionOfCluster}, o.RoleSessionName),
		"--aws-role-session-name=%s: must be %s or %s", o.RoleSessionName, sessionOfBinding, sessionOfCluster)
	fault(o.MaxRetries < 0, "--aws-max-retries=%d: must be 0 or more", o.MaxRetries)
	return faults
}

// Values of --aws-role-session-name.
const (
	sessionOfBinding = "binding"
	sessionOfCluster = "cluster"
)

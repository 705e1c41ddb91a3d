// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Input is what a group's wanted stack is built of.
type Input struct {
	Group stack.Group
	// Members are the active ones, in the order of their rules.
	Members []membership.Member
	// Services are at least those of Needs that exist.
	Services map[types.NamespacedName]*corev1.Service
	// Secrets are at least those of SecretsOf.
	Secrets map[types.NamespacedName]lookup.Secret
	AWS     lookup.Answers
	// Seen is the group's stack in AWS. Where members disagree, and where one is held, its values stay.
	Seen    stack.Stack
	Options Options
	// Rediscover looks for subnets in zones that the load balancer is not in.
	Rediscover bool

	Alone bool // AWS was not asked, and Services may be missing: what is named counts as there

	certificates map[string][]string // what CertificatesByName returns, once it is known
}

// Options are the flags and feature gates that say how stacks are built.
type Options struct {
	parts.Options // of all load balancers
	// TolerateMissingService and TolerateMissingAction answer requests with 503 when a Service or an actions annotation is missing.
	TolerateMissingService, TolerateMissingAction bool
}

// DefaultOptions are those without any flag.
func DefaultOptions(cluster, vpc string) Options {
	return Options{Options: parts.DefaultOptions(cluster, vpc), TolerateMissingService: true, TolerateMissingAction: true}
}

// Subnets chooses the subnets of the group's load balancers.
func (in *Input) Subnets() *parts.Subnets {
	return &parts.Subnets{
		AWS: &in.AWS, Options: &in.Options.Options, Rediscover: in.Rediscover, Setting: annotation.Subnets.FullName(),
	}
}

// Presets are the defaults of those that are not named, none where these stay as they are.
func (in *Input) Presets(all annotation.Attributes, named map[string]string) map[string]string {
	if !in.Options.ResetAttributes {
		return nil
	}
	return all.Presets(named)
}

// CertificatesByName are the ARNs of the certificates that may be discovered, by the names that they are for, in lower case. The caller may
// not change them.
func (in *Input) CertificatesByName() map[string][]string {
	if in.certificates != nil {
		return in.certificates
	}
	in.certificates = map[string][]string{}
	for _, c := range in.AWS.Certificates {
		if len(in.Options.AllowedCAs) > 0 && !slices.Contains(in.Options.AllowedCAs, c.CA) {
			continue
		}
		for _, domain := range c.Domains {
			name := strings.ToLower(domain)
			in.certificates[name] = append(in.certificates[name], c.ARN)
		}
	}
	return in.certificates
}

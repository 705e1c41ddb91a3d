// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/acm"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/provision"
	"github.com/targetgate/targetgate/aws/route53"
	"github.com/targetgate/targetgate/aws/shield"
	"github.com/targetgate/targetgate/aws/wafclassic"
	"github.com/targetgate/targetgate/aws/wafv2"
	"github.com/targetgate/targetgate/balancers"
	"github.com/targetgate/targetgate/balancers/account"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress/objects"
	"github.com/targetgate/targetgate/balancers/issue"
	"github.com/targetgate/targetgate/balancers/lookup/answer"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// provisionCalls are the clients of AWS for load balancers.
type provisionCalls struct {
	elb *provision.ELB
	ec2 *provision.EC2
	waf *wafv2.Client
	acm *acm.Client

	route53    *route53.Client
	wafClassic *wafclassic.Client
	shield     *shield.Client

	// What reads of WAF and Shield go through, as all share their few calls.
	acls, classicACLs *account.SparingACLs
	protections       *account.SparingProtections
}

func newProvisionCalls(aws *aws) provisionCalls {
	calls := provisionCalls{
		elb: provision.NewELB(aws.accounts, budget.ClassProvision), ec2: provision.NewEC2(aws.accounts, budget.ClassProvision),
		waf: wafv2.NewClient(aws.accounts, budget.ClassProvision), acm: acm.NewClient(aws.accounts, budget.ClassProvision),
		route53:    route53.NewClient(aws.accounts, budget.ClassProvision),
		wafClassic: wafclassic.NewClient(aws.accounts, budget.ClassProvision), shield: shield.NewClient(aws.accounts, budget.ClassProvision),
	}
	now := clock.RealClock{}
	calls.acls = &account.SparingACLs{WebACLs: calls.waf, Clock: now}
	calls.classicACLs = &account.SparingACLs{WebACLs: calls.wafClassic, Clock: now}
	calls.protections = &account.SparingProtections{Protections: calls.shield, Clock: now}
	return calls
}

func newView(opts *options, calls provisionCalls) *account.View {
	return &account.View{
		ELB: calls.elb, EC2: calls.ec2, WAF: calls.acls, WAFClassic: calls.classicACLs, Shield: calls.protections, Clock: clock.RealClock{},
		Cluster: opts.ClusterName, VPC: opts.Provision.Ingress.VPC, Interval: opts.Provision.DriftInterval,
	}
}

func newAnswerer(opts *options, calls provisionCalls) *answer.Answerer {
	now := clock.RealClock{}
	return &answer.Answerer{
		Network: &account.Network{
			EC2: calls.ec2, ELB: calls.elb, WAF: calls.acls, WAFClassic: calls.classicACLs, Shield: calls.protections, Clock: now,
			VPC: opts.Provision.Ingress.VPC,
		},
		Certificates: &account.Issued{ACM: calls.acm, Clock: now},
		Issuer:       newIssuer(opts, calls),
	}
}

// newIssuer is nil when certificates are issued for nobody.
func newIssuer(opts *options, calls provisionCalls) *issue.Issuer {
	o := &opts.Provision
	if !o.Ingress.IssueCertificates {
		return nil
	}
	return &issue.Issuer{
		ACM: calls.acm, DNS: calls.route53, Clock: clock.RealClock{}, Cluster: opts.ClusterName, Interval: o.DriftInterval,
	}
}

// newReconciler is one that can propose. To do what it proposes it needs an Applier and a Recorder.
func newReconciler(opts *options, view *account.View, answerer *answer.Answerer, c client.Client) (
	*balancers.Reconciler, *objects.Ingresses,
) {
	o := &opts.Provision
	ingresses := &objects.Ingresses{Client: c, Options: o.Ingress, Class: o.Class, Switches: o.Switches}
	return &balancers.Reconciler{
		Client: c, Clock: clock.RealClock{}, View: view, Lookup: answerer.Answer,
		MakePlan: func(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow) {
			return plan.Make(wanted, seen, o.planOptions())
		},
		Frontend: ingresses, Cluster: o.Ingress.Cluster, Limits: o.Ingress.Limits,
		MaxConcurrentReconciles: o.Workers, DriftInterval: o.DriftInterval,
		OrphanGrace: o.OrphanGrace, SettleTime: o.SettleTime, ReplacementTimeout: opts.Policy.ReplacementTimeout,
	}, ingresses
}

// newApplier does steps. Its client reads and writes bindings.
func newApplier(opts *options, aws *aws, calls provisionCalls, view *account.View, bindings client.Client) *apply.Applier {
	return &apply.Applier{
		Calls: apply.Calls{ELB: calls.elb, EC2: calls.ec2, WAF: calls.waf, WAFClassic: calls.wafClassic, Shield: calls.shield},
		Late: apply.Calls{
			ELB: provision.NewELB(aws.accounts, budget.ClassLate), EC2: provision.NewEC2(aws.accounts, budget.ClassLate),
			WAF:        wafv2.NewClient(aws.accounts, budget.ClassLate),
			WAFClassic: wafclassic.NewClient(aws.accounts, budget.ClassLate), Shield: shield.NewClient(aws.accounts, budget.ClassLate),
		},
		Bindings: bindings, View: view, VPC: opts.Provision.Ingress.VPC,
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/targets/consent"
)

func TestProvisioningIsOffAndHasTheDefaultsOfTheIncumbent(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	opts, err := parseOptions(minimal)
	if err != nil {
		t.Fatal(err)
	}
	o := opts.Provision
	if o.Enabled || o.Class != "alb" || o.Workers != 3 || o.DriftInterval != time.Hour {
		t.Errorf("%+v, want it off, class alb, 3 workers, 1h", o)
	}
	if diff := cmp.Diff(input.DefaultOptions("prod", ""), o.Ingress); diff != "" {
		t.Errorf("options of load balancers (-want +got):\n%s", diff)
	}
	if len(opts.ignoredFlags) > 0 {
		t.Errorf("ignored flags %q, want none", opts.ignoredFlags)
	}
}

// Rule 15: what replaces something has as long for load balancers as for targets.
func TestLoadBalancersWaitAsFlagsSay(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	opts, err := parseOptions(append(minimal, "--provision", "--replacement-timeout=7s", "--load-balancer-settle-time=9s"))
	if err != nil {
		t.Fatal(err)
	}
	if r, _ := newReconciler(opts, nil, nil, nil); r.ReplacementTimeout != 7*time.Second || r.SettleTime != 9*time.Second {
		t.Errorf("they wait for %s and %s, want 7s and 9s", r.ReplacementTimeout, r.SettleTime)
	}
}

func TestFlagsOfProvisioningHaveAnEffectOnlyWithIt(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	const ca = "arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1a2b"
	flags := []string{
		"--ingress-class=internal", "--default-target-type=ip", "--default-tags=team=web", "--external-managed-tags=cost,owner",
		"--enable-wafv2=false", "--enable-waf=false", "--feature-gates=ALBSingleSubnet=true,SubnetsClusterTagCheck=false,EnableCertificateManagement=true,IngressPlanAnnotation=true",
		"--disable-restricted-sg-rules", "--reset-attributes", "--add-zones", "--default-pca-arn=" + ca,
	}
	off, err := parseOptions(append(minimal, flags...))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ingress-class", "default-tags", "enable-waf", "enable-wafv2", "feature-gates: ALBSingleSubnet"} {
		if !slices.Contains(off.ignoredFlags, name) {
			t.Errorf("ignored flags %q do not say that %s has no effect", off.ignoredFlags, name)
		}
	}
	on, err := parseOptions(append(append(minimal, "--provision"), flags...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"feature-gates: IngressPlanAnnotation"}, on.ignoredFlags); diff != "" {
		t.Errorf("ignored flags (-want +got):\n%s", diff)
	}
	want := input.DefaultOptions("prod", "")
	want.DefaultTargetType, want.WAFv2, want.SingleSubnet, want.CheckClusterTag, want.UnrestrictedRules = "ip", false, true, false, true
	want.ResetAttributes, want.AddZones, want.WAFClassic = true, true, false
	want.IssueCertificates, want.DefaultCA = true, ca
	want.DefaultTags, want.ExternalTags = map[string]string{"team": "web"}, []string{"cost", "owner"}
	if diff := cmp.Diff(want, on.Provision.Ingress); diff != "" {
		t.Errorf("options of load balancers (-want +got):\n%s", diff)
	}
	keeps := on.Provision.planOptions().KeepTag
	if !keeps("cost") || keeps("team") {
		t.Error("want the tag cost be left to others, and team not")
	}
	if !keeps(consent.TagKey) {
		t.Errorf("the tag %s is removed, by which owners of target groups consent to bindings", consent.TagKey)
	}
}

func TestFaultsOfProvisioning(t *testing.T) {
	_, err := parseOptions(append(minimal, "--provision", "--beside", "--default-load-balancer-scheme=public", "--default-target-type=pod",
		"--default-pca-arn=web", "--backend-security-group=web", "--enable-backend-security-group=false", "--enable-manage-backend-security-group-rules",
		"--ingress-max-concurrent-reconciles=0", "--load-balancer-rule-quota=0", "--load-balancer-certificate-quota=0", "--frontend-nlb-target-quota=0", "--ingress-drift-interval=1s", "--load-balancer-settle-time=-1s",
		"--default-tags=elbv2.k8s.aws/cluster=x,cost=y", "--external-managed-tags=cost,ingress.k8s.aws/stack"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"--provision and --beside exclude each other", "--default-load-balancer-scheme=public: must be internal or internet-facing",
		"--default-target-type=pod: must be instance or ip", "--backend-security-group=web: must be an ID",
		"--default-pca-arn=web: must be an ARN",
		"--enable-manage-backend-security-group-rules needs --enable-backend-security-group", "--ingress-max-concurrent-reconciles=0: must be 1 or more",
		"--load-balancer-rule-quota=0: must be 1 or more", "--load-balancer-certificate-quota=0: must be 1 or more", "--frontend-nlb-target-quota=0: must be 100 or more", "--ingress-drift-interval=1s: must be 10s or more",
		"--load-balancer-settle-time=-1s: must be 0 or more",
		"--default-tags: elbv2.k8s.aws/cluster is a tag", "--default-tags: cost is in --external-managed-tags, too",
		"--external-managed-tags: ingress.k8s.aws/stack is a tag",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

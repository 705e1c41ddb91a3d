// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers"
	"github.com/targetgate/targetgate/balancers/ingress/preview"
)

func TestPlanTakesTheArgumentsOfTheController(t *testing.T) {
	args := []string{
		"--cluster-name=prod", "--provision", "--enable-shield=false", "--aws-region=eu-west-1", "--aws-vpc-id=vpc-1", "--leader-election-id=x",
		"--default-target-type=ip", "--feature-gates=ALBSingleSubnet=true", "--disable-restricted-sg-rules", "--watch-namespace=shop",
	}
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	server, err := parseOptions(args)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("POD_NAMESPACE", "")
	o, err := parsePlanOptions(append(args, "--all"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(server.Provision.Ingress, o.Provision.Ingress); diff != "" {
		t.Errorf("options of load balancers (-server +plan):\n%s", diff)
	}
	without, err := parsePlanOptions([]string{"--cluster-name=prod", "--default-target-type=ip", "--feature-gates=ALBSingleSubnet=true", "shop/web"}, io.Discard)
	if err != nil || without.Provision.Ingress.DefaultTargetType != "ip" || !without.Provision.Ingress.SingleSubnet {
		t.Errorf("%v, %+v: want flags to have an effect without --provision", err, without)
	}
}

func TestSubjectsOfPlan(t *testing.T) {
	for _, c := range []struct{ args, ingress, fault string }{
		{args: "shop/web", ingress: "shop/web"},
		{args: "web -n shop", ingress: "shop/web"},
		{args: "web", ingress: "/web"},
		{args: "--group=edge"}, {args: "-f -"}, {args: "--all -o json"},
		{args: "", fault: "give one of"},
		{args: "--all shop/web", fault: "give one of"},
		{args: "a b", fault: "give one of"},
		{args: "a/b/c", fault: "as NAMESPACE/NAME"},
		{args: "/web", fault: "as NAMESPACE/NAME"},
		{args: "shop/", fault: "as NAMESPACE/NAME"},
		{args: "--all -o yaml", fault: "--output=yaml"},
		{args: "--all --default-target-type=pod", fault: "--default-target-type=pod"},
		{args: "--all --aws-max-retries=-1", fault: "--aws-max-retries=-1"},
	} {
		o, err := parsePlanOptions(append([]string{"--cluster-name=prod"}, strings.Fields(c.args)...), io.Discard)
		switch {
		case c.fault != "":
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%q: error %v, want %q", c.args, err, c.fault)
			}
		case err != nil || c.ingress != "" && o.Ingress.String() != c.ingress:
			t.Errorf("%q: %v, Ingress %q, want %q", c.args, err, o.Ingress, c.ingress)
		}
	}
	if _, err := parsePlanOptions([]string{"--all"}, io.Discard); err == nil || !strings.Contains(err.Error(), "--cluster-name is required") {
		t.Errorf("without a cluster: %v", err)
	}
}

func TestHelpOfPlanNamesTheFlagsThatHaveAnEffect(t *testing.T) {
	var out strings.Builder
	if code := planCommand(t.Context(), []string{"--help"}, nil, &out, io.Discard); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"--all", "--cluster-name", "--aws-vpc-id", "--default-target-type", "--feature-gates", "--kubeconfig", "-f, --filename"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help does not have %s", want)
		}
	}
	for _, no := range []string{"--webhook-bind-port", "--beside", "--ingress-drift-interval", "--aws-role-session"} {
		if strings.Contains(out.String(), no) {
			t.Errorf("help has %s", no)
		}
	}
}

func TestExitCodesOfPlan(t *testing.T) {
	change := preview.Group{Ingresses: []balancers.Write{{Ingress: "shop/a", Text: "x"}}}
	for _, c := range []struct {
		name   string
		report preview.Report
		want   int
	}{
		{"nothing", preview.Report{Groups: []preview.Group{{}}}, 0},
		{"a warning", preview.Report{Groups: []preview.Group{{Faults: []preview.Fault{{Warning: true}}}}}, 0},
		{"a change", preview.Report{Changes: true, Groups: []preview.Group{change}}, 2},
		{"a fault", preview.Report{Changes: true, Groups: []preview.Group{change, {Faults: []preview.Fault{{}}}}}, 1},
		{"a group that cannot be read", preview.Report{Groups: []preview.Group{{Error: "away"}}}, 1},
	} {
		if got := planExit(c.report); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.want)
		}
	}
	var errOut strings.Builder
	if code := planCommand(t.Context(), nil, nil, io.Discard, &errOut); code != 1 || !strings.HasPrefix(errOut.String(), "targetgate plan: ") {
		t.Errorf("wrong command line: exit code %d, %q", code, errOut.String())
	}
}

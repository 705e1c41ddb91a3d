// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/ingress/preview"
)

func TestFlagsOfOrphans(t *testing.T) {
	for _, c := range []struct{ args, fault string }{
		{args: ""}, {args: "-o json"}, {args: "--delete=edge,shop/web --timeout=1m"},
		{args: "--provision --enable-shield=false --leader-election-id=x --orphan-grace=0"},
		{args: "-o yaml", fault: "--output=yaml"},
		{args: "-o json --delete=edge", fault: "leave it out with --delete"},
		{args: "--timeout=0s", fault: "--timeout=0s"},
		{args: "edge", fault: `unexpected argument "edge"`},
		{args: "--orphan-grace=-1h", fault: "--orphan-grace=-1h"},
	} {
		_, err := parseOrphansOptions(append([]string{"--cluster-name=prod"}, strings.Fields(c.args)...), io.Discard)
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%q: error %v, want %q", c.args, err, c.fault)
		}
	}
}

func TestHelpOfOrphansNamesTheFlagsThatHaveAnEffect(t *testing.T) {
	var out strings.Builder
	if code := orphansCommand(t.Context(), []string{"--help"}, &out, io.Discard); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"--delete", "--cluster-name", "--aws-vpc-id", "--orphan-grace", "--ingress-class", "--kubeconfig"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help does not have %s", want)
		}
	}
	for _, no := range []string{"--webhook-bind-port", "--beside", "--default-target-type", "--aws-role-session"} {
		if strings.Contains(out.String(), no) {
			t.Errorf("help has %s", no)
		}
	}
}

// Of several names one that is wrong keeps all: nothing is deleted before all are known.
func TestNothingIsDeletedWhileANameIsWrong(t *testing.T) {
	report := preview.Orphans{Orphans: []preview.Orphan{
		{Group: "edge", LoadBalancers: []string{"k8s-edge"}}, {Group: "shop/web", LoadBalancers: []string{"web"}, Kept: "web is not ours", Refused: true},
	}}
	r := &remover{out: io.Discard} // which would panic
	for _, c := range []struct{ names, want string }{
		{"edge,shop/web", "--delete=shop/web: web is not ours"},
		{"k8s-edge,web", "--delete=web: web is not ours"},
		{"edge,lost", "--delete=lost: is neither a group nor a load balancer of the list"},
	} {
		if err := r.removeAll(t.Context(), report, strings.Split(c.names, ",")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.names, err, c.want)
		}
	}
}

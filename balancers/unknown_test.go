// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

const testACL = "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/a/b"

func TestWhileSomethingCannotBeReadAllElseGoesOn(t *testing.T) {
	guarded, gone := served(ingressOf("guarded", edge), "k8s-edge.elb.amazonaws.com", edge), served(ingressOf("gone", edge), "", edge)
	joins := ingressOf("joins", edge)
	guarded.Annotations["alb.ingress.kubernetes.io/wafv2-acl-arn"] = testACL
	b := newBed(t, guarded, gone, joins, webService())
	b.see(edge, balancer("edge", true, 80))
	b.delete("gone")
	b.unknown = errors.New("no answer")
	var changes []steps.Step
	b.MakePlan = func(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow) {
		planned, over := plan.Make(wanted, seen, plan.Options{Rules: 100})
		changes = slices.DeleteFunc(slices.Clone(planned), func(s steps.Step) bool {
			set, is := s.Change.(steps.Set)
			return !is || set.Setting != steps.WebACL
		})
		return planned, over
	}
	if result := b.mustPass(edge); result.RequeueAfter != unknownPause || len(changes) > 0 {
		t.Errorf("again in %v, want %v; steps %v, want none for the web ACL", result.RequeueAfter, unknownPause, changes)
	}
	if host := hostname(b.get("joins")); host == "" {
		t.Error("an Ingress that joins does not get the name that others have")
	}
	if b.exists("gone") {
		t.Error("an Ingress is not let go")
	}
	if !slices.ContainsFunc(b.events, func(e string) bool { return strings.Contains(e, "stay as they are: no answer") }) {
		t.Errorf("events %q, want one that says it", b.events)
	}
	b.unknown = nil
	if b.mustPass(edge); len(changes) != 1 {
		t.Errorf("steps %v, want the web ACL after the outage", changes)
	}
}

// Nobody was sent to the load balancer yet, and it may have no web ACL.
func TestANameIsNotGivenWhileTheWebACLIsNotKnown(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation, value string
		named             bool
	}{
		"of AWS WAF":              {annotation: "wafv2-acl-arn", value: testACL},
		"of AWS WAF Classic":      {annotation: "waf-acl-id", value: "id"},
		"none of AWS WAF Classic": {annotation: "waf-acl-id", value: "none", named: true},
	} {
		t.Run(name, func(t *testing.T) {
			guarded := ingressOf("guarded", edge)
			guarded.Annotations["alb.ingress.kubernetes.io/"+tc.annotation] = tc.value
			b := newBed(t, guarded, webService())
			b.Reconciler.Lookup = b.knownACLs
			b.see(edge, balancer("edge", true, 80))
			b.unknown = errors.New("no answer")
			if b.mustPass(edge); (hostname(b.get("guarded")) != "") != tc.named {
				t.Errorf("status %q", hostname(b.get("guarded")))
			}
		})
	}
}

// knownACLs is a Lookup that finds every web ACL of AWS WAF Classic.
func (b *bed) knownACLs(ctx context.Context, id stack.ID, needs lookup.Needs) (lookup.Answers, error) {
	out, err := b.Lookup(ctx, id, needs)
	out.ClassicACLs = map[string]lookup.Named{}
	for _, id := range needs.ClassicACLs {
		out.ClassicACLs[id] = lookup.Named{ARN: id}
	}
	return out, err
}

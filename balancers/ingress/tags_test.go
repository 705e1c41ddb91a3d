// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// reservedKeys are some that users may not set, of each beginning.
var reservedKeys = []string{
	"elbv2.k8s.aws/cluster", "elbv2.k8s.aws/resource", "ingress.k8s.aws/cluster", "ingress.k8s.aws/stack", "ingress.k8s.aws/resource",
	"service.k8s.aws/stack", "gateway.k8s.aws/stack", "gateway.k8s.aws.alb/stack", "kubernetes.io/cluster/prod-1", "kubernetes.io/cluster/other",
	"targetgate.dev/secret-version", "targetgate.dev/bind2", "ingress.k8s.aws/",
}

// Rule 32: whoever may write annotations or IngressClassParams sets no tag by which controllers tell whose something is. What is made is the
// same as without it, and a warning names the tag.
func TestUsersSetNoReservedTag(t *testing.T) {
	for name, set := range map[string]struct {
		do     func(in *input.Input, tags map[string]string)
		warned string // the object or annotation
	}{
		"an Ingress": {func(in *input.Input, tags map[string]string) {
			annotate(in, 0, annotation.Tags.FullName(), pairs(tags))
		}, "annotation alb.ingress.kubernetes.io/tags"},
		"a Service": {func(in *input.Input, tags map[string]string) {
			serviceOf(in.Services, "a").Annotations = map[string]string{annotation.Tags.FullName(): pairs(tags)}
		}, "Service shop/a, annotation alb.ingress.kubernetes.io/tags"},
		"IngressClassParams": {func(in *input.Input, tags map[string]string) {
			in.Members[0].Params = &v1beta1.IngressClassParams{}
			in.Members[0].Params.Name = "team"
			for key, value := range tags {
				in.Members[0].Params.Spec.Tags = append(in.Members[0].Params.Spec.Tags, v1beta1.Tag{Key: key, Value: value})
			}
		}, "IngressClassParams team, spec.tags"},
		"what stands in front": {func(in *input.Input, tags map[string]string) {
			annotate(in, 0, annotation.FrontTags.FullName(), pairs(tags))
		}, "annotation alb.ingress.kubernetes.io/frontend-nlb-tags"},
	} {
		for _, key := range reservedKeys {
			t.Run(name+" "+key, func(t *testing.T) {
				in, without := three(t), three(t)
				for _, i := range []*input.Input{&in, &without} {
					annotate(i, 0, annotation.EnableFront.FullName(), "true")
				}
				set.do(&without, map[string]string{"team": "a", "targetgate.dev/bind": "prod-1/shop"})
				set.do(&in, map[string]string{"team": "a", "targetgate.dev/bind": "prod-1/shop", key: "x"})
				want, _ := Build(without)
				got, faults := Build(in)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("what is made (-without +with the tag):\n%s", diff)
				}
				if !slices.ContainsFunc(allTags(got), func(tags map[string]string) bool { return tags["targetgate.dev/bind"] != "" }) {
					t.Error("the consent of the owner is on nothing")
				}
				if !slices.ContainsFunc(faults, func(f fault.Fault) bool {
					return f.IsWarning() && f.Member == "shop/a" && strings.HasPrefix(f.Error(), set.warned) && strings.Contains(f.Reason, `"`+key+`"`)
				}) {
					t.Errorf("no warning of %s about %s in %v", set.warned, key, faults)
				}
			})
		}
	}
}

// Two members that set the same reserved tag to two values do not disagree.
func TestReservedTagsAreNoDisagreement(t *testing.T) {
	in := three(t)
	annotate(&in, 0, annotation.Tags.FullName(), "elbv2.k8s.aws/cluster=other,team=a")
	annotate(&in, 1, annotation.Tags.FullName(), "elbv2.k8s.aws/cluster=another,team=a")
	got, _ := Build(in)
	for _, member := range got.Members {
		if member.Held {
			t.Errorf("%s is held", member.Name)
		}
	}
	if tags := got.LoadBalancers[0].Tags; tags[stack.ClusterTag] != "prod-1" || tags["team"] != "a" {
		t.Errorf("tags %v, want the cluster's own and the user's other one", tags)
	}
}

func pairs(tags map[string]string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, key+"="+tags[key])
	}
	return strings.Join(list, ",")
}

// allTags are those of all parts.
func allTags(s stack.Stack) (all []map[string]string) {
	for _, s := range s.All() {
		for _, b := range s.LoadBalancers {
			all = append(all, b.Tags)
		}
		for _, g := range s.TargetGroups {
			all = append(all, g.Tags)
		}
		for _, g := range s.SecurityGroups {
			all = append(all, g.Tags)
		}
	}
	return all
}

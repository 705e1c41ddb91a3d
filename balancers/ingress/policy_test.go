// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"os"
	"regexp"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/fixture"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// The policy of docs/multi-tenancy.md: whatever annotations a team writes, its Ingress is in the group of its class, with the settings of the
// class, or in none.
func TestParamsAreAPolicy(t *testing.T) {
	page, err := os.ReadFile("../../docs/multi-tenancy.md")
	if err != nil {
		t.Fatal(err)
	}
	manifests := strings.Split(regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(string(page))[1], "\n---\n")
	objects := membership.Objects{
		Classes: fixture.Parse[networkingv1.IngressClass](t, manifests[0]), Params: fixture.Parse[v1beta1.IngressClassParams](t, manifests[1]),
		Namespaces: map[string]map[string]string{"a": {"team": "a"}}, Class: "alb",
		Switches: membership.Switches{IgnoreClassAnnotation: true, ForbidGroupName: true},
	}
	open := fixture.Parse[networkingv1.IngressClass](t, "metadata: {name: open}\nspec: {controller: ingress.k8s.aws/alb}")
	objects.Classes = append(objects.Classes, open...)
	annotations := map[string]string{
		"scheme": "internet-facing", "group.name": "team-a", "security-groups": "sg-11111111", "wafv2-acl-name": "mine",
		"wafv2-acl-arn": "arn:aws:wafv2:eu-west-1:1:regional/webacl/mine/1", "inbound-cidrs": "0.0.0.0/0", "target-type": "ip",
		"certificate-arn": "arn:aws:acm:eu-west-1:1:certificate/mine", "listen-ports": `[{"HTTPS": 443}]`,
	}
	for name, tc := range map[string]struct {
		namespace, class, byAnnotation string
		in                             bool
	}{
		"of its class":                        {namespace: "a", class: "team-a", in: true},
		"of its class, annotated":             {namespace: "a", class: "team-a", byAnnotation: "alb", in: true},
		"by annotation":                       {namespace: "a", byAnnotation: "alb"},
		"of another class":                    {namespace: "a", class: "open"},
		"of a team's class in no namespace":   {namespace: "b", class: "team-a"},
		"in another namespace, by annotation": {namespace: "b", byAnnotation: "alb"},
	} {
		t.Run(name, func(t *testing.T) {
			ingress := fixture.Parse[networkingv1.Ingress](t, "metadata: {name: web, namespace: "+tc.namespace+"}\nspec: {rules: [{host: a.example.com}]}")[0]
			ingress.Annotations = map[string]string{}
			for key, value := range annotations {
				ingress.Annotations[annotation.Prefix+key] = value
			}
			if tc.byAnnotation != "" {
				ingress.Annotations["kubernetes.io/ingress.class"] = tc.byAnnotation
			}
			if tc.class != "" {
				ingress.Spec.IngressClassName = &tc.class
			}
			objects.Ingresses = []*networkingv1.Ingress{ingress}
			groups := membership.Groups(membership.Classify(objects))
			members, in := groups[stack.Group{Name: "team-a"}]
			if in != tc.in || !in && len(groups) > 0 {
				t.Fatalf("groups %v, want it to be in team-a: %t", groups, tc.in)
			}
			if !in {
				return
			}
			built, faults := Build(input.Input{
				Group: stack.Group{Name: "team-a"}, Members: members.Active, AWS: policyAWS(), Options: input.DefaultOptions("staging", "vpc-1"),
			})
			b := built.LoadBalancers[0]
			if b.Scheme != "internal" || len(b.SecurityGroups) != 1 || b.SecurityGroups[0].ID != "sg-0123456789abcdef0" ||
				b.WebACL == nil || *b.WebACL != "" || len(b.Listeners) != 1 || len(b.Listeners[0].Certificates) != 1 ||
				strings.HasSuffix(b.Listeners[0].Certificates[0], "mine") {
				t.Errorf("load balancer %+v, faults %v", b, faults)
			}
		})
	}
}

// policyAWS has two subnets.
func policyAWS() lookup.Answers {
	var aws lookup.Answers
	for _, zone := range []string{"a", "b"} {
		aws.Subnets = append(aws.Subnets, lookup.Subnet{
			ID: "subnet-" + zone, Zone: zone, Locale: "availability-zone", Free: 100, Tags: map[string]string{"kubernetes.io/role/internal-elb": "1"},
		})
	}
	return aws
}

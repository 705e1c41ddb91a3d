// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
)

// newMember is one without quirks, in a namespace of its name.
func newMember(name string) *member {
	service := func(of string, nodePort int32) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: of, UID: types.UID(name + of), Annotations: map[string]string{}},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
				{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080), NodePort: nodePort},
			}},
		}
	}
	path := func(path, service string, port networkingv1.ServiceBackendPort) networkingv1.HTTPIngressPath {
		return networkingv1.HTTPIngressPath{Path: path, PathType: new(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: service, Port: port},
		}}
	}
	return &member{
		ingress: &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name, Annotations: map[string]string{
				annotation.Prefix + "listen-ports": `[{"HTTP":80},{"HTTPS":443}]`,
				annotation.Prefix + "target-type":  "ip",
				annotation.Prefix + "actions.act":  `{"type":"fixed-response","fixedResponseConfig":{"statusCode":"404"}}`,
			}},
			Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{
				Host: name + ".example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
					Paths: []networkingv1.HTTPIngressPath{
						path("/", "web", networkingv1.ServiceBackendPort{Number: 80}),
						path("/act", "act", networkingv1.ServiceBackendPort{Name: "use-annotation"}),
					},
				}},
			}}},
		},
		params: &v1beta1.IngressClassParams{ObjectMeta: metav1.ObjectMeta{Name: "class-" + name}},
		web:    service("web", 30080), other: service("other", 30081),
	}
}

func (m *member) String() string {
	return fmt.Sprintf("%s/%.20s: %s", m.ingress.Namespace, m.ingress.Name, cmp.Or(strings.Join(m.quirks, " + "), "nothing odd"))
}

func (m *member) add(q quirk) {
	q.do(m)
	m.quirks = append(m.quirks, q.name)
}

// inputOf is what the group of the members is built of.
func inputOf(c *cloud, members []*member) input.Input {
	in := input.Input{
		Group: stack.Group{Name: "edge"}, Options: input.DefaultOptions(cluster, ec2.DefaultVPCID), AWS: c.facts(),
		Services: map[types.NamespacedName]*corev1.Service{},
		Secrets:  map[types.NamespacedName]lookup.Secret{},
	}
	in.Options.ResetAttributes = len(members)%2 == 0
	for _, m := range members {
		for key, value := range m.ingress.Annotations {
			m.ingress.Annotations[key] = strings.NewReplacer("WEBACL", c.webACL, "CLASSIC", c.classicACL).Replace(value)
		}
		in.Members = append(in.Members, membership.Member{Ingress: m.ingress, Params: m.params})
		in.Secrets[types.NamespacedName{Namespace: m.ingress.Namespace, Name: "idp"}] = lookup.Secret{ClientID: "id", Secret: "hidden", Version: "1"}
		for _, service := range []*corev1.Service{m.web, m.other} {
			in.Services[types.NamespacedName{Namespace: service.Namespace, Name: service.Name}] = service
		}
	}
	return in
}

// isUnknowable reports whether AWS has refused for a reason that is not known when a group is built: something is named that is not there;
// an attribute or a policy that may be newer than the program; attributes that depend on those that are not given; quotas of which nobody has
// told us.
func isUnknowable(r refusal) bool {
	text := r.err.Error()
	for _, reason := range []string{
		"CertificateNotFound", "TargetGroupNotFound", "SSLPolicyNotFound", "WAFNonexistentItemException", "InvalidSecurityGroup",
		"InvalidPrefixListID", "InvalidGroup.NotFound", "security group ID", "is not recognized",
		"s3.bucket' is required", "Anomaly mitigation needs", "cookie name must be specified",
		"RulesPerSecurityGroupLimitExceeded", "at most 5 security groups", "TooManyListeners",
		"CapacityUnitsLimitExceeded",
	} {
		if strings.Contains(text, reason) {
			return true
		}
	}
	return false
}

// check builds the group and applies it.
func check(t testing.TB, members []*member) {
	t.Helper()
	c := newCloud(t)
	in := inputOf(c, members)
	input.NeedsOf(in)
	wanted, faults := ingress.Build(in)
	refusals := c.apply(t, wanted)
	for _, refused := range refusals {
		if !isUnknowable(refused) {
			t.Errorf("AWS refuses %s", refused)
		}
	}
	if len(refusals) == 0 {
		// A wrong name of the load balancer holds a member only until there is one.
		if again, steps := c.again(t, in); len(steps) > 0 && gocmp.Equal(again.Members, wanted.Members) {
			t.Errorf("a second pass has something to do: %v", steps)
		}
	}
	checkHeld(t, in, members, wanted, faults)
}

// checkHeld checks that members are held for what is odd about themselves alone, and that the others have their rules.
func checkHeld(t testing.TB, in input.Input, members []*member, wanted stack.Stack, faults []fault.Fault) {
	t.Helper()
	held := map[string]bool{}
	for _, m := range wanted.Members {
		held[m.Name] = m.Held
	}
	without := in
	without.Members = nil
	for i, m := range members {
		name := m.ingress.Namespace + "/" + m.ingress.Name
		if i == 0 || !held[name] { // some settings of params are the first member's, even if it is held
			without.Members = append(without.Members, in.Members[i])
		}
		if held[name] && len(m.quirks) == 0 && !slices.ContainsFunc(faults, func(f fault.Fault) bool { return f.Member == name && isShared(f) }) {
			t.Errorf("%s is held with nothing odd about it", name)
		}
	}
	for _, fault := range faults {
		if fault.Reason == "" || fault.Annotation == "" && fault.Field == "" {
			t.Errorf("a fault that does not say what would be right, or where: %+v", fault)
		}
		if !fault.IsWarning() != held[fault.Member] && !fault.IsWarning() {
			t.Errorf("%s is not held and has the fault %v", fault.Member, fault)
		}
	}
	alone, _ := ingress.Build(without)
	if diff := gocmp.Diff(rulesOf(alone), rulesOf(wanted), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("rules of members that are built (-without the held ones +with them):\n%s", diff)
	}
}

// isShared reports whether the fault is that others of the group were there before.
func isShared(f fault.Fault) bool {
	return strings.Contains(f.Reason, "the group has") || strings.Contains(f.Reason, "quota")
}

// rulesOf are the rules of each port, without the tags in which their priorities are.
func rulesOf(s stack.Stack) map[int32][]stack.Rule {
	out := map[int32][]stack.Rule{}
	for _, balancer := range s.LoadBalancers {
		for _, listener := range balancer.Listeners {
			for _, rule := range listener.Rules {
				rule.Tags = nil
				out[listener.Port] = append(out[listener.Port], rule)
			}
		}
	}
	return out
}

func describe(members []*member) string {
	var out strings.Builder
	for _, m := range members {
		fmt.Fprintf(&out, "\n  %s", m)
	}
	return out.String()
}

// Each quirk, of the member in the middle.
func TestEachQuirkIsAcceptedOrAFault(t *testing.T) {
	for _, q := range quirks() {
		t.Run(q.name, func(t *testing.T) {
			members := []*member{newMember("a"), newMember("b"), newMember("c")}
			members[1].add(q)
			check(t, members)
		})
	}
	for _, q := range paramsQuirks() { // of which some count for the first member alone
		t.Run("first, "+q.name, func(t *testing.T) {
			members := []*member{newMember("a"), newMember("b")}
			members[0].add(q)
			check(t, members)
		})
	}
}

// Groups of up to six members with up to three quirks each.
func TestOddGroupsAreAcceptedOrFaults(t *testing.T) {
	all := quirks()
	slices.SortFunc(all, func(a, b quirk) int { return strings.Compare(a.name, b.name) })
	for seed := range uint64(groups) {
		members := oddGroup(rand.New(rand.NewPCG(seed, 1)), all)
		if check(t, members); t.Failed() {
			t.Fatalf("group %d:%s", seed, describe(members))
		}
	}
}

const groups = 500

func oddGroup(random *rand.Rand, all []quirk) (members []*member) {
	for i := range 1 + random.IntN(6) {
		m := newMember(string(rune('a' + i)))
		for range random.IntN(4) {
			m.add(pick(random, all))
		}
		members = append(members, m)
	}
	return members
}

// What holds a member that is alone in its group is a warning at admission, unless it shows in AWS, in another object or in the group alone.
func TestFaultsAreWarningsAtAdmission(t *testing.T) {
	c := newCloud(t)
	for _, q := range quirks() {
		t.Run(q.name, func(t *testing.T) {
			m := newMember("a")
			m.add(q)
			in := inputOf(c, []*member{m})
			_, faults := ingress.Build(in)
			warned := ingress.CheckAlone(in.Group, in.Members[0], in.Services, in.Options)
			for _, fault := range faults {
				if !fault.IsWarning() && !slices.Contains(warned, fault) && !needsMore(fault) {
					t.Errorf("no warning at admission of %v, only %v", fault, warned)
				}
			}
		})
	}
}

// needsMore reports whether the fault shows in AWS, in another object or in the group alone.
func needsMore(f fault.Fault) bool {
	return slices.ContainsFunc([]string{
		"no certificate", "addresses for", "of the VPC", "the VPC has", "in at least 2 zones", "are both in zone", "has no IPv6 CIDR", "the account has no",
		"this Service does not exist", "quota", "no HTTPS listener of the group", "the load balancer is", "are reached by",
		"redirects no HTTPS to HTTP", "no subnet on an Outpost",
	}, func(reason string) bool { return strings.Contains(f.Reason, reason) })
}

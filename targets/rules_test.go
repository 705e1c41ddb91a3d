// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	fakeec2 "github.com/targetgate/targetgate/aws/ec2/fake"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/networking"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Node-1 is instance i-01, whose interface has the pods' addresses and is in security group sg-nodes.
const nodeInstance, nodeGroup = "i-01", "sg-nodes"

// withRules has the registrar make inbound rules in an EC2 in memory.
func (b *bed) withRules() *fakeec2.API {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	b.t.Cleanup(cancel)
	api := &fakeec2.API{}
	api.AddGroup(ec2.SecurityGroup{ID: nodeGroup, VPC: "vpc-1", Tags: map[string]string{"kubernetes.io/cluster/test": "owned"}})
	api.AddGroup(ec2.SecurityGroup{ID: "sg-lb", VPC: "vpc-1"})
	api.AddInstance("vpc-1", ec2.Instance{ID: nodeInstance, Interfaces: []ec2.Interface{{
		ID: "eni-01", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/28")}, Groups: []string{nodeGroup},
	}}})
	b.must(b.cluster.Create(ctx, newNode("node-1", nodeInstance, corev1.ConditionTrue)))
	records := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "targetgate-system", Name: "records"}}
	b.must(b.cluster.Create(ctx, records))
	b.Networking = &networking.Settings{
		ClusterName: "test", VPC: func(context.Context) (string, error) { return "vpc-1", nil }, Restricted: true, RuleQuota: 60,
		DriftInterval: testDrift, ReleaseTimeout: 30 * time.Second, Clock: clock.RealClock{},
		EC2:     ec2.New(api, budget.New("", nil, clock.RealClock{})),
		Records: &networking.ConfigMap{Client: b.cluster, Reader: b.cluster, Key: client.ObjectKeyFromObject(records)},
	}
	b.begin(ctx)
	return api
}

// askForRule has the binding ask for TCP 8080 from the load balancer's security group.
func askForRule(spec *v1beta1.TargetGroupBindingSpec) {
	spec.Networking = &v1beta1.TargetGroupBindingNetworking{Ingress: []v1beta1.NetworkingIngressRule{{
		From:  []v1beta1.NetworkingPeer{{SecurityGroup: &v1beta1.SecurityGroup{GroupID: "sg-lb"}}},
		Ports: []v1beta1.NetworkingPort{{Port: ptr.To(intstr.FromInt32(8080))}},
	}}}
}

var wantedRule = ec2.Rule{Protocol: "tcp", From: 8080, To: 8080, Source: ec2.Source{Group: "sg-lb"}}

func (b *bed) hasRules(api *fakeec2.API, when string, want ...ec2.Rule) {
	b.t.Helper()
	var got []ec2.Rule
	for _, p := range api.Rules(nodeGroup) {
		got = append(got, p.Rule)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		b.t.Errorf("%s: rules of %s (-want +got):\n%s", when, nodeGroup, diff)
	}
}

func (b *bed) networkingReady(when string, want metav1.ConditionStatus, reason string) {
	b.t.Helper()
	c := b.bindingCondition(v1beta1.ConditionNetworkingReady)
	if c == nil || c.Status != want || c.Reason != reason {
		b.t.Errorf("%s: NetworkingReady is %v, want %s %s", when, c, want, reason)
	}
}

func podOnNode(name, ip string) *corev1.Pod {
	pod := newPod(name, ip)
	pod.Spec.NodeName = "node-1"
	return pod
}

func TestRulesFollowTheBinding(t *testing.T) {
	pod := podOnNode("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		api := b.withRules()
		b.changeSpec(askForRule)
		b.run(10*time.Second, webKey)
		b.hasRules(api, "with a pod", wantedRule)
		b.networkingReady("with a pod", metav1.ConditionTrue, networking.ReasonRulesPresent)
		b.changeSpec(func(spec *v1beta1.TargetGroupBindingSpec) { spec.Networking = nil })
		b.run(10*time.Second, webKey)
		b.hasRules(api, "without spec.networking")
		if c := apimeta.FindStatusCondition(b.binding().Status.Conditions, v1beta1.ConditionNetworkingReady); c != nil {
			t.Errorf("without spec.networking NetworkingReady is %v, want none", c)
		}
	}, pod, newSlice("web-1", pod))
}

// Rule 5: a load balancer sends to a target for some time after AWS has accepted its deregistration.
func TestRuleStaysWhileTheLastTargetDrains(t *testing.T) {
	pod := withFinalizer(podOnNode("web-0", "10.0.0.1"))
	slice := newSlice("web-1", pod)
	inBed(t, func(b *bed) {
		api := b.withRules()
		b.changeSpec(askForRule)
		b.run(10*time.Second, webKey)
		b.must(b.cluster.Delete(t.Context(), pod))
		b.run(10*time.Second, webKey)
		if got := b.targets()[one.String()]; got != elbv2.StateDraining {
			t.Fatalf("the target is %q, want it to drain", got)
		}
		b.hasRules(api, "while it drains", wantedRule)
		b.must(b.cluster.Delete(t.Context(), slice))
		b.must(b.cluster.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
		pod.Finalizers = nil
		b.must(b.cluster.Update(t.Context(), pod))
		b.run(10*time.Second, webKey)
		b.hasRules(api, "when the pod has gone")
	}, pod, slice)
}

// Nor does a pod need to be listed for that: the Service may have come to select others.
func TestRuleStaysWhileTheTargetOfAPodThatIsNotSelectedDrains(t *testing.T) {
	named := func(pod *corev1.Pod, port int32) *corev1.Pod {
		pod.Spec.Containers = []corev1.Container{{Name: "web", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port}}}}
		return pod
	}
	blue, green := named(podOnNode("web-0", "10.0.0.1"), 8080), named(podOnNode("web-1", "10.0.0.2"), 9090)
	inBed(t, func(b *bed) {
		api := b.withRules()
		b.changeSpec(func(spec *v1beta1.TargetGroupBindingSpec) {
			askForRule(spec)
			spec.Networking.Ingress[0].Ports[0].Port = ptr.To(intstr.FromString("http"))
		})
		b.run(10*time.Second, webKey)
		b.aws.SetHealth(testARN, one, healthy)
		b.hasRules(api, "with the first pod", wantedRule)
		b.must(b.cluster.Get(t.Context(), client.ObjectKeyFromObject(blue), blue))
		blue.Labels["app"] = "old"
		b.must(b.cluster.Update(t.Context(), blue))
		b.must(b.cluster.Create(t.Context(), green))
		b.must(b.cluster.Delete(t.Context(), newSlice("web-1")))
		b.must(b.cluster.Create(t.Context(), newSlice("web-1", green)))
		b.run(10*time.Second, webKey)
		b.aws.SetHealth(testARN, fixture.Two, healthy)
		b.run(10*time.Second, webKey)
		if got := b.targets()[one.String()]; got != elbv2.StateDraining {
			t.Fatalf("the target is %q, want it to drain", got)
		}
		second := wantedRule
		second.From, second.To = 9090, 9090
		b.hasRules(api, "while it drains", wantedRule, second)
	}, blue, newSlice("web-1", blue))
}

func TestRulesOfNodes(t *testing.T) {
	inBed(t, func(b *bed) {
		api := b.withRules()
		service := newService()
		b.must(b.cluster.Get(b.t.Context(), client.ObjectKeyFromObject(service), service))
		service.Spec.Ports[0].NodePort = 30080
		b.must(b.cluster.Update(b.t.Context(), service))
		b.changeSpec(func(spec *v1beta1.TargetGroupBindingSpec) {
			spec.TargetType = ptr.To(v1beta1.TargetTypeInstance)
			askForRule(spec)
		})
		b.run(10*time.Second, webKey)
		b.hasRules(api, "with a node", wantedRule)
	})
}

// Registrations and deregistrations wait for no rule, and the status and one event say what is wrong.
func TestRulesAreNeverInTheWayOfTargets(t *testing.T) {
	for name, answer := range map[string]func(context.Context, fakeec2.Call) error{
		"EC2 hangs": func(ctx context.Context, _ fakeec2.Call) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"EC2 refuses": func(context.Context, fakeec2.Call) error {
			return &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "no"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := podOnNode("web-0", "10.0.0.1"), podOnNode("web-1", "10.0.0.2")
			inBed(t, func(b *bed) {
				api := b.withRules()
				api.Before = answer
				b.changeSpec(askForRule)
				b.run(2*time.Second, webKey)
				b.must(b.cluster.Create(b.t.Context(), newSlice("web-2", second)))
				b.must(b.cluster.Delete(b.t.Context(), first))
				b.must(b.cluster.Delete(b.t.Context(), newSlice("web-1", first)))
				b.run(2*time.Second, webKey)
				if diff := cmp.Diff(map[string]bool{"10.0.0.2:8080": true}, b.registered()); diff != "" {
					t.Errorf("registered (-want +got):\n%s", diff)
				}
				if name == "EC2 hangs" {
					b.networkingReady("while EC2 hangs", metav1.ConditionUnknown, networking.ReasonResolving)
					return
				}
				b.run(time.Minute, webKey)
				b.networkingReady("while EC2 refuses", metav1.ConditionFalse, networking.ReasonUnresolved)
				if n := b.told("FailedNetworkReconcile"); n != 1 {
					t.Errorf("%d events FailedNetworkReconcile, want 1", n)
				}
			}, first, second, newSlice("web-1", first))
		})
	}
}

// registered are the targets of the group that do not drain.
func (b *bed) registered() map[string]bool {
	out := map[string]bool{}
	for target, state := range b.targets() {
		if state != "draining" {
			out[target] = true
		}
	}
	return out
}

func TestBindingGoesAfterItsRules(t *testing.T) {
	pod := podOnNode("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		api := b.withRules()
		b.changeSpec(askForRule)
		b.run(10*time.Second, webKey)
		answer := make(chan struct{})
		api.Before = func(_ context.Context, call fakeec2.Call) error {
			if call.Operation == "RevokeSecurityGroupIngress" {
				<-answer
			}
			return nil
		}
		b.must(b.cluster.Delete(b.t.Context(), fixture.Binding()))
		b.run(5*time.Second, webKey)
		if len(b.registered()) > 0 {
			t.Errorf("%v are registered while a rule waits", b.registered())
		}
		b.networkingReady("while EC2 does not answer", metav1.ConditionUnknown, networking.ReasonReleasing)
		close(answer)
		b.run(5*time.Second, webKey)
		b.hasRules(api, "after the deletion")
		if err := b.cluster.Get(b.t.Context(), webKey, fixture.Binding()); client.IgnoreNotFound(err) != nil || err == nil {
			t.Errorf("the binding is still there: %v", err)
		}
	}, pod, newSlice("web-1", pod))
}

// A rule that cannot be removed keeps a binding for a bounded time, and an event names the rule.
func TestBindingGoesWithoutItsRulesInTheEnd(t *testing.T) {
	pod := podOnNode("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		api := b.withRules()
		b.changeSpec(askForRule)
		b.run(10*time.Second, webKey)
		api.Before = func(_ context.Context, call fakeec2.Call) error {
			if call.Operation == "RevokeSecurityGroupIngress" {
				return &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "no"}
			}
			return nil
		}
		b.must(b.cluster.Delete(b.t.Context(), fixture.Binding()))
		b.run(25*time.Second, webKey)
		if err := b.cluster.Get(b.t.Context(), webKey, fixture.Binding()); err != nil {
			t.Errorf("the binding went before its time: %v", err)
		}
		b.run(10*time.Second, webKey)
		if err := b.cluster.Get(b.t.Context(), webKey, fixture.Binding()); err == nil {
			t.Error("the binding is still there")
		}
		if n := b.told("SecurityGroupRulesLeft"); n != 1 {
			t.Errorf("%d events SecurityGroupRulesLeft, want 1", n)
		}
		b.hasRules(api, "which EC2 did not remove", wantedRule)
	}, pod, newSlice("web-1", pod))
}

// A binding that is refused, and that no controller has worked on, keeps no rule of others.
func TestRefusedBindingKeepsNoRuleOfOthers(t *testing.T) {
	tests := map[string]struct {
		change func(*v1beta1.TargetGroupBinding)
		keeps  bool
	}{
		"a duplicate":              {change: func(*v1beta1.TargetGroupBinding) {}},
		"one that is not complete": {change: func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupARN = "" }},
		"one that was managed":     {change: func(b *v1beta1.TargetGroupBinding) { b.Finalizers = []string{v1beta1.Finalizer} }, keeps: true},
		"one whose role is not allowed": {change: func(b *v1beta1.TargetGroupBinding) {
			b.Spec.TargetGroupARN, b.Spec.IamRoleArnToAssume = testARN+"0", testRole
		}, keeps: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podOnNode("web-0", "10.0.0.1")
			refused := newDuplicate(tc.change, func(b *v1beta1.TargetGroupBinding) { askForRule(&b.Spec) })
			inBed(t, func(b *bed) {
				allowing(b, "")
				api := b.withRules()
				b.changeSpec(askForRule)
				b.run(10*time.Second, webKey, rivalKey)
				b.hasRules(api, "while the binding asks for it", wantedRule)
				b.changeSpec(func(spec *v1beta1.TargetGroupBindingSpec) {
					spec.Networking = &v1beta1.TargetGroupBindingNetworking{Ingress: []v1beta1.NetworkingIngressRule{fixture.From("sg-lb", 8081)}}
				})
				b.run(10*time.Second, webKey, rivalKey)
				want := []ec2.Rule{fixture.Rule(8081, 8081, "sg-lb")}
				if tc.keeps {
					want = append([]ec2.Rule{wantedRule}, want...)
				}
				b.hasRules(api, "when it asks for another", want...)
			}, pod, newSlice("web-1", pod), refused)
		})
	}
}

// The targets of a group that is handed over stay, and so do the rules for them.
func TestRulesStayWhileAGroupIsHandedOver(t *testing.T) {
	pod := podOnNode("web-0", "10.0.0.1")
	successor := newDuplicate(func(b *v1beta1.TargetGroupBinding) { askForRule(&b.Spec) })
	inBed(t, func(b *bed) {
		api := b.withRules()
		api.Before = func(_ context.Context, call fakeec2.Call) error {
			if call.Operation == "RevokeSecurityGroupIngress" {
				t.Error("a rule was removed")
			}
			return nil
		}
		b.changeSpec(askForRule)
		b.run(10*time.Second, webKey, rivalKey)
		b.hasRules(api, "of the owner", wantedRule)
		b.must(b.cluster.Delete(t.Context(), newBinding()))
		b.run(5*time.Second, webKey)
		if err := b.cluster.Get(t.Context(), webKey, newBinding()); client.IgnoreNotFound(err) != nil || err == nil {
			t.Fatalf("the owner is still there: %v", err)
		}
		time.Sleep(2 * time.Minute)
		b.run(2*time.Minute, rivalKey)
		b.hasRules(api, "of the successor", wantedRule)
		if c := b.duplicateReady(); c.Reason != v1beta1.ReasonReconciled {
			t.Errorf("the successor's Ready says %s: %s", c.Reason, c.Message)
		}
	}, pod, newSlice("web-1", pod), successor)
}

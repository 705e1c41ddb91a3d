// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	testARN  = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123456789abcdef"
	testGate = corev1.PodConditionType("target-health.elbv2.k8s.aws/web")
)

var (
	now      = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	testPod  = elbv2.Target{ID: "10.0.0.1", Port: 8080}
	leaseKey = client.ObjectKey{Namespace: "targetgate-system", Name: "lease"}
)

// world is a set-up in which all is well until a test breaks it: one Service, one binding, one pod that is registered,
// healthy and open.
type world struct {
	namespace *corev1.Namespace
	binding   *v1beta1.TargetGroupBinding
	service   *corev1.Service
	slice     *discoveryv1.EndpointSlice
	hook      *admissionregistrationv1.MutatingWebhookConfiguration // nil when it may not be read
	pod       *corev1.Pod
	lease     *coordinationv1.Lease
	node      *corev1.Node                // that the pod is not on
	duplicate *v1beta1.TargetGroupBinding // that has had the target group before, nil for none
	aws       *fakeelbv2.API              // nil: AWS is not asked
	group     elbv2types.TargetGroup
}

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func newWorld() *world {
	return &world{
		namespace: &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{readiness.InjectLabel: "enabled"}}},
		binding: &v1beta1.TargetGroupBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "binding", Generation: 2, CreationTimestamp: ago(2 * time.Hour)},
			Spec: v1beta1.TargetGroupBindingSpec{
				TargetGroupARN: testARN, TargetType: ptr.To(v1beta1.TargetTypeIP),
				ServiceRef: v1beta1.ServiceReference{Name: "web", Port: intstr.FromString("http")},
			},
			Status: v1beta1.TargetGroupBindingStatus{
				Conditions: []metav1.Condition{
					{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 2, Reason: v1beta1.ReasonReconciled, Message: "Fine"},
					{Type: v1beta1.ConditionDegraded, Status: metav1.ConditionFalse, ObservedGeneration: 2, Reason: v1beta1.ReasonHealthy, Message: "Fine"},
				},
				Targets:     &v1beta1.TargetCounts{Summary: "1/1", Registered: 1, Healthy: 1},
				TargetGroup: &v1beta1.TargetGroupSettings{LoadBalancers: 1},
			},
		},
		service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", CreationTimestamp: ago(3 * time.Hour)},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
			},
		},
		slice: &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: fixture.SliceLabels("web")},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}},
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "web-0", UID: "web-0"},
			}},
		},
		pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web-0", UID: "web-0", Labels: map[string]string{"app": "web"}, CreationTimestamp: ago(time.Hour),
			},
			Spec: corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: testGate}}},
			Status: corev1.PodStatus{
				PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}},
				Conditions: []corev1.PodCondition{
					{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Hour)},
					{Type: testGate, Status: corev1.ConditionTrue, LastTransitionTime: ago(time.Hour)},
				},
			},
		},
		lease: &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: leaseKey.Namespace, Name: leaseKey.Name},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: ptr.To("targetgate-7d9f_uid"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: &metav1.MicroTime{Time: now.Add(-2 * time.Second)},
			},
		},
		node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Spec: corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/i-0123456789abcdef0"},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		},
		group: elbv2types.TargetGroup{
			TargetGroupArn: aws.String(testARN), LoadBalancerArns: []string{"arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/web/0"},
		},
	}
}

// says has the gate closed with these words, and the counts agree.
func (w *world) says(reason, message string) {
	w.pod.Status.Conditions[1] = corev1.PodCondition{
		Type: testGate, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: ago(time.Hour),
	}
	w.binding.Status.Targets = &v1beta1.TargetCounts{Summary: "0/1", Registered: 1}
}

// mute has nothing written to the pod yet.
func (w *world) mute() {
	w.pod.Status.Conditions = w.pod.Status.Conditions[:1]
	w.binding.Status.Targets = &v1beta1.TargetCounts{Summary: "0/0"}
}

func (w *world) degrade(reason, message string) {
	w.binding.Status.Conditions[0].Status, w.binding.Status.Conditions[0].Reason, w.binding.Status.Conditions[0].Message = "False", reason, message
	w.binding.Status.Conditions[1].Status, w.binding.Status.Conditions[1].Reason, w.binding.Status.Conditions[1].Message = "True", reason, message
}

// answer has AWS asked, and say this of the pod's target; no state is no target.
func (w *world) answer(h elbv2.Health) {
	w.aws = &fakeelbv2.API{}
	w.aws.AddGroup(w.group)
	if h.State != "" {
		w.aws.SetHealth(testARN, testPod, h)
	}
}

// selecting is a configuration whose pod webhook takes namespaces with the label, and pods by the selector.
func selecting(key, value string, pods *metav1.LabelSelector) *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hooks"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: readiness.PodWebhook, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}, ObjectSelector: pods,
		}},
	}
}

// byLabel is a configuration whose pod webhook takes namespaces as the chart has it by default.
func byLabel() *admissionregistrationv1.MutatingWebhookConfiguration {
	out := selecting("", "", nil)
	out.Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: readiness.InjectLabel, Operator: metav1.LabelSelectorOpIn, Values: []string{readiness.InjectEnabled}},
	}}
	return out
}

func (w *world) explainer(t *testing.T) *Explainer {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	objects := []client.Object{w.namespace, w.slice, w.binding, w.pod, w.node}
	if w.hook != nil {
		objects = append(objects, w.hook)
	}
	if w.service != nil {
		objects = append(objects, w.service)
	}
	if w.duplicate != nil {
		objects = append(objects, w.duplicate)
	}
	if w.lease != nil {
		objects = append(objects, w.lease)
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	e := Explainer{Reader: reader, Clock: clocktesting.NewFakePassiveClock(now), Lease: leaseKey, WebhookConfiguration: "hooks"}
	e.BesideLease = client.ObjectKey{Namespace: leaseKey.Namespace, Name: "beside"}
	if w.aws != nil {
		aws := elbv2.New(w.aws, budget.New("", nil, clock.RealClock{}))
		e.AWS = func(*v1beta1.TargetGroupBinding) (*elbv2.Client, error) { return aws, nil }
	}
	return New(e)
}

// explained is the report about the pod; about the binding where that registers nodes, which no pod's report names.
func (w *world) explained(t *testing.T) Report {
	t.Helper()
	if w.binding.Spec.TargetType != nil && !w.binding.Spec.IsIP() {
		report, err := w.explainer(t).Binding(t.Context(), client.ObjectKeyFromObject(w.binding))
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	report, err := w.explainer(t).Pod(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web-0"})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// causeOf is "state link: what was seen -> advice" of the cause, empty when there is none.
func causeOf(t *testing.T, report Report) string {
	t.Helper()
	if len(report.Chains) != 1 {
		t.Fatalf("%d chains, want one: %+v", len(report.Chains), report)
	}
	c := report.Chains[0].Cause
	if c == nil {
		return ""
	}
	return string(c.State) + " " + c.Name + ": " + c.Seen + " -> " + c.Advice
}

// The set-ups that users have, by what is wrong. Want are parts of the state, the link, what was seen and the advice.
func TestExplainNamesTheCause(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(*world)
		want  []string
	}{
		"1 Service missing": {
			func(w *world) { w.service = nil }, []string{`broken service: Service "web" does not exist`, "Create it"},
		},
		"2 port name missing": {
			func(w *world) { w.service.Spec.Ports[0].Name = "web" },
			[]string{`broken service: Service "web" has no port "http"`, "It has type ClusterIP and ports web (80)"},
		},
		"3 selector selects nothing": {
			func(w *world) {
				w.service.Spec.Selector, w.slice.Endpoints = map[string]string{"app": "wob"}, nil
			},
			[]string{`broken slice: Service "web" selects no pod: its selector is app=wob`, "--show-labels"},
		},
		"3 selector selects another pod": {
			func(w *world) {
				w.slice.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: "other", UID: "other"}
				w.pod.Labels = map[string]string{"app": "old"}
			},
			[]string{`broken slice: Service "web" does not select the pod: it wants app=web, and the pod has app=old`},
		},
		"3 targetPort is no container port": {
			func(w *world) { w.mute(); w.slice.Ports = nil }, []string{`broken slice: the EndpointSlices of Service "web" list the pod without port "http"`, "targetPort"},
		},
		"3 other address family": {
			func(w *world) {
				w.mute()
				w.slice.AddressType, w.service.Spec.IPFamilies = discoveryv1.AddressTypeIPv6, []corev1.IPFamily{corev1.IPv6Protocol}
			},
			[]string{`broken slice: Service "web" has no IPv4 addresses (spec.ipFamilies: [IPv6])`, "ipFamilies"},
		},
		"3 ExternalName": {
			func(w *world) { w.mute(); w.slice.Endpoints, w.service.Spec.Type = nil, corev1.ServiceTypeExternalName },
			[]string{`broken slice: Service "web" is of type ExternalName, which has no endpoints`},
		},
		"3 pod of another namespace": {
			func(w *world) { w.mute(); w.slice.Endpoints[0].TargetRef.Namespace = "other" },
			[]string{"broken slice: EndpointSlices list what cannot be a target: 10.0.0.1:8080 is not registered: pod other/"},
		},
		"4 its node is gone": {
			func(w *world) { w.mute(); w.pod.Spec.NodeName = "gone" },
			[]string{`broken pod: its containers are ready, but its node "gone" is not, or is gone`},
		},
		"4 container crashes": {
			func(w *world) { w.mute(); w.unready("CrashLoopBackOff", "back-off 10s") },
			[]string{`broken pod: containers not ready since`, `container "app": CrashLoopBackOff back-off 10s`, "kubectl -n shop describe pod web-0"},
		},
		"4 container starts": {
			func(w *world) { w.mute(); w.unready("ContainerCreating", "") }, []string{`waiting pod: containers not ready since`, "ContainerCreating"},
		},
		"4 container starts for long": {
			func(w *world) {
				w.mute()
				w.unready("ContainerCreating", "")
				w.pod.Status.Conditions[0].LastTransitionTime = ago(startup)
			},
			[]string{`broken pod: containers not ready since 2026-11-21T11:55:00Z`},
		},
		"4 on no node": {
			func(w *world) {
				w.mute()
				w.unready("", "")
				w.slice.Endpoints, w.pod.Status.PodIPs = nil, nil
				w.pod.Status.Conditions = append(w.pod.Status.Conditions, corev1.PodCondition{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available",
				})
			},
			[]string{"broken pod: is on no node: Unschedulable: 0/3 nodes are available"},
		},
		"5 created before the binding": {
			func(w *world) { w.pod.Spec.ReadinessGates = nil; w.pod.CreationTimestamp = ago(4 * time.Hour) },
			[]string{"broken gate: the pod has no readiness gate", "created before the TargetGroupBinding", "rollout restart"},
		},
		"5 namespace not labelled": {
			func(w *world) { w.pod.Spec.ReadinessGates = nil; w.namespace.Labels = nil; w.hook = byLabel() },
			[]string{"broken gate: the pod has no readiness gate", "namespace shop does not ask for gates", "kubectl label namespace shop elbv2.k8s.aws/pod-readiness-gate-inject=enabled"},
		},
		"5 namespace not selected": {
			func(w *world) { w.pod.Spec.ReadinessGates = nil; w.hook = selecting("team", "shop", nil) },
			[]string{"broken gate: the pod has no readiness gate", "the webhook's namespaceSelector leaves namespace shop out, whose labels do not meet: team=shop", "Give the namespace labels that meet it"},
		},
		"5 namespace registered beside, and not labelled": {
			func(w *world) {
				w.pod.Spec.ReadinessGates, w.hook = nil, byLabel()
				w.namespace.Labels = map[string]string{"targetgate.dev/register": "enabled"}
				selector := w.hook.Webhooks[0].NamespaceSelector
				selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
					Key: "targetgate.dev/register", Operator: metav1.LabelSelectorOpIn, Values: []string{"enabled"},
				})
			},
			[]string{"broken gate: the pod has no readiness gate", "namespace shop does not ask for gates", "kubectl label namespace shop elbv2.k8s.aws/pod-readiness-gate-inject=enabled"},
		},
		"5 webhook did not answer": {
			func(w *world) { w.pod.Spec.ReadinessGates = nil },
			[]string{"broken gate: the pod has no readiness gate", "webhook did not answer"},
		},
		"6 AWS denies access": {
			func(w *world) {
				w.degrade(v1beta1.ReasonAccessDenied, "AccessDenied: not authorized to perform: elasticloadbalancing:RegisterTargets")
				w.says(readiness.ReasonRegistrationFailed, "AccessDenied: not authorized")
			},
			[]string{"broken target group: AccessDenied: AccessDenied: not authorized to perform", "IAM role"},
		},
		"6 nobody has consented": {
			func(w *world) {
				w.degrade(v1beta1.ReasonConsentMissing, "No target is registered: by the tag targetgate.dev/bind=prod/shop/web")
				w.says(readiness.ReasonRegistrationFailed, "No target is registered")
			},
			[]string{"broken target group: ConsentMissing: No target is registered: by the tag targetgate.dev/bind=prod/shop/web", "target group's owner set the tag"},
		},
		"6 role not allowed": {
			func(w *world) {
				w.degrade(v1beta1.ReasonRoleNotAllowed, "targetgate makes no AWS call for this binding, and its targets stay as they are: role arn:aws:iam::1:role/a may not be assumed")
			},
			[]string{"broken binding: targetgate makes no AWS call for this binding, and its targets stay as they are: role arn:aws:iam::1:role/a may not be assumed", "roleAllowlist"},
		},
		"6 target group not found": {
			func(w *world) { w.degrade(v1beta1.ReasonTargetGroupNotFound, "TargetGroupNotFound: gone"); w.mute() },
			[]string{"broken target group: TargetGroupNotFound: TargetGroupNotFound: gone", "Region and account"},
		},
		"6 target group not found, by AWS": {
			func(w *world) { w.group.TargetGroupArn = aws.String("other"); w.answer(elbv2.Health{}) },
			[]string{"broken target group: TargetGroupNotFound: "},
		},
		"6 binding without a type": {
			func(w *world) { w.binding.Spec.TargetType = nil }, []string{"broken binding: spec.targetType is not set"},
		},
		"6 another binding has the group": {
			func(w *world) { w.addRival() },
			[]string{"broken binding: spec.targetGroupARN: TargetGroupBinding other/first has this target group already", "leaves this binding alone"},
		},
		"6 another binding has the group still": {
			func(w *world) { w.addRival(); w.duplicate.DeletionTimestamp = ptr.To(ago(time.Second)) },
			[]string{"waiting binding: spec.targetGroupARN: TargetGroupBinding other/first still has this target group", "hands the group over"},
		},
		"6 one target refused": {
			func(w *world) { w.says(readiness.ReasonRegistrationFailed, "InvalidTarget: not in the VPC") },
			[]string{"broken target: 10.0.0.1:8080 is not registered: RegistrationFailed: InvalidTarget: not in the VPC"},
		},
		"7 target unhealthy": {
			func(w *world) {
				w.says("Target.ResponseCodeMismatch", "Health checks failed with these codes: [503] (since 2026-11-21T11:00:00Z)")
			},
			[]string{"broken health: not healthy: Target.ResponseCodeMismatch: Health checks failed with these codes: [503]", "success codes"},
		},
		"7 target unhealthy, by AWS, behind an open gate": {
			func(w *world) {
				w.answer(elbv2.Health{State: elbv2.StateUnhealthy, Reason: "Target.Timeout", Description: "Request timed out"})
			},
			[]string{"broken health: unhealthy: Target.Timeout: Request timed out", "security groups"},
		},
		"7 first health checks": {
			func(w *world) { w.says("Elb.InitialHealthChecking", "Initial health checks in progress") },
			[]string{"waiting health: not healthy: Elb.InitialHealthChecking"},
		},
		"8 attached to no load balancer": {
			func(w *world) {
				w.binding.Status.TargetGroup.LoadBalancers = 0
				w.says("Target.NotInUse", "Target group is not configured to receive traffic from the load balancer")
			},
			[]string{"broken target group: web is attached to no load balancer", "listener"},
		},
		"8 attached to no load balancer, by AWS": {
			func(w *world) { w.group.LoadBalancerArns = nil; w.answer(elbv2.Health{State: elbv2.StateUnused}) },
			[]string{"broken target group: web is attached to no load balancer"},
		},
		"8 zone not enabled": {
			func(w *world) {
				w.says("Target.NotInUse", "Target is in an Availability Zone that is not enabled for the load balancer")
			},
			[]string{"broken health: not healthy: Target.NotInUse: Target is in an Availability Zone", "Enable that Availability Zone"},
		},
		"9 terminating": {
			func(w *world) { w.terminate(-20 * time.Second) },
			[]string{"waiting pod: is terminating, until 2026-11-21T12:00:20Z"},
		},
		"9 terminating for too long": {
			func(w *world) { w.terminate(time.Minute) },
			[]string{"broken pod: is terminating, and should have been gone at 2026-11-21T11:59:00Z", "finalizers (test/finalizer), and whether node"},
		},
		"10 targetgate does not run": {
			func(w *world) { w.mute(); w.lease.Spec.RenewTime.Time = now.Add(-time.Minute) },
			[]string{"broken targetgate: does not run: lease targetgate-system/lease has not been renewed since 2026-11-21T11:59:00Z, and it is 2026-11-21T12:00:00Z by the API server's clock", "kubectl -n targetgate-system get pods"},
		},
		"10 targetgate has just lost its leader": {
			func(w *world) {
				w.lease.Spec.HolderIdentity = ptr.To("")
			},
			[]string{"waiting targetgate: has had no leader since"},
		},
		"10 targetgate was never installed": {
			func(w *world) { w.mute(); w.binding.Status, w.lease = v1beta1.TargetGroupBindingStatus{}, nil },
			[]string{"broken targetgate: has never looked at the binding, and there is no lease targetgate-system/lease", "Is targetgate installed?"},
		},
		"10 observed generation behind": {
			func(w *world) { w.binding.Generation = 3 },
			[]string{"broken targetgate: has seen generation 2 of the binding, not 3, although targetgate-7d9f leads", "--watch-namespace"},
		},
		"10 binding is new": {
			func(w *world) {
				w.mute()
				w.binding.Status, w.binding.CreationTimestamp = v1beta1.TargetGroupBindingStatus{}, ago(time.Second)
			},
			[]string{"waiting targetgate: has never looked at the binding"},
		},
		"10 gate condition never written": {
			func(w *world) { w.mute() },
			[]string{"broken target: 10.0.0.1:8080 is not registered, although the pod's containers have been ready since 2026-11-21T11:00:00Z", "check that it runs"},
		},
		"10 pod is ready just now": {
			func(w *world) { w.mute(); w.pod.Status.Conditions[0].LastTransitionTime = ago(time.Second) },
			[]string{"waiting target: 10.0.0.1:8080 is not registered yet"},
		},
		"node that is no instance": {
			func(w *world) { w.registerNodes(); w.node.Spec.ProviderID = "kind://node-1" },
			[]string{`broken node: Node node-1 cannot be a target: spec.providerID "kind://node-1" names no instance`},
		},
		"node that is not ready": {
			func(w *world) {
				w.registerNodes()
				w.node.Status.Conditions[0].Status = corev1.ConditionFalse
			},
			[]string{"broken node: is not ready"},
		},
		"node that is to be replaced": {
			func(w *world) {
				w.registerNodes()
				w.node.Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}}
			},
			[]string{"waiting node: is about to be replaced", "its target stays until as many others are"},
		},
		"node that goes": {
			func(w *world) {
				w.registerNodes()
				w.node.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
			},
			[]string{"waiting node: is about to go"},
		},
		"another one's gate": {
			func(w *world) {
				w.pod.Spec.ReadinessGates = append(w.pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: "example.com/other"})
				w.slice.Endpoints[0].Conditions.Ready = ptr.To(true)
			},
			[]string{"waiting gate: open, and the pod is not Ready as someone else's gate is closed: example.com/other"},
		},
		"another one's gate, as the slice says by now": {
			func(w *world) {
				w.pod.Spec.ReadinessGates = append(w.pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: "example.com/other"})
			},
			[]string{
				"waiting pod: gets no traffic, as its readiness gate example.com/other is not True", "See who sets the pod's condition example.com/other",
			},
		},
		"a slice written by hand": {
			func(w *world) { delete(w.slice.Labels, discoveryv1.LabelManagedBy) },
			[]string{"waiting pod: gets no traffic, as its EndpointSlice says that it is not ready", "See who writes the Service's EndpointSlices"},
		},
		"pod has ended": {
			func(w *world) { w.pod.Status.Phase, w.pod.Status.Reason = corev1.PodFailed, "Evicted" },
			[]string{"waiting pod: has ended (Failed)", "Evicted"},
		},
		"slice has lost the pod for a moment": {
			func(w *world) { w.slice.Endpoints = nil; w.answer(elbv2.Health{State: elbv2.StateHealthy}) },
			[]string{"waiting slice: does not list the pod just now; target 10.0.0.1:8080 stays"},
		},
		"binding refused by what may not be read": {
			func(w *world) {
				w.degrade(v1beta1.ReasonNotSupported, "TargetGroupBinding other/web has this target group already")
			},
			[]string{"broken binding: TargetGroupBinding other/web has this target group already"},
		},
		"pod behind no binding": {
			func(w *world) { w.pod.Spec.ReadinessGates, w.pod.Labels, w.slice.Endpoints = nil, nil, nil },
			[]string{"broken binding: no TargetGroupBinding of the namespace names a Service that selects pod \"web-0\""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			tc.spoil(w)
			report := w.explained(t)
			got := causeOf(t, report)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("the cause is\n%s\nwithout\n%s", got, want)
				}
			}
			if broken := strings.HasPrefix(tc.want[0], "broken"); report.IsBroken() != broken {
				t.Errorf("broken: %v, want %v", report.IsBroken(), broken)
			}
		})
	}
}

// unready has a container in that state of waiting.
func (w *world) unready(reason, message string) {
	w.pod.Status.Conditions[0].Status, w.pod.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse, ago(time.Minute)
	w.pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}
}

// addRival has an older binding have the target group.
func (w *world) addRival() {
	w.duplicate = w.binding.DeepCopy()
	w.duplicate.Namespace, w.duplicate.Name, w.duplicate.UID, w.duplicate.Finalizers = "other", "first", "first", []string{v1beta1.Finalizer}
	w.duplicate.CreationTimestamp = ago(3 * time.Hour)
}

// registerNodes has the binding register nodes instead of pods.
func (w *world) registerNodes() {
	w.binding.Spec.TargetType, w.service.Spec.Ports[0].NodePort = ptr.To(v1beta1.TargetTypeInstance), 30080
}

// terminate has the pod's time run out so long ago.
func (w *world) terminate(overdue time.Duration) {
	w.pod.Finalizers, w.pod.DeletionTimestamp = []string{"test/finalizer"}, ptr.To(ago(overdue))
}

// A pod without finalizers is still there only because its node does not say that it has ended.
func TestExplainNamesNoFinalizersWhereThereAreNone(t *testing.T) {
	w := newWorld()
	w.terminate(time.Minute)
	w.pod.Finalizers, w.pod.Spec.NodeName = nil, "node-1"
	got := endpointState{bindingState: &bindingState{now: now}, pod: w.pod}.leavingLink()
	if want := `Check whether node "node-1" responds`; got.Advice != want {
		t.Errorf("advice %q, want %q", got.Advice, want)
	}
}

func TestExplainSaysUntilWhenALeavingTargetStays(t *testing.T) {
	const by = "by 2026-11-21T12:00:19Z at the latest, as its pod gets SIGTERM at 2026-11-21T12:00:40Z (with the defaults of "
	tests := map[string]struct {
		protocol v1beta1.Protocol
		sleep    int64
		keep     string
		want     string
	}{
		"ALB":                      {protocol: "HTTP", sleep: 50, want: "will be deregistered when as many others are healthy as before, or " + by},
		"ALB, of nothing kept":     {protocol: "HTTP", sleep: 50, keep: "false", want: "will be deregistered " + by},
		"ALB, past the deadline":   {protocol: "HTTP", sleep: 30, want: "will be deregistered at once"},
		"NLB, that sleeps as long": {protocol: "TCP", sleep: 50, want: "will be deregistered at once"},
		"ALB, without a sleep":     {protocol: "HTTP", want: "will be deregistered at once"},
	}
	for name, tc := range tests {
		for _, asked := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", AWS asked ", asked), func(t *testing.T) {
				w := newWorld()
				w.leave(tc.sleep, tc.keep)
				w.binding.Status.TargetGroup.Protocol = tc.protocol
				if asked {
					w.answer(elbv2.Health{State: elbv2.StateHealthy})
				}
				if got := fmt.Sprintf("%+v", w.explained(t)); !strings.Contains(got, tc.want) {
					t.Errorf("explained\n%s\nwithout\n%s", got, tc.want)
				}
			})
		}
	}
}

// leave has the pod, which sleeps for so many seconds, be deleted ten seconds ago.
func (w *world) leave(sleep int64, keepUntilReplaced string) {
	const grace = 60
	w.terminate(10*time.Second - grace*time.Second)
	w.pod.DeletionGracePeriodSeconds = ptr.To[int64](grace)
	w.pod.Annotations = map[string]string{v1beta1.KeepUntilReplacedAnnotation: keepUntilReplaced}
	w.pod.Spec.Containers = []corev1.Container{{Name: "app"}}
	if sleep > 0 {
		w.pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: sleep}}}
	}
}

func TestExplainFindsNothingBrokenWhereNothingIs(t *testing.T) {
	for name, spoil := range map[string]func(*world){
		"by the status": func(*world) {},
		"by AWS":        func(w *world) { w.answer(elbv2.Health{State: elbv2.StateHealthy}) },
		"registered at an old port as well": func(w *world) {
			w.answer(elbv2.Health{State: elbv2.StateHealthy})
			w.aws.SetHealth(testARN, elbv2.Target{ID: "10.0.0.1", Port: 80}, elbv2.Health{State: elbv2.StateUnhealthy})
		},
		"terminating, target drained": func(w *world) {
			w.terminate(-time.Second)
			w.answer(elbv2.Health{})
		},
		"registered before, not counted yet": func(w *world) { w.binding.Status.Targets = nil },
		"lease elsewhere":                    func(w *world) { w.lease = nil },
		"binding is being deleted": func(w *world) {
			w.binding.Finalizers, w.binding.DeletionTimestamp = []string{v1beta1.Finalizer}, ptr.To(ago(time.Second))
		},
		"nodes are registered": func(w *world) { w.registerNodes() },
		"not ready but published": func(w *world) {
			w.unready("ContainerCreating", "")
			w.slice.Endpoints[0].Conditions.Ready = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			spoil(w)
			if report := w.explained(t); report.IsBroken() {
				t.Errorf("broken: %s", causeOf(t, report))
			}
		})
	}
}

func TestExplainSaysOfEachLinkWhatWasSeen(t *testing.T) {
	w := newWorld()
	w.answer(elbv2.Health{State: elbv2.StateHealthy})
	chain := w.explained(t).Chains[0]
	var got []string
	for _, l := range append(chain.Links, chain.Endpoints[0].Links...) {
		got = append(got, l.Name)
		if l.State != OK || l.Seen == "" || l.Advice != "" {
			t.Errorf("link %+v, want ok, something seen, and no advice", l)
		}
	}
	want := "binding targetgate service slice target group slice pod target health gate"
	if strings.Join(got, " ") != want {
		t.Errorf("links %v, want %s", got, want)
	}
}

func TestExplainWithoutAnswerOfAWSUsesTheStatus(t *testing.T) {
	w := newWorld()
	w.answer(elbv2.Health{State: elbv2.StateUnhealthy})
	w.aws.Before = func(context.Context, fakeelbv2.Call) error {
		return &smithy.GenericAPIError{Code: "ExpiredToken", Message: "expired"}
	}
	chain := w.explained(t).Chains[0]
	group, health := chain.Links[4], chain.Endpoints[0].Links[3]
	if group.State != Unknown || group.Seen != "AWS does not answer you: ExpiredToken: expired" || !strings.Contains(group.Advice, "your own credentials") {
		t.Errorf("link %+v, want it to say that AWS has not answered", group)
	}
	if health.State != OK || !strings.Contains(health.Seen, "according to the binding's status") {
		t.Errorf("link %+v, want the health according to the binding's status", health)
	}
}

// The counts of the binding's status are of the targets that are registered.
func TestExplainTellsNoHealthOfTargetThatIsNotRegistered(t *testing.T) {
	w := newWorld()
	w.says(readiness.ReasonRegistrationFailed, "InvalidTarget: not in the VPC")
	w.binding.Status.Targets = &v1beta1.TargetCounts{Registered: 3, Healthy: 3}
	links := w.explained(t).Chains[0].Endpoints[0].Links
	if got := links[3]; got.Name != "health" || got.State != Unknown {
		t.Errorf("link %+v, want an unknown health", got)
	}
}

// A gate that was opened without a registration says nothing of one, neither that it was made later nor that it was not.
func TestExplainDoesNotTakeAnOpenGateForARegistration(t *testing.T) {
	for _, tc := range []struct {
		reason string
		ready  bool
		want   string
	}{
		{reason: "", want: "ok 10.0.0.1:8080 is registered, according to the pod's condition"},
		{reason: readiness.ReasonTimeout, want: "ok 10.0.0.1:8080 is registered, according to the pod's condition"},
		{reason: readiness.ReasonNotSelected, ready: true, want: "ok 10.0.0.1:8080 is registered, according to the binding's status"},
		{reason: readiness.ReasonNotManaged, ready: true, want: "ok 10.0.0.1:8080 is registered, according to the binding's status"},
		{reason: readiness.ReasonBindingDeleted, want: "unknown only AWS knows whether 10.0.0.1:8080 is registered"},
		{reason: readiness.ReasonConsentMissing, want: "unknown only AWS knows whether 10.0.0.1:8080 is registered"},
	} {
		w := newWorld()
		w.pod.Status.Conditions[1].Reason = tc.reason
		if !tc.ready {
			w.degrade(v1beta1.ReasonConsentMissing, "No target is registered")
		}
		if l := w.explained(t).Chains[0].Endpoints[0].Links[2]; l.Name != "target" || string(l.State)+" "+l.Seen != tc.want {
			t.Errorf("%q: %s %s, want %s", tc.reason, l.State, l.Seen, tc.want)
		}
	}
}

func TestExplainOfWhatDoesNotExist(t *testing.T) {
	e := newWorld().explainer(t)
	_, podErr := e.Pod(t.Context(), types.NamespacedName{Namespace: "shop", Name: "none"})
	_, bindingErr := e.Binding(t.Context(), types.NamespacedName{Namespace: "shop", Name: "none"})
	_, namespaceErr := e.Namespace(t.Context(), "none")
	for want, err := range map[string]error{
		`getting pod in namespace shop: pods "none" not found`:                                             podErr,
		`getting TargetGroupBinding in namespace shop: targetgroupbindings.elbv2.k8s.aws "none" not found`: bindingErr,
		`getting namespace: namespaces "none" not found`:                                                   namespaceErr,
	} {
		if !apierrors.IsNotFound(err) || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestExplainOfNamespaceHasAllBindingsAndPods(t *testing.T) {
	w := newWorld()
	report, err := w.explainer(t).Namespace(t.Context(), "shop")
	if err != nil || len(report.Chains) != 1 || len(report.Chains[0].Endpoints) != 1 || report.IsBroken() {
		t.Fatalf("report %+v, error %v; want one binding with one pod, nothing broken", report, err)
	}
}

func TestExplainOfNamespaceWithoutBindingsIsAListInJSON(t *testing.T) {
	w := newWorld()
	w.binding.Namespace = "other"
	report, err := w.explainer(t).Namespace(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(report); err != nil || string(got) != `{"bindings":[]}` {
		t.Errorf("JSON %s, error %v; want an empty list", got, err)
	}
}

func TestExplainOfLostGates(t *testing.T) {
	w := newWorld()
	w.pod.Spec.ReadinessGates = append(w.pod.Spec.ReadinessGates,
		corev1.PodReadinessGate{ConditionType: readiness.GateFor("gone")}, corev1.PodReadinessGate{ConditionType: "example.com/other"})
	report := w.explained(t)
	if len(report.Chains) != 2 || report.Chains[1].Cause == nil ||
		!strings.Contains(report.Chains[1].Cause.Seen, `gate of TargetGroupBinding "gone", which does not exist`) {
		t.Errorf("report %+v, want a second chain about the binding that is gone", report)
	}
}

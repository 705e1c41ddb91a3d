// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package gates

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestGateThatWaitsInVainOpens(t *testing.T) {
	withoutAdmission(t, "rival", "untyped")
	sideBySide(t, map[string]func(*testing.T){
		"binding is being deleted, and AWS fails": func(t *testing.T) {
			app := newSick("undeletable")
			app.ExplicitGate = true
			pod := deploySick(t, app)
			heal := bed.AWS.Inject(wire.Fault{Operation: "DeregisterTargets", TargetGroup: app.TargetGroup, Code: "InternalFailure"})
			defer heal()
			suite.Must(t, bed.Client.Delete(t.Context(), bed.GetBinding(t, app)))
			awaitOpened(t, app, pod.Name, "TargetGroupBindingDeleted", "Target Group Binding is deleted")
			suite.Must(t, bed.Scale(t.Context(), app, 2)) // one more that is never healthy
			bed.AwaitRolled(t, app)
			suite.Eventually(t, "the status to say why it is still there", func() error { return bed.WantReason(t, app, v1beta1.ReasonAWSError) })
			heal()
			suite.Eventually(t, "the binding to be gone", func() error { return wantNoBinding(t, app) })
			suite.Must(t, bed.WantTargets(app))
		},
		"binding is gone": func(t *testing.T) {
			app := newSick("unbound-late")
			app.ExplicitGate = true
			deploySick(t, app)
			bed.DeleteBinding(t, app)
			suite.Must(t, bed.Scale(t.Context(), app, 2))
			bed.AwaitRolled(t, app)
			for _, pod := range bed.Pods(t, app) {
				awaitOpened(t, app, pod.Name, "TargetGroupBindingDeleted", "Target Group Binding is deleted")
			}
		},
		"binding never was": func(t *testing.T) {
			app := suite.NewApp("never-bound")
			app.Replicas, app.Gated, app.PreStopSeconds = 1, false, 0
			never := readiness.GateFor("never")
			app.Template = func(template *corev1.PodTemplateSpec) {
				template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: never}}
			}
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			suite.Must(t, wantGate(t, &bed.Pods(t, app)[0], never, open("TargetGroupBindingDeleted", "Target Group Binding is deleted")))
		},
		"binding registers nodes": func(t *testing.T) {
			app := suite.NewInstanceApp("nodes-only")
			app.Replicas, app.ExplicitGate, app.PreStopSeconds = 1, true, 0
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			awaitOpened(t, app, bed.Pods(t, app)[0].Name, "TargetGroupBindingNotManaged",
				"spec.targetType is instance: nodes are registered, not pods")
		},
		"binding has another one's group": func(t *testing.T) {
			app, rival := newSick("rivalled"), newSick("rival")
			deploySick(t, app)
			rival.Change = func(b *v1beta1.TargetGroupBinding) {
				b.Spec.TargetGroupARN, b.Spec.TargetType = app.TargetGroup, ptr.To(v1beta1.TargetTypeIP)
			}
			bed.Deploy(t, rival)
			bed.AwaitRolled(t, rival)
			awaitOpened(t, rival, bed.Pods(t, rival)[0].Name, "TargetGroupBindingNotManaged",
				"spec.targetGroupARN: TargetGroupBinding rivalled/rivalled has this target group already")
			suite.Must(t, bed.WantReason(t, rival, v1beta1.ReasonNotSupported))
		},
		"binding has no type": func(t *testing.T) {
			app := newSick("untyped")
			app.ExplicitGate = true
			bed.Deploy(t, app)
			bed.AwaitRolled(t, app)
			awaitOpened(t, app, bed.Pods(t, app)[0].Name, "TargetGroupBindingNotManaged",
				"spec.targetType is not set: was the binding created while")
		},
		"Service selects other pods": func(t *testing.T) {
			app := newSick("deselected")
			pod := deploySick(t, app)
			bed.ChangeService(t, app, func(s *corev1.Service) { s.Spec.Selector["app"] = "other" })
			awaitOpened(t, app, pod.Name, "ServiceDoesNotSelectPod", `Service "deselected" does not select the pod`)
		},
		"pod has other labels": func(t *testing.T) {
			app := newSick("relabelled")
			pod := deploySick(t, app)
			suite.Change(t, bed, pod.DeepCopy(), func(p *corev1.Pod) { p.Labels["app"] = "other" })
			awaitOpened(t, app, pod.Name, "ServiceDoesNotSelectPod", `Service "relabelled" does not select the pod`)
			for _, other := range bed.NewPods(t, app, suite.UIDs([]corev1.Pod{*pod})) { // in its place, and selected
				suite.Must(t, wantGate(t, &other, app.Gate(), closed("Target.ResponseCodeMismatch", sickWords)))
			}
		},
		"no load balancer has the group": func(t *testing.T) {
			app := suite.NewApp("unattached")
			app.Replicas = 0
			bed.Deploy(t, app)
			detach(t, app)
			suite.Must(t, bed.Scale(t.Context(), app, 1))
			bed.AwaitRolled(t, app)
			awaitOpened(t, app, bed.Pods(t, app)[0].Name, "TargetGroupNotAttached",
				"The target group is attached to no load balancer, so no health check runs")
		},
	})
}

// withoutAdmission has bindings of these names created as if there were no webhook for them, until the end of the test.
func withoutAdmission(t *testing.T, names ...string) {
	t.Helper()
	mutating := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "targetgate-webhook"}}
	validating := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: mutating.ObjectMeta}
	set := func(ctx context.Context, conditions []admissionv1.MatchCondition) {
		suite.Must(t, bed.Client.Get(ctx, client.ObjectKeyFromObject(mutating), mutating))
		suite.Must(t, bed.Client.Get(ctx, client.ObjectKeyFromObject(validating), validating))
		before, checked := client.StrategicMergeFrom(mutating.DeepCopy()), client.StrategicMergeFrom(validating.DeepCopy())
		for i := range mutating.Webhooks {
			if strings.HasPrefix(mutating.Webhooks[i].Name, "mtargetgroupbinding") {
				mutating.Webhooks[i].MatchConditions = conditions
			}
		}
		validating.Webhooks[0].MatchConditions = conditions
		suite.Must(t, bed.Client.Patch(ctx, mutating, before))
		suite.Must(t, bed.Client.Patch(ctx, validating, checked))
	}
	t.Cleanup(func() { set(context.Background(), nil) })
	others := fmt.Sprintf("!(request.name in ['%s'])", strings.Join(names, "','"))
	set(t.Context(), []admissionv1.MatchCondition{{Name: "not-in-this-test", Expression: others}})
	suite.Eventually(t, "the API server to act on it", func() error {
		probe := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: names[0]}}
		probe.Spec.TargetGroupARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/none/0123456789abcdef"
		probe.Spec.ServiceRef.Name = "none"
		return bed.Client.Create(t.Context(), probe, client.DryRunAll) // which the webhook would refuse
	})
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var (
	noon    = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	morning = metav1.NewTime(noon.Add(-time.Hour))
	gate    = GateFor("web")
)

func gatedPod(conditions ...corev1.PodCondition) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "first"},
		Spec:       corev1.PodSpec{ReadinessGates: gates(gate)},
		Status:     corev1.PodStatus{Conditions: conditions},
	}
}

func TestWriterSet(t *testing.T) {
	unhealthy := Health{Status: corev1.ConditionFalse, Reason: "Target.Timeout", Message: "Request timed out"}
	healthy := Health{Status: corev1.ConditionTrue}
	containersReady := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}
	closed := corev1.PodCondition{
		Type: gate, Status: corev1.ConditionFalse, Reason: "Elb.RegistrationInProgress", LastTransitionTime: morning,
	}
	open := corev1.PodCondition{Type: gate, Status: corev1.ConditionTrue, LastTransitionTime: morning}
	tests := map[string]struct {
		twoWay    bool
		pod       *corev1.Pod
		health    Health
		wantWrite bool
		want      []corev1.PodCondition
	}{
		"first condition beside the kubelet's": {
			pod: gatedPod(containersReady), health: unhealthy, wantWrite: true,
			want: []corev1.PodCondition{{
				Type: gate, Status: corev1.ConditionFalse, Reason: "Target.Timeout", Message: "Request timed out",
				LastTransitionTime: metav1.NewTime(noon),
			}, containersReady},
		},
		"same status keeps its transition time": {
			pod: gatedPod(closed), health: unhealthy, wantWrite: true,
			want: []corev1.PodCondition{{
				Type: gate, Status: corev1.ConditionFalse, Reason: "Target.Timeout", Message: "Request timed out", LastTransitionTime: morning,
			}},
		},
		"opens": {
			pod: gatedPod(closed), health: healthy, wantWrite: true,
			want: []corev1.PodCondition{{Type: gate, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)}},
		},
		"nothing new is not written": {
			pod: gatedPod(closed), health: Health{Status: corev1.ConditionFalse, Reason: "Elb.RegistrationInProgress"},
			want: []corev1.PodCondition{closed},
		},
		"rule 3: True is for life": {
			pod: gatedPod(open), health: unhealthy, want: []corev1.PodCondition{open},
		},
		"unless users ask for both ways": {
			twoWay: true, pod: gatedPod(open), health: unhealthy, wantWrite: true,
			want: []corev1.PodCondition{{
				Type: gate, Status: corev1.ConditionFalse, Reason: "Target.Timeout", Message: "Request timed out",
				LastTransitionTime: metav1.NewTime(noon),
			}},
		},
		"both ways, open for another reason": {
			twoWay: true, pod: gatedPod(open), health: BindingDeleted(), want: []corev1.PodCondition{open},
		},
		"a pod without the gate is left alone": {
			pod:    &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-0", UID: "first"}},
			health: healthy,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(tc.pod).WithObjects(tc.pod).Build()
			writer := &Writer{Client: c.Status(), Clock: clocktesting.NewFakePassiveClock(noon), TwoWay: tc.twoWay}
			version, err := writer.Set(t.Context(), tc.pod, gate, tc.health)
			if err != nil || (version != "") != tc.wantWrite {
				t.Fatalf("Set: version %q, error %v; want wrote %v", version, err, tc.wantWrite)
			}
			var got corev1.Pod
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(tc.pod), &got); err != nil {
				t.Fatal(err)
			}
			if tc.wantWrite && got.ResourceVersion != version {
				t.Errorf("the pod has version %q, and Set says %q", got.ResourceVersion, version)
			}
			if diff := cmp.Diff(tc.want, got.Status.Conditions, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

// Rule 2: a pod that was created again under the same name is another pod. The API server refuses a patch that would
// change a UID as invalid; e2e/gates shows that it does.
func TestWriterSendsUIDAndAcceptsRefusal(t *testing.T) {
	var patch string
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, obj client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
			data, err := p.Data(obj)
			patch = string(data)
			if err != nil {
				return err
			}
			return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), obj.GetName(), field.ErrorList{
				field.Invalid(field.NewPath("metadata", "uid"), "first", "field is immutable"),
			})
		},
	}).Build()
	writer := &Writer{Client: c.Status(), Clock: clocktesting.NewFakePassiveClock(noon)}
	version, err := writer.Set(t.Context(), gatedPod(), gate, BindingDeleted())
	if version != "" || err != nil {
		t.Errorf("Set on a pod that is another now: version %q, error %v; want neither", version, err)
	}
	want := `{"metadata":{"uid":"first"},"status":{"conditions":[{"lastTransitionTime":"2026-11-20T12:00:00Z",` +
		`"message":"Target Group Binding is deleted","reason":"TargetGroupBindingDeleted","status":"True",` +
		`"type":"target-health.elbv2.k8s.aws/web"}]}}`
	if diff := cmp.Diff(want, patch); diff != "" {
		t.Errorf("patch (-want +got):\n%s", diff)
	}
}

func TestWriterOpensSeveralGatesInOnePatch(t *testing.T) {
	pod := gatedPod(corev1.PodCondition{Type: GateFor("open"), Status: corev1.ConditionTrue})
	pod.Spec.ReadinessGates = gates(gate, GateFor("api"), GateFor("open"))
	patches := 0
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithStatusSubresource(pod).WithObjects(pod).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption,
		) error {
			patches++
			return c.SubResource(name).Patch(ctx, o, p, opts...)
		},
	}).Build()
	writer := &Writer{Client: c.Status(), Clock: clocktesting.NewFakePassiveClock(noon)}
	asked := []corev1.PodConditionType{gate, GateFor("api"), GateFor("open"), GateFor("not there")}
	if version, err := writer.SetAll(t.Context(), pod, asked, BindingDeleted()); version == "" || err != nil || patches != 1 {
		t.Fatalf("version %q, error %v, %d patches; want one", version, err, patches)
	}
	var got corev1.Pod
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), &got); err != nil {
		t.Fatal(err)
	}
	for _, gate := range asked[:3] {
		if !IsOpen(&got, gate) {
			t.Errorf("gate %s is closed", gate)
		}
	}
	if len(got.Status.Conditions) != 3 || Condition(&got, GateFor("open")).Reason != "" {
		t.Errorf("conditions %+v, want nothing written but the two that were missing", got.Status.Conditions)
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/targetgate/targetgate/targets/guards"
)

const nodeGuard = "nodeGuard.enabled=true"

// guardObject converts the object of the guard of that kind.
func guardObject(t *testing.T, out any, kind string, values ...string) {
	t.Helper()
	object := objects(t, []byte(render(t, append([]string{nodeGuard}, values...)...)))[kind+" targetgate-node-guard"]
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, out, true); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
}

func TestThereIsNoNodeGuardByDefault(t *testing.T) {
	if manifest := render(t); strings.Contains(manifest, "node-guard") {
		t.Error("the default values install a node guard")
	}
}

// targetgate must find the guards, and nothing that is meant for targetgate's own pods may find them.
func TestNodeGuardIsFoundByTargetgateAndNothingElse(t *testing.T) {
	var set appsv1.DaemonSet
	values := []string{`nodeGuard.podLabels={"app.kubernetes.io/name":"targetgate","targetgate.dev/node-guard":"no"}`, "networkPolicy.enabled=true"}
	guardObject(t, &set, "DaemonSet", values...)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Labels: set.Spec.Template.Labels}}
	if !guards.Is(pod, namespace) {
		t.Errorf("targetgate takes pods with the labels %v in %s for no guards", pod.Labels, pod.Namespace)
	}
	if selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector); err != nil || !selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("the DaemonSet's selector %v does not match its pods: %v", set.Spec.Selector, err)
	}
	for name, object := range objects(t, []byte(render(t, append(values, nodeGuard)...))) {
		for _, path := range [][]string{
			{"spec", "selector"}, {"spec", "selector", "matchLabels"}, {"spec", "podSelector", "matchLabels"},
		} {
			found, _, _ := unstructured.NestedStringMap(object, path...)
			matches := len(found) > 0 && labels.SelectorFromSet(found).Matches(labels.Set(pod.Labels))
			if own := strings.HasSuffix(name, " targetgate-node-guard"); matches && !own {
				t.Errorf("%s selects guards by %v", name, found)
			}
		}
	}
}

func TestNodeGuardCanDoLittle(t *testing.T) {
	var set appsv1.DaemonSet
	guardObject(t, &set, "DaemonSet", `serviceAccount.annotations={"eks.amazonaws.com/role-arn":"arn"}`)
	spec := set.Spec.Template.Spec
	context := spec.Containers[0].SecurityContext
	if !*context.ReadOnlyRootFilesystem || *context.AllowPrivilegeEscalation || !*spec.SecurityContext.RunAsNonRoot {
		t.Errorf("pod %+v, container %+v: want no root, and nothing writable", spec.SecurityContext, context)
	}
	if spec.HostNetwork || spec.HostPID || spec.HostIPC || len(spec.Volumes) > 0 {
		t.Error("it shares something with the host, or mounts a volume")
	}
	var account corev1.ServiceAccount
	guardObject(t, &account, "ServiceAccount", `serviceAccount.annotations={"eks.amazonaws.com/role-arn":"arn"}`)
	if spec.ServiceAccountName != account.Name || account.Name == "targetgate" || len(account.Annotations) > 0 {
		t.Errorf("service account %q with annotations %v, want one of its own, without a role in AWS", spec.ServiceAccountName, account.Annotations)
	}
	var role rbacv1.Role
	guardObject(t, &role, "Role")
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}
	if diff := cmp.Diff(want, role.Rules); diff != "" || role.Namespace != namespace {
		t.Errorf("rules in %s (-want +got):\n%s", role.Namespace, diff)
	}
	var binding rbacv1.RoleBinding
	guardObject(t, &binding, "RoleBinding")
	subject := rbacv1.Subject{Kind: "ServiceAccount", Name: account.Name, Namespace: namespace}
	if !slices.Equal(binding.Subjects, []rbacv1.Subject{subject}) || binding.RoleRef.Name != role.Name || binding.RoleRef.Kind != "Role" {
		t.Errorf("role %+v is bound to %+v, want %+v alone", binding.RoleRef, binding.Subjects, subject)
	}
}

// A guard that is killed before its longest wait is over has kept its node in vain.
func TestNodeGuardLivesAsLongAsItWaits(t *testing.T) {
	for values, want := range map[string]time.Duration{"": 6 * time.Minute, "nodeGuard.longestWaitSeconds=1000000": 1000000 * time.Second} {
		var set appsv1.DaemonSet
		guardObject(t, &set, "DaemonSet", strings.Fields(values)...)
		spec := set.Spec.Template.Spec
		wait, err := time.ParseDuration(strings.TrimPrefix(spec.Containers[0].Args[1], "--longest-wait="))
		if err != nil || wait != want || spec.Containers[0].Args[0] != "guard" {
			t.Errorf("arguments %q, want guard and a longest wait of %s: %v", spec.Containers[0].Args, want, err)
		}
		left := time.Duration(*spec.TerminationGracePeriodSeconds)*time.Second - wait
		if left < 10*time.Second || left > 30*time.Second {
			t.Errorf("the grace period is %s longer than the longest wait, want some seconds", left)
		}
	}
}

// Karpenter waits for pods that do not tolerate its taint, and evicts critical ones last. The DaemonSet's controller makes a new pod
// where the taint of a node that goes is tolerated.
func TestNodeGuardIsEvictedFromNodesThatGo(t *testing.T) {
	var set appsv1.DaemonSet
	guardObject(t, &set, "DaemonSet", `nodeGuard.tolerations=[{"key":"gpu","operator":"Exists"},{"operator":"Exists","effect":"NoExecute"}]`)
	spec := set.Spec.Template.Spec
	for _, taint := range []corev1.Taint{
		{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}, {Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule},
	} {
		for _, toleration := range spec.Tolerations {
			if toleration.ToleratesTaint(testr.New(t), &taint, true) {
				t.Errorf("%+v tolerates %s", toleration, taint.Key)
			}
		}
	}
	if len(spec.Tolerations) != 2 || spec.PriorityClassName != "" {
		t.Errorf("tolerations %+v, priority class %q", spec.Tolerations, spec.PriorityClassName)
	}
	if set.Spec.Template.Annotations["cluster-autoscaler.kubernetes.io/enable-ds-eviction"] != "true" {
		t.Error("the cluster autoscaler may not evict it")
	}
}

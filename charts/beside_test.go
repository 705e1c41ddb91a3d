// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/pods"
)

const beside = `beside.enabled=true`

// That API servers take the policy, and whom it refuses, is a test of package e2e/chart.
func TestPolicyKeepsTheIncumbentFromAddingItsFinalizer(t *testing.T) {
	all := objects(t, []byte(render(t, beside, `beside.incumbentUser="system:serviceaccount:lb:lbc"`)))
	spec := all["ValidatingAdmissionPolicy targetgate-beside"]["spec"]
	want := map[string]any{
		"failurePolicy": "Fail",
		"matchConstraints": map[string]any{
			"namespaceSelector": map[string]any{
				"matchLabels": map[string]any{ownership.RegisterLabel: ownership.Enabled},
			},
			"resourceRules": []any{map[string]any{
				"apiGroups": []any{v1beta1.GroupVersion.Group}, "apiVersions": []any{"*"},
				"operations": []any{"UPDATE"}, "resources": []any{"targetgroupbindings"},
			}},
		},
		"matchConditions": []any{
			map[string]any{"name": "incumbent", "expression": "request.userInfo.username == 'system:serviceaccount:lb:lbc'"},
			map[string]any{"name": "supported", "expression": "object.?spec.?targetType.hasValue() && object.?spec.?targetGroupARN.orValue('') != '' " +
				"&& !(object.?spec.?targetGroupProtocol.orValue('') in ['QUIC', 'TCP_QUIC'])"},
		},
		"validations": []any{map[string]any{
			"expression": "!('" + v1beta1.Finalizer + "' in object.metadata.?finalizers.orValue([])) " +
				"|| '" + v1beta1.Finalizer + "' in oldObject.metadata.?finalizers.orValue([])",
			"message": "targetgate registers the targets of this binding",
		}},
	}
	if diff := cmp.Diff(want, spec); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	binding := all["ValidatingAdmissionPolicyBinding targetgate-beside"]["spec"]
	if diff := cmp.Diff(map[string]any{"policyName": "targetgate-beside", "validationActions": []any{"Deny"}}, binding); diff != "" {
		t.Errorf("its binding (-want +got):\n%s", diff)
	}
}

// Provisioning by the incumbent must not depend on us, and its namespaces are none of ours.
func TestWebhooksBesideTheIncumbent(t *testing.T) {
	type hook struct {
		path      string
		selectors string
	}
	all := objects(t, []byte(render(t, beside)))
	got := map[string]hook{}
	hooks, _, err := unstructured.NestedSlice(all["MutatingWebhookConfiguration targetgate-webhook"], "webhooks")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range hooks {
		h := each.(map[string]any)
		path, _, _ := unstructured.NestedString(h, "clientConfig", "service", "path")
		expressions, _, _ := unstructured.NestedSlice(h, "namespaceSelector", "matchExpressions")
		var selectors []string
		for _, e := range expressions {
			e := e.(map[string]any)
			selectors = append(selectors, e["key"].(string)+" "+e["operator"].(string)+" "+e["values"].([]any)[0].(string))
		}
		got[h["name"].(string)] = hook{path, strings.Join(selectors, ", ")}
	}
	want := map[string]hook{
		"mpod.elbv2.k8s.aws":      {pods.Path, "elbv2.k8s.aws/pod-readiness-gate-inject In enabled, " + ownership.RegisterLabel + " In enabled"},
		"mprotect.targetgate.dev": {pods.ProtectPath, ownership.ProtectLabel + " In enabled, " + ownership.RegisterLabel + " NotIn enabled"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(hook{})); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
	// It is there, as targetgate tells if it is missing.
	if hooks := all["ValidatingWebhookConfiguration targetgate-webhook"]["webhooks"]; len(hooks.([]any)) != 0 {
		t.Errorf("validating webhooks %v, want none", hooks)
	}
}

func TestLeaseBesideTheIncumbentIsItsOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		values []string
		want   string
	}{
		"alone":           {want: "aws-load-balancer-controller-leader"},
		"beside":          {values: []string{beside}, want: ownership.BesideLease},
		"beside, another": {values: []string{beside, `leaderElectionID="a"`}, want: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			if want := "resourceNames: [" + tc.want + "]"; !hasLine(render(t, tc.values...), want) {
				t.Errorf("there is no line %q: targetgate may not take its lease", want)
			}
		})
	}
}

func TestUninstallGivesBindingsBackFirst(t *testing.T) {
	all := objects(t, []byte(render(t, beside, `leaderElectionID="mine"`, `networkPolicy.enabled=true`)))
	for _, name := range []string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "NetworkPolicy", "Job"} {
		object := unstructured.Unstructured{Object: all[name+" targetgate-give-back"]}
		if object.Object == nil || object.GetAnnotations()["helm.sh/hook"] != "pre-delete" {
			t.Errorf("%s is no hook before the uninstall", name)
			continue
		}
		if early := object.GetAnnotations()["helm.sh/hook-weight"] == "-1"; early == (name == "Job") {
			t.Errorf("%s comes at the wrong time", name)
		}
		goes := "before-hook-creation,hook-succeeded,hook-failed"
		if name == "Job" { // whose log says what is left
			goes = "before-hook-creation,hook-succeeded"
		}
		if got := object.GetAnnotations()["helm.sh/hook-delete-policy"]; got != goes {
			t.Errorf("%s goes with %s, want %s", name, got, goes)
		}
		if object.GetLabels()["app.kubernetes.io/name"] == "targetgate" {
			t.Errorf("%s is taken for a part of targetgate", name)
		}
	}
	containers, _, _ := unstructured.NestedSlice(all["Job targetgate-give-back"], "spec", "template", "spec", "containers")
	args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	want := []string{"give-back", "--timeout=4m", "--leader-election-id=mine", "--leader-election-namespace=" + namespace}
	if diff := cmp.Diff(want, args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	rules := []any{map[string]any{
		"apiGroups": []any{"coordination.k8s.io"}, "resources": []any{"leases"}, "resourceNames": []any{"mine"}, "verbs": []any{"get"},
	}}
	if diff := cmp.Diff(rules, all["Role targetgate-give-back"]["rules"]); diff != "" {
		t.Errorf("rights in the release's namespace (-want +got):\n%s", diff)
	}
}

// A job without rights would fail, and keep the release from being uninstalled.
func TestNoJobGivesBackWithoutRights(t *testing.T) {
	for name := range objects(t, []byte(render(t, beside, `rbac.create=false`))) {
		if strings.Contains(name, "give-back") {
			t.Errorf("%s is rendered", name)
		}
	}
}

func TestNotesSayWhoRegisters(t *testing.T) {
	const (
		register = "kubectl label namespace NAMESPACE targetgate.dev/register=enabled"
		itself   = "`helm uninstall` first gives all bindings back"
		byHand   = "kubectl targetgate give-back --leader-election-id=targetgate-leader --leader-election-namespace=" + namespace
	)
	for name, tc := range map[string]struct {
		values      []string
		says, omits []string
	}{
		"alone":                  {says: []string{"must not manage the same bindings: see MOVING.md", "delete the TargetGroupBindings, and wait"}, omits: []string{register, itself, byHand}},
		"with provision":         {values: []string{provision}, says: []string{"delete the Ingresses of its class, then the TargetGroupBindings"}},
		"beside":                 {values: []string{beside}, says: []string{register, itself, "BESIDE.md"}, omits: []string{byHand, "MOVING.md"}},
		"beside, without rights": {values: []string{beside, `rbac.create=false`}, says: []string{register, byHand}, omits: []string{itself}},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"install", release, chart, "--namespace", namespace, "--dry-run=client", "--set-json", named}
			for _, value := range tc.values {
				args = append(args, "--set-json", value)
			}
			out, stderr, err := helm(t, args...)
			if err != nil {
				t.Fatalf("helm install --dry-run: %v\n%s", err, stderr)
			}
			_, notes, _ := strings.Cut(out, "NOTES:")
			for _, want := range tc.says {
				if !strings.Contains(notes, want) {
					t.Errorf("the notes do not say %q:\n%s", want, notes)
				}
			}
			for _, unwanted := range tc.omits {
				if strings.Contains(notes, unwanted) {
					t.Errorf("the notes say %q:\n%s", unwanted, notes)
				}
			}
		})
	}
}

// The namespace may deny all traffic, and have a quota that refuses pods without resources.
func TestJobBeforeAnUninstallMayRunAndAskTheAPIServer(t *testing.T) {
	all := objects(t, []byte(render(t, beside, `networkPolicy={"enabled":true,"extraEgress":[{"ports":[{"port":8443}]}]}`)))
	var job batchv1.Job
	var policy networkingv1.NetworkPolicy
	for name, out := range map[string]any{"Job targetgate-give-back": &job, "NetworkPolicy targetgate-give-back": &policy} {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(all[name], out, true); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	pod := job.Spec.Template
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("the policy for %v is not the job's, with labels %v: %v", selector, pod.Labels, err)
	}
	var ports []int
	for _, rule := range policy.Spec.Egress {
		for _, port := range rule.Ports {
			ports = append(ports, port.Port.IntValue())
		}
	}
	if diff := cmp.Diff([]int{443, 6443, 8443}, ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	resources := pod.Spec.Containers[0].Resources
	if resources.Limits.Memory().IsZero() || resources.Requests.Memory().IsZero() || resources.Requests.Cpu().IsZero() {
		t.Errorf("resources %+v: a quota may refuse the pod", resources)
	}
}

func TestNothingOfBesideIsRenderedAlone(t *testing.T) {
	for name := range objects(t, []byte(render(t))) {
		if strings.Contains(name, "beside") || strings.Contains(name, "give-back") {
			t.Errorf("%s is rendered", name)
		}
	}
}

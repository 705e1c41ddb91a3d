// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/targetgate/targetgate/targets/consent"
)

func deployment(t *testing.T, values ...string) *appsv1.Deployment {
	t.Helper()
	object := objects(t, []byte(render(t, values...)))["Deployment targetgate"]
	out := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, out, true); err != nil {
		t.Fatal(err)
	}
	return out
}

// That pod security `restricted` admits the pod is a test of package e2e/chart; here is what that does not ask for.
func TestPodCanDoLittle(t *testing.T) {
	tests := map[string][]string{
		"default":      nil,
		"cert-manager": {certManager},
		"given":        {`webhookTLS={"caCert":"a","cert":"b","key":"c"}`},
	}
	for name, values := range tests {
		t.Run(name, func(t *testing.T) {
			spec := deployment(t, values...).Spec.Template.Spec
			container := spec.Containers[0]
			context := container.SecurityContext
			if context.ReadOnlyRootFilesystem == nil || !*context.ReadOnlyRootFilesystem {
				t.Error("the root file system is writable")
			}
			if diff := cmp.Diff(&corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, context.Capabilities); diff != "" {
				t.Errorf("capabilities (-want +got):\n%s", diff)
			}
			for _, mount := range container.VolumeMounts {
				if !mount.ReadOnly {
					t.Errorf("%s is writable", mount.MountPath)
				}
			}
			if spec.HostNetwork || spec.HostPID || spec.HostIPC {
				t.Error("it shares a namespace with the host")
			}
		})
	}
}

func TestPodSurvivesNodesAndRollouts(t *testing.T) {
	d := deployment(t)
	spec := d.Spec.Template.Spec
	if *d.Spec.Replicas != 2 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
		t.Errorf("%d replicas, %s unavailable in a rollout, want 2 and 0", *d.Spec.Replicas, d.Spec.Strategy.RollingUpdate.MaxUnavailable)
	}
	if d.Spec.Template.Labels["app.kubernetes.io/name"] != "targetgate" {
		t.Error("targetgate would be asked about its own pods")
	}
	var keys []string
	for _, term := range spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		keys = append(keys, term.PodAffinityTerm.TopologyKey)
		for label, value := range term.PodAffinityTerm.LabelSelector.MatchLabels {
			if d.Spec.Template.Labels[label] != value {
				t.Errorf("the replicas do not keep away from each other: %s=%s is not their label", label, value)
			}
		}
	}
	if diff := cmp.Diff([]string{"kubernetes.io/hostname", "topology.kubernetes.io/zone"}, keys); diff != "" {
		t.Errorf("anti-affinity (-want +got):\n%s", diff)
	}
	container := spec.Containers[0]
	if container.LivenessProbe == nil || container.ReadinessProbe == nil || container.StartupProbe == nil {
		t.Error("a probe is missing")
	}
}

func TestPodNamesItselfAndKeepsItsName(t *testing.T) {
	spec := deployment(t, `podLabels={"app.kubernetes.io/name":"other"}`).Spec.Template
	if spec.Labels["app.kubernetes.io/name"] != "targetgate" {
		t.Errorf("labels %v: targetgate would be asked about its own pods", spec.Labels)
	}
	got := map[string]string{}
	for _, variable := range spec.Spec.Containers[0].Env {
		if field := variable.ValueFrom.FieldRef; field != nil {
			got[variable.Name] = field.FieldPath
		}
	}
	want := map[string]string{"POD_NAME": "metadata.name", "POD_UID": "metadata.uid", "POD_NAMESPACE": "metadata.namespace"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

// A service account that is there may lack the Secrets. The other pods have accounts of their own.
func TestAllPodsPullTheImage(t *testing.T) {
	all := objects(t, []byte(render(t, nodeGuard, beside, `imagePullSecrets=[{"name":"a"}]`,
		`serviceAccount={"create":false,"name":"theirs","imagePullSecrets":[{"name":"b"},{"name":"a"}]}`)))
	for _, name := range []string{"Deployment targetgate", "DaemonSet targetgate-node-guard", "Job targetgate-give-back"} {
		got, _, err := unstructured.NestedSlice(all[name], "spec", "template", "spec", "imagePullSecrets")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}, got); diff != "" {
			t.Errorf("Secrets of %s (-want +got):\n%s", name, diff)
		}
	}
}

// Without a limit the value would be all memory of the node.
func TestGarbageCollectorKnowsTheMemoryLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		values []string
		want   string
	}{
		"by default":   {want: "limits.memory"},
		"no limit":     {values: []string{`resources={"limits":null}`}},
		"set by hand":  {values: []string{`env={"GOMEMLIMIT":"1GiB"}`}, want: "1GiB"},
		"no resources": {values: []string{`resources=null`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, variable := range deployment(t, tc.values...).Spec.Template.Spec.Containers[0].Env {
				if variable.Name != "GOMEMLIMIT" {
					continue
				}
				if variable.ValueFrom != nil {
					got = append(got, variable.ValueFrom.ResourceFieldRef.Resource)
				} else {
					got = append(got, variable.Value)
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("GOMEMLIMIT is %q, want %q", got, tc.want)
			}
		})
	}
}

// With certificates from elsewhere targetgate makes none, and needs no permission to: it only reads which pods get gates.
func TestCertificatesFromElsewhereNeedNoPermission(t *testing.T) {
	tests := map[string][]string{
		"cert-manager": {certManager},
		"given":        {`webhookTLS={"caCert":"a","cert":"b","key":"c"}`},
	}
	for name, values := range tests {
		t.Run(name, func(t *testing.T) {
			manifest := render(t, values...)
			for _, never := range []string{"validatingwebhookconfigurations]", "verbs: [get, list, patch, watch]", "resources: [secrets]", "--webhook-ca"} {
				if strings.Contains(manifest, never) {
					t.Errorf("%q is still there", never)
				}
			}
			if !hasLine(manifest, `- "--webhook-cert-dir=/etc/targetgate/webhook"`) ||
				!hasLine(manifest, `- {name: webhook-tls, mountPath: /etc/targetgate/webhook, readOnly: true}`) ||
				!hasLine(manifest, `secret: {secretName: targetgate-webhook-tls}`) {
				t.Error("targetgate would not find the certificate")
			}
		})
	}
}

// What is trusted is the CA of the chart's own issuer, or what an issuer of the user's says is the certificate's CA.
func TestCertManagerIsTrusted(t *testing.T) {
	tests := map[string]struct {
		values []string
		want   string
	}{
		"the chart's issuer": {[]string{certManager}, "targetgate-webhook-ca"},
		"another issuer":     {[]string{certManager, `certManager.issuerRef={"name":"ca"}`}, "targetgate-webhook"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			all := objects(t, []byte(render(t, tc.values...)))
			for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
				metadata := all[kind+" targetgate-webhook"]["metadata"].(map[string]any)
				want := map[string]any{"cert-manager.io/inject-ca-from": namespace + "/" + tc.want}
				if diff := cmp.Diff(want, metadata["annotations"]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", kind, diff)
				}
			}
			if all["Certificate "+tc.want] == nil {
				t.Errorf("there is no Certificate %s", tc.want)
			}
			certificate := all["Certificate targetgate-webhook"]["spec"].(map[string]any)
			if certificate["secretName"] != "targetgate-webhook-tls" {
				t.Errorf("secretName is %v", certificate["secretName"])
			}
		})
	}
}

// noValue are the flags that have no value of their own: extraArgs takes them.
var noValue = map[string]string{
	"enable-leader-election":    "two replicas need it",
	"leader-election-namespace": "the release's own",
	"webhook-cert-file":         "the chart mounts the Secret",
	"webhook-key-file":          "the chart mounts the Secret",
	"kube-ca-pem-filepath":      "needs a file from extraVolumes anyway",
	"kube-client-names":         "goes with kube-ca-pem-filepath",
	"health-probe-bind-addr":    "the probes are the chart's",
	"kubeconfig":                "a pod has a service account",
	"aws-vpc-tags":              "not supported",
	"ingress-class":             "its value may be empty, so it stands apart in the template",
}

// Every flag is in a template, and every flag in a template is one. Those of plan and orphans (their own files) and of the other
// commands (folder command) are none of the service's.
func TestChartKnowsTheFlags(t *testing.T) {
	declared := matches(t, "../cmd/targetgate/*.go", `(?s)Var\(\s*&[\w.]+,\s*"([a-z-]+)"`)
	for _, command := range []string{"plan", "orphans"} {
		for flag := range matches(t, "../cmd/targetgate/"+command+"*.go", `Var\(\s*&[\w.]+,\s*"([a-z-]+)"`) {
			delete(declared, flag)
		}
	}
	used := matches(t, filepath.Join(chart, "templates/_helpers.tpl"), `\(list "([a-z-]+)" `)
	for flag := range declared {
		if !used[flag] && noValue[flag] == "" {
			t.Errorf("--%s has neither a value nor a reason to have none", flag)
		}
	}
	for flag := range used {
		if !declared[flag] {
			t.Errorf("the chart sets --%s, which targetgate does not know", flag)
		}
	}
	for flag := range noValue {
		if !declared[flag] || used[flag] {
			t.Errorf("--%s needs no excuse", flag)
		}
	}
}

func matches(t *testing.T, pattern, expression string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", pattern, err)
	}
	out := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(string(content), -1) {
			out[match[1]] = true
		}
	}
	return out
}

func TestLintHasNothingToSay(t *testing.T) {
	for name, values := range map[string][]string{
		"default":    {named},
		"everything": {named, certManager, beside, serviceMonitor, "prometheusRule.enabled=true", "dashboard.enabled=true", "networkPolicy.enabled=true", "autoscaling.enabled=true", nodeGuard},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"lint", "--strict", chart}
			for _, value := range values {
				args = append(args, "--set-json", value)
			}
			stdout, stderr, err := helm(t, args...)
			if err != nil || strings.Contains(stdout, "[WARNING]") {
				t.Errorf("helm lint: %v\n%s%s", err, stdout, stderr)
			}
		})
	}
}

func TestNotesTellWhatIsIgnored(t *testing.T) {
	args := []string{"install", release, chart, "--namespace", namespace, "--dry-run=client", "--set-json", named}
	notes, stderr, err := helm(t, append(args, "--set", "enableServiceMutatorWebhook=true,enableEndpointSlices=false")...)
	if err != nil {
		t.Fatalf("helm install --dry-run: %v\n%s", err, stderr)
	}
	if want := "These values of aws-load-balancer-controller's chart are ignored: enableEndpointSlices, enableServiceMutatorWebhook."; !strings.Contains(notes, want) {
		t.Errorf("the notes do not say %q", want)
	}
}

// A list of roles is what targetgate reads, and an empty one allows none; only without one is any role allowed.
func TestRoleAllowlistIsMounted(t *testing.T) {
	const flag = "--role-allowlist=/etc/targetgate/roles/roles.yaml"
	tests := map[string]struct {
		values []string
		want   string // of the list, empty when there is none
	}{
		"default":   {},
		"none":      {[]string{`roleAllowlist={}`}, "{}\n"},
		"some":      {[]string{`roleAllowlist={"shop":["arn:aws:iam::*:role/a"],"*":[]}`}, "'*': []\nshop:\n- arn:aws:iam::*:role/a\n"},
		"with more": {[]string{`roleAllowlist={}`, `extraVolumes=[{"name":"a","emptyDir":{}}]`, `extraVolumeMounts=[{"name":"a","mountPath":"/a","readOnly":true}]`}, "{}\n"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := deployment(t, tc.values...).Spec.Template.Spec
			has := slices.Contains(pod.Containers[0].Args, flag)
			at := slices.IndexFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/targetgate/roles" })
			if has != (tc.want != "") || has != (at >= 0) {
				t.Fatalf("flag %t, mount %t, want both: %t", has, at >= 0, tc.want != "")
			}
			if !has {
				return
			}
			object := objects(t, []byte(render(t, tc.values...)))["ConfigMap "+"targetgate-role-allowlist"]
			got, _, _ := unstructured.NestedString(object, "data", "roles.yaml")
			if got != tc.want {
				t.Errorf("list %q, want %q", got, tc.want)
			}
			if _, err := consent.ParseRoles([]byte(got)); err != nil {
				t.Errorf("targetgate does not take the list: %v", err)
			}
			volume := pod.Volumes[slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "role-allowlist" })]
			if volume.ConfigMap == nil || volume.ConfigMap.Name != "targetgate-role-allowlist" || pod.Containers[0].VolumeMounts[at].SubPath != "" {
				t.Errorf("volume %+v, mount %+v: changes would not arrive", volume, pod.Containers[0].VolumeMounts[at])
			}
		})
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// theirs are values of aws-load-balancer-controller's chart that say how load balancers are made.
var theirs = []string{
	`ingressClass="edge"`, `ingressClassConfig={"default":true}`, `defaultTargetType="ip"`, `defaultTags={"team":"web","a":"b"}`,
	`externalManagedTags=["cost","owner"]`, `enableBackendSecurityGroup=false`, `enableWaf=false`, `enableWafv2=false`, `ingressMaxConcurrentReconciles=10`,
	`certDiscovery={"allowedCertificateAuthorityARNs":["arn:a","arn:b"]}`, `tolerateNonExistentBackendService=null`,
	`ingressClassParams={"spec":{"scheme":"internal"}}`, `disableIngressClassAnnotation=true`,
}

func TestWithoutProvisionNothingOfItIsInstalled(t *testing.T) {
	if diff := cmp.Diff(render(t), render(t, theirs...)); diff != "" {
		t.Errorf("values that should have no effect have one (-without +with):\n%s", diff)
	}
	for name := range objects(t, []byte(render(t))) {
		if strings.Contains(name, "IngressClass") || strings.Contains(name, "provision") {
			t.Errorf("there is %s", name)
		}
	}
}

func TestChartProvisionsAsConfigDoes(t *testing.T) {
	want := map[string]map[string]any{}
	for _, file := range []string{"role.yaml", "ingressclass.yaml", "webhook/manifests.yaml", "crd/elbv2.k8s.aws_ingressclassparams.yaml"} {
		manifest, err := os.ReadFile("../config/provision/" + file)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(want, objects(t, manifest))
	}
	got := objects(t, []byte(render(t, provision)))
	for name := range objects(t, []byte(render(t))) {
		if want[name] == nil {
			delete(got, name)
		}
	}
	if diff := cmp.Diff(bare(want), bare(got)); diff != "" {
		t.Errorf("what provision adds (-config +chart):\n%s", diff)
	}
}

// An Ingress whose class is gone may be nobody's, and lose its load balancer while targetgate still runs.
func TestUninstallKeepsClasses(t *testing.T) {
	all := objects(t, []byte(render(t, provision, `ingressClassParams={"spec":{"scheme":"internal"}}`)))
	for _, name := range []string{
		"CustomResourceDefinition ingressclassparams.elbv2.k8s.aws", "IngressClass alb", "IngressClassParams alb",
	} {
		if kept := (&unstructured.Unstructured{Object: all[name]}).GetAnnotations()[keep]; kept != "keep" {
			t.Errorf("Helm would delete %s", name)
		}
	}
}

func TestFlagsOfProvision(t *testing.T) {
	added := func(values ...string) (flags []string) {
		before := argsOf(t)
		for _, flag := range argsOf(t, append(values, provision)...) {
			if !slices.Contains(before, flag) {
				flags = append(flags, flag)
			}
		}
		return flags
	}
	if diff := cmp.Diff([]string{"--provision=true", "--ingress-class=alb"}, added()); diff != "" {
		t.Errorf("flags by default (-want +got):\n%s", diff)
	}
	want := []string{
		"--provision=true", "--default-target-type=ip", "--default-tags=a=b,team=web", "--external-managed-tags=cost,owner",
		"--enable-backend-security-group=false", "--allowed-certificate-authority-arns=arn:a,arn:b", "--enable-waf=false",
		"--enable-wafv2=false",
		"--disable-ingress-class-annotation=true", "--ingress-max-concurrent-reconciles=10", "--ingress-class=edge",
	}
	if diff := cmp.Diff(want, added(theirs...)); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	if flags := added(`ingressClass=""`); !slices.Contains(flags, "--ingress-class=") {
		t.Errorf("flags %q, want an empty class, by which Ingresses without one are ours", flags)
	}
}

// argsOf are the arguments of the container.
func argsOf(t *testing.T, values ...string) []string {
	t.Helper()
	deployment := objects(t, []byte(render(t, values...)))["Deployment targetgate"]
	containers, _, err := unstructured.NestedSlice(deployment, "spec", "template", "spec", "containers")
	if err != nil {
		t.Fatal(err)
	}
	args, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	if err != nil {
		t.Fatal(err)
	}
	return args
}

func TestIngressClass(t *testing.T) {
	for name, tc := range map[string]struct {
		values        []string
		class, params string // their names
		refers        string // the name that the class refers to
		isDefault     bool
	}{
		"as it comes":              {class: "alb"},
		"not created":              {values: []string{"createIngressClassResource=false", `ingressClassParams={"spec":{"scheme":"internal"}}`}},
		"of no name":               {values: []string{`ingressClass=""`}},
		"with a spec":              {values: theirs, class: "edge", params: "edge", refers: "edge", isDefault: true},
		"with params of the users": {values: []string{`ingressClassParams={"create":false,"name":"own"}`}, class: "alb", refers: "own"},
		"with params of a name":    {values: []string{`ingressClassParams={"name":"own"}`}, class: "alb", params: "own", refers: "own"},
	} {
		t.Run(name, func(t *testing.T) {
			var class, params, refers string
			isDefault := false
			for _, object := range objects(t, []byte(render(t, append(tc.values, provision)...))) {
				u := unstructured.Unstructured{Object: object}
				switch u.GetKind() {
				case "IngressClass":
					class = u.GetName()
					refers, _, _ = unstructured.NestedString(object, "spec", "parameters", "name")
					isDefault = u.GetAnnotations()["ingressclass.kubernetes.io/is-default-class"] == "true"
				case "IngressClassParams":
					params = u.GetName()
				}
			}
			if class != tc.class || params != tc.params || refers != tc.refers || isDefault != tc.isDefault {
				t.Errorf("class %q, params %q, the class refers to %q, default %v", class, params, refers, isDefault)
			}
		})
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Helm, Argo CD and Flux do not delete what has these annotations.
const (
	keep     = "helm.sh/resource-policy"
	argoKeep = "argocd.argoproj.io/sync-options"
	fluxKeep = "kustomize.toolkit.fluxcd.io/prune"

	argoKept = "Delete=false,Prune=false"
)

// kustomization returns the objects of config/kustomization.yaml, which has no more than resources, so that no second
// program is needed to read it.
func kustomization(t *testing.T) map[string]map[string]any {
	t.Helper()
	content, err := os.ReadFile("../config/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		APIVersion, Kind string
		Resources        []string
	}
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, path := range file.Resources {
		manifest, err := os.ReadFile(filepath.Join("../config", path))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(out, objects(t, manifest))
	}
	return out
}

// bare are the objects without labels of their own and without what Helm, Argo CD and Flux go by.
func bare(all map[string]map[string]any) map[string]map[string]any {
	for _, object := range all {
		u := unstructured.Unstructured{Object: object}
		u.SetLabels(nil)
		annotations := u.GetAnnotations()
		for _, tool := range []string{keep, argoKeep, fluxKeep} {
			delete(annotations, tool)
		}
		if len(annotations) == 0 {
			annotations = nil
		}
		u.SetAnnotations(annotations)
	}
	return all
}

// The roles, webhook configurations and the CRD in config/ are made from the markers in the code. The rest of config/ is
// for those who install without Helm.
func TestChartInstallsWhatConfigDoes(t *testing.T) {
	want := bare(kustomization(t))
	delete(want, "Namespace "+namespace) // helm --create-namespace
	setImage(t, want["Deployment targetgate"], "", "registry.example/targetgate:v0.1.0")
	manifest := render(t, `clusterName="$(CLUSTER_NAME)"`, `env={"CLUSTER_NAME":"my-cluster"}`)
	got := bare(objects(t, []byte(manifest)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the chart does not install what config/ does (-config +chart):\n%s", diff)
	}
}

// setImage puts an image in place of one that has to be there.
func setImage(t *testing.T, deployment map[string]any, old, image string) {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(deployment, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("%d containers, %v", len(containers), err)
	}
	container := containers[0].(map[string]any)
	if got, found := container["image"]; !found || got != old {
		t.Errorf("the image is %v, want %q", got, old)
	}
	container["image"] = image
	if err := unstructured.SetNestedSlice(deployment, containers, "spec", "template", "spec", "containers"); err != nil {
		t.Fatal(err)
	}
}

func TestChartSharesGroupsAsConfigDoes(t *testing.T) {
	manifest, err := os.ReadFile("../config/rbac/shared-groups.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := bare(objects(t, manifest))
	got := bare(objects(t, []byte(render(t, "sharedTargetGroups=true"))))
	maps.DeleteFunc(got, func(name string, _ map[string]any) bool { return want[name] == nil })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shared groups (-config +chart):\n%s", diff)
	}
}

// The namespace is none of the chart's, and would take all that is in it.
func TestGitOpsToolsKeepWhatHelmKeeps(t *testing.T) {
	want := map[string]bool{"Namespace " + namespace: true}
	for name, object := range objects(t, []byte(render(t, provision))) {
		if (&unstructured.Unstructured{Object: object}).GetAnnotations()[keep] == "keep" {
			want[name] = true
		}
	}
	all := kustomization(t)
	for _, file := range []string{"ingressclass.yaml", "crd/elbv2.k8s.aws_ingressclassparams.yaml"} {
		manifest, err := os.ReadFile("../config/provision/" + file)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(all, objects(t, manifest))
	}
	got := map[string]bool{}
	for name, object := range all {
		annotations := (&unstructured.Unstructured{Object: object}).GetAnnotations()
		if annotations[argoKeep] == argoKept && annotations[fluxKeep] == "disabled" {
			got[name] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kept (-by Helm +by Argo CD and Flux):\n%s", diff)
	}
}

// Argo CD reads Helm's annotation when the Application is deleted, but not when a value takes the object away.
func TestArgoCDKeepsWhatHelmKeeps(t *testing.T) {
	for name, object := range objects(t, []byte(render(t, provision, `ingressClassParams={"spec":{"scheme":"internal"}}`))) {
		annotations := (&unstructured.Unstructured{Object: object}).GetAnnotations()
		if byHelm, byArgo := annotations[keep] == "keep", annotations[argoKeep] == argoKept; byHelm != byArgo {
			t.Errorf("%s: kept by Helm: %t, by Argo CD: %t", name, byHelm, byArgo)
		}
	}
}

func TestCRDIsKeptOnUninstall(t *testing.T) {
	const crd = "CustomResourceDefinition targetgroupbindings.elbv2.k8s.aws"
	object := unstructured.Unstructured{Object: objects(t, []byte(render(t)))[crd]}
	if object.GetAnnotations()[keep] != "keep" {
		t.Errorf("annotations %v: Helm would delete the CRD, and with it every binding", object.GetAnnotations())
	}
	if _, err := os.Stat(filepath.Join(chart, "crds")); err == nil {
		t.Error("Helm never upgrades what is in crds/")
	}
}

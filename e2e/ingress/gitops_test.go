//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/waf"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// kustomize builds a folder of testdata/gitops, with other words in place of some: old, new, old, new ...
func kustomize(t *testing.T, folder string, words ...string) []*unstructured.Unstructured {
	t.Helper()
	var warned strings.Builder
	command := exec.CommandContext(t.Context(), suite.Kubectl(), "kustomize", filepath.Join("testdata/gitops", folder))
	command.Stderr = &warned
	out, err := command.Output()
	if err != nil || warned.Len() > 0 { // what is deprecated is not shipped
		t.Fatalf("building %s: %v\n%s", folder, err, warned.String())
	}
	objects, err := cluster.ParseManifest([]byte(strings.NewReplacer(words...).Replace(string(out))))
	suite.Must(t, err)
	return objects
}

const (
	argo       = "argocd-controller"
	trackingID = "argocd.argoproj.io/tracking-id"
	syncWave   = "argocd.argoproj.io/sync-wave"
)

// applyAll applies the objects server-side, as Argo CD does, and returns those that this has changed. Argo CD takes fields from others by
// force. This does it only when told so: if somebody has changed a field, the test fails.
func applyAll(t *testing.T, objects []*unstructured.Unstructured, options ...client.ApplyOption) (changed []string) {
	t.Helper()
	for _, object := range objects {
		name := fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
		before, after := live(t, object), object.DeepCopy()
		annotations := map[string]string{trackingID: "gitops:" + name}
		maps.Copy(annotations, after.GetAnnotations())
		after.SetAnnotations(annotations)
		err := bed.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(after), append(options, client.FieldOwner(argo))...)
		if err != nil {
			t.Fatalf("applying %s: %v", name, err)
		}
		if before.GetResourceVersion() != after.GetResourceVersion() {
			changed = append(changed, name)
		}
	}
	return changed
}

// live is the object as it is in the cluster, empty if it is not there.
func live(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(object.GroupVersionKind())
	suite.Must(t, client.IgnoreNotFound(bed.Client.Get(t.Context(), client.ObjectKeyFromObject(object), found)))
	return found
}

// awaitSynced waits until an apply changes nothing.
func awaitSynced(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	suite.Eventually(t, "an apply that changes nothing", func() error {
		if changed := applyAll(t, objects); len(changed) > 0 {
			return fmt.Errorf("it changes %s", strings.Join(changed, ", "))
		}
		return nil
	})
}

// targetgate is installed from Git while it runs: what it writes into what is installed stays, and no field is written twice.
func TestKustomizationIsInSync(t *testing.T) {
	t.Parallel()
	objects := slices.DeleteFunc(kustomize(t, "targetgate"), func(object *unstructured.Unstructured) bool {
		return object.GetKind() == "Service" && object.GetName() == webhookService // on the test bed it leads out of the cluster
	})
	at, err := url.Parse(bed.Targetgate.WebhookURL())
	suite.Must(t, err)
	port, err := strconv.ParseInt(at.Port(), 10, 64)
	suite.Must(t, err)
	for _, object := range objects {
		setPort(t, object, port)
	}
	applyAll(t, objects, client.ForceOwnership) // from what has installed the test bed
	awaitSynced(t, objects)
	suite.Must(t, bed.Targetgate.Ready(t.Context()))
	for _, object := range objects {
		hooks, _, err := unstructured.NestedSlice(live(t, object).Object, "webhooks")
		suite.Must(t, err)
		for _, hook := range hooks {
			if bundle, _, _ := unstructured.NestedString(hook.(map[string]any), "clientConfig", "caBundle"); bundle == "" {
				t.Errorf("a webhook of %s has no caBundle", object.GetKind())
			}
		}
	}
	secret := slices.IndexFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == "Secret" })
	if data, _, _ := unstructured.NestedMap(live(t, objects[secret]).Object, "data"); len(data) == 0 {
		t.Error("the Secret of the CA is empty")
	}
}

const webhookService = "targetgate-webhook"

// setPort has the webhooks of a configuration lead to the port, as those of the test bed do.
func setPort(t *testing.T, object *unstructured.Unstructured, port int64) {
	t.Helper()
	hooks, found, err := unstructured.NestedSlice(object.Object, "webhooks")
	suite.Must(t, err)
	for _, hook := range hooks {
		suite.Must(t, unstructured.SetNestedField(hook.(map[string]any), port, "clientConfig", "service", "port"))
	}
	if found {
		suite.Must(t, unstructured.SetNestedSlice(object.Object, hooks, "webhooks"))
	}
}

// An app is kept in Git as base and overlay, with two groups side by side as in TestProductionManifest, and applied again and again while
// targetgate makes its load balancers. The Ingresses are in a wave before the Deployment, so that its pods have gates from the first on.
func TestAppIsInSync(t *testing.T) {
	t.Parallel()
	app := newApp("gitops")
	certificate, err := bed.AWS.ACM.Add("", acm.Spec{Domains: []string{"app.gitops.test"}})
	suite.Must(t, err)
	objects := kustomize(t, "app/production", "SECURITY-GROUP", addSecurityGroup(t, app.Name), "CERTIFICATE", certificate.ARN,
		"WEB-ACL", bed.AWS.WAF.Add("", app.Name, waf.ScopeRegional).ARN)
	first := slices.DeleteFunc(slices.Clone(objects), func(object *unstructured.Unstructured) bool {
		return object.GetAnnotations()[syncWave] != ""
	})
	if len(first) != len(objects)-1 {
		t.Fatalf("%d of %d objects are in the first wave, want all but the Deployment", len(first), len(objects))
	}
	ingresses := []*networkingv1.Ingress{newIngress("public", nil), newIngress("vpn", nil)}
	for _, ingress := range ingresses {
		ingress.Namespace = app.Name
	}
	deleteAfter(t, app.Name, ingresses)
	seen := followHealth(t, app.Name)
	applyAll(t, first)
	for _, ingress := range ingresses {
		awaitHost(t, ingress) // by which Argo CD knows a healthy Ingress
	}
	applyAll(t, objects)
	for _, ingress := range ingresses {
		host := ingress.Status.LoadBalancer.Ingress[0].Hostname
		suite.Eventually(t, "answers over HTTP", func() error {
			applyAll(t, objects)
			return answeredBy(t, app, host, "app.gitops.test", "/")
		})
		suite.Eventually(t, "answers over HTTPS", func() error { return answersOverTLS(host, "app.gitops.test", certificate) })
	}
	bed.AwaitRolled(t, app)
	seen.await(t, "Deployment", 1, phase{"Current", ""})
	seen.await(t, "Ingress", 2, phase{"Current", ""})
	seen.await(t, "TargetGroupBinding", 2, phase{"Current", "Healthy"})
	awaitSynced(t, objects)
	seen.wantFirst(t, "TargetGroupBinding", phase{"InProgress", "Progressing"})
	seen.wantNone(t, "TargetGroupBinding", phase{"InProgress", "Degraded"})
	for _, pod := range bed.Pods(t, app) {
		if len(pod.Spec.ReadinessGates) != 2 {
			t.Errorf("pod %s has the gates %v, want one of each binding", pod.Name, pod.Spec.ReadinessGates)
		}
	}
	for _, ingress := range ingresses {
		wantTargetgates(t, ingress)
	}
}

// A binding is kept in Git, too. Tools wait until targetgate has acted on what they have applied.
func TestBindingIsInSync(t *testing.T) {
	t.Parallel()
	app := newApp("tracked")
	seen := followHealth(t, app.Name)
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	var err error
	app.TargetGroup, app.URL, err = bed.AWS.CreateService(app.Name, emulator.Service{HealthCheck: app.HealthCheck})
	suite.Must(t, err)
	binding := asInGit(t, app.Binding())
	objects := []*unstructured.Unstructured{binding}
	progressing, healthy, degraded := phase{"InProgress", "Progressing"}, phase{"Current", "Healthy"}, phase{"InProgress", "Degraded"}

	applyAll(t, objects)
	seen.awaitAll(t, "TargetGroupBinding", progressing, healthy)
	awaitSynced(t, objects)
	suite.Must(t, unstructured.SetNestedField(binding.Object, "http", "spec", "serviceRef", "port"))
	applyAll(t, objects)
	seen.awaitAll(t, "TargetGroupBinding", progressing, healthy, progressing, healthy)
	awaitSynced(t, objects)
	giveBack := bed.DeleteService(t, app)
	seen.await(t, "TargetGroupBinding", 1, degraded)
	giveBack()
	seen.await(t, "TargetGroupBinding", 1, healthy)
	awaitSynced(t, objects)
}

// asInGit is a binding without what the cluster adds.
func asInGit(t *testing.T, binding *v1beta1.TargetGroupBinding) *unstructured.Unstructured {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(binding)
	suite.Must(t, err)
	out := &unstructured.Unstructured{Object: fields}
	out.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("TargetGroupBinding"))
	unstructured.RemoveNestedField(fields, "status")
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	return out
}

// wantTargetgates: what targetgate writes into an Ingress stays, and nothing that it makes looks like a thing of Argo CD's, which would
// delete it again.
func wantTargetgates(t *testing.T, ingress *networkingv1.Ingress) {
	t.Helper()
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress))
	if len(ingress.Finalizers) == 0 || len(ingress.Status.LoadBalancer.Ingress) == 0 {
		t.Errorf("the Ingress has finalizers %v and status %+v", ingress.Finalizers, ingress.Status)
	}
	bindings, group := &v1beta1.TargetGroupBindingList{}, map[string]string{"ingress.k8s.aws/stack": ingress.Annotations[prefix+"group.name"]}
	suite.Must(t, bed.Client.List(t.Context(), bindings, client.InNamespace(ingress.Namespace), client.MatchingLabels(group)))
	if len(bindings.Items) != 1 {
		t.Fatalf("%d bindings of %v, want 1", len(bindings.Items), group)
	}
	got := bindings.Items[0]
	if diff := cmp.Diff(group, got.Labels); diff != "" || got.Annotations[trackingID] != "" {
		t.Errorf("the binding has annotations %v, and labels (-want +got):\n%s", got.Annotations, diff)
	}
}

// deleteAfter deletes the Ingresses at the end of the test, and then their namespace.
func deleteAfter(t *testing.T, namespace string, ingresses []*networkingv1.Ingress) {
	t.Helper()
	last := &corev1.Namespace{}
	last.Name = namespace
	t.Cleanup(func() {
		var objects []client.Object
		for _, ingress := range ingresses {
			objects = append(objects, ingress.DeepCopy())
		}
		for _, object := range append(objects, last) {
			if err := client.IgnoreNotFound(bed.Client.Delete(context.Background(), object)); err != nil {
				t.Errorf("deleting %s: %v", object.GetName(), err)
			}
		}
	})
}

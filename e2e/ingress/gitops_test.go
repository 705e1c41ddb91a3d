//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// kustomize builds a folder of testdata/gitops by kubectl.
func kustomize(t *testing.T, folder string) (objects []*unstructured.Unstructured) {
	t.Helper()
	kubectl := filepath.Join(filepath.Dir(os.Getenv("TARGETGATE_CONTROL_PLANE")), "kubectl")
	var warnings strings.Builder
	command := exec.CommandContext(t.Context(), kubectl, "kustomize", filepath.Join("testdata/gitops", folder))
	command.Stderr = &warnings
	out, err := command.Output()
	if err != nil || warnings.Len() > 0 { // what is deprecated is not shipped
		t.Fatalf("building %s: %v\n%s", folder, err, warnings.String())
	}
	documents := yamlreader.NewYAMLReader(bufio.NewReader(bytes.NewReader(out)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		suite.Must(t, err)
		object := &unstructured.Unstructured{}
		suite.Must(t, yaml.Unmarshal(document, &object.Object))
		objects = append(objects, object)
	}
}

const (
	argo       = "argocd-controller"
	trackingID = "argocd.argoproj.io/tracking-id"
)

// applyAgain applies the objects server-side, as Argo CD does, and returns those that this has changed. Argo CD takes fields from others by
// force. This does it only when told so: if somebody has changed a field, the test fails.
func applyAgain(t *testing.T, objects []*unstructured.Unstructured, options ...client.ApplyOption) (changed []string) {
	t.Helper()
	for _, object := range objects {
		name := fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
		before, after := live(t, object), object.DeepCopy()
		annotations := after.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[trackingID] = "gitops:" + name
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
		if changed := applyAgain(t, objects); len(changed) > 0 {
			return fmt.Errorf("it changes %s", strings.Join(changed, ", "))
		}
		return nil
	})
}

// targetgate is installed from Git while it runs: what it writes into what is installed stays, and nothing is applied twice.
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
	applyAgain(t, objects, client.ForceOwnership) // from what has installed the test bed
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

// An app is kept in Git, as base and overlay, and applied again and again while targetgate makes its load balancer.
func TestAppIsInSync(t *testing.T) {
	t.Parallel()
	app := newApp("gitops")
	objects, seen := kustomize(t, "app/production"), followHealth(t, app.Name)
	ingress := newIngress(app.Name, nil)
	deleteAfter(t, ingress)
	applyAgain(t, objects)
	suite.Eventually(t, "answers", func() error {
		applyAgain(t, objects)
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress))
		if entries := ingress.Status.LoadBalancer.Ingress; len(entries) == 1 {
			return answeredBy(t, app, entries[0].Hostname, "gitops.example.com", "/")
		}
		return fmt.Errorf("the status is %+v", ingress.Status)
	})
	bed.AwaitRolled(t, app)
	seen.await(t, "Deployment", phase{"Current", ""})
	seen.await(t, "TargetGroupBinding", phase{"Current", "Healthy"})
	awaitSynced(t, objects)
	wantTargetgates(t, ingress)
	seen.wantFirst(t, "Deployment", phase{"InProgress", ""})
	seen.wantFirst(t, "TargetGroupBinding", phase{"InProgress", "Progressing"})
	seen.wantNone(t, "TargetGroupBinding", phase{"InProgress", "Degraded"})
	seen.await(t, "Ingress", phase{"Current", ""})

	bed.DeleteService(t, app)
	seen.await(t, "TargetGroupBinding", phase{"InProgress", "Degraded"})
	applyAgain(t, objects)
	seen.await(t, "TargetGroupBinding", phase{"Current", "Healthy"})
	awaitSynced(t, objects)
}

// wantTargetgates: what targetgate writes into an Ingress stays, and nothing that it makes looks like a thing of Argo CD's, which would
// delete it again.
func wantTargetgates(t *testing.T, ingress *networkingv1.Ingress) {
	t.Helper()
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress))
	if len(ingress.Finalizers) == 0 || len(ingress.Status.LoadBalancer.Ingress) == 0 {
		t.Errorf("the Ingress has finalizers %v and status %+v", ingress.Finalizers, ingress.Status)
	}
	bindings := &v1beta1.TargetGroupBindingList{}
	suite.Must(t, bed.Client.List(t.Context(), bindings, client.InNamespace(ingress.Namespace)))
	if len(bindings.Items) != 1 {
		t.Fatalf("%d bindings, want 1", len(bindings.Items))
	}
	got := bindings.Items[0]
	want := map[string]string{"ingress.k8s.aws/stack-namespace": ingress.Namespace, "ingress.k8s.aws/stack-name": ingress.Name}
	if diff := cmp.Diff(want, got.Labels); diff != "" || got.Annotations[trackingID] != "" {
		t.Errorf("the binding has annotations %v, and labels (-want +got):\n%s", got.Annotations, diff)
	}
}

// deleteAfter deletes the Ingress at the end of the test, and then its namespace.
func deleteAfter(t *testing.T, ingress *networkingv1.Ingress) {
	t.Helper()
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(ingress.Namespace)
	t.Cleanup(func() {
		for _, object := range []client.Object{ingress.DeepCopy(), namespace} {
			if err := client.IgnoreNotFound(bed.Client.Delete(context.Background(), object)); err != nil {
				t.Errorf("deleting %s: %v", object.GetName(), err)
			}
		}
	})
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/targetgate/targetgate/e2e/kubelet/status"
)

const (
	namespace = "shop"
	gate      = corev1.PodConditionType("target-health.elbv2.k8s.aws/web")
	// testScale makes a second of a pod's spec 100 ms.
	testScale = 0.1
)

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// api is a fake API server that behaves like a real one where the kubelet depends on it: versions rise, a status patch
// changes the status alone and checks the UID, a delete with a grace period only marks the pod.
type api struct {
	t      *testing.T
	client *fake.Clientset

	mu      sync.Mutex
	version int
	patches map[types.UID][]string
	gates   []string // patches that name a gate's condition
}

func newAPI(t *testing.T) *api {
	a := &api{t: t, client: fake.NewClientset(), patches: map[types.UID][]string{}}
	a.client.PrependReactor("patch", "pods", a.onPatch)
	a.client.PrependReactor("delete", "pods", a.onDelete)
	return a
}

func (a *api) onPatch(action clienttesting.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	patch := action.(clienttesting.PatchAction)
	if patch.GetPatchType() != types.StrategicMergePatchType || patch.GetSubresource() != "status" {
		return true, nil, apierrors.NewBadRequest("want a strategic merge patch of the status")
	}
	old, err := a.get(patch.GetName())
	if err != nil {
		return true, nil, err
	}
	pod := &corev1.Pod{}
	if err := applyPatch(old, patch.GetPatch(), pod); err != nil {
		return true, nil, apierrors.NewBadRequest(err.Error())
	}
	if pod.UID != old.UID {
		return true, nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), pod.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), pod.UID, "field is immutable"),
		})
	}
	a.patches[pod.UID] = append(a.patches[pod.UID], string(patch.GetPatch()))
	if strings.Contains(string(patch.GetPatch()), `"type":"target-health`) {
		a.gates = append(a.gates, string(patch.GetPatch()))
	}
	old.Status = pod.Status
	return true, old, a.store(old)
}

func applyPatch(old *corev1.Pod, patch []byte, into *corev1.Pod) error {
	raw, err := json.Marshal(old)
	if err != nil {
		return err
	}
	patched, err := strategicpatch.StrategicMergePatch(raw, patch, old)
	if err != nil {
		return err
	}
	return json.Unmarshal(patched, into)
}

func (a *api) onDelete(action clienttesting.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	request := action.(clienttesting.DeleteActionImpl)
	pod, err := a.get(request.Name)
	if err != nil {
		return true, nil, err
	}
	if p := request.DeleteOptions.Preconditions; p != nil && *p.UID != pod.UID {
		return true, nil, apierrors.NewConflict(podResource.GroupResource(), pod.Name, fmt.Errorf("UID in precondition: %s", *p.UID))
	}
	grace := request.DeleteOptions.GracePeriodSeconds
	if grace == nil {
		grace = pod.Spec.TerminationGracePeriodSeconds
	}
	if *grace == 0 {
		return true, nil, a.client.Tracker().Delete(podResource, namespace, pod.Name)
	}
	if pod.DeletionTimestamp == nil {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(time.Duration(*grace) * time.Second)}
		pod.Generation++
	}
	pod.DeletionGracePeriodSeconds = grace
	return true, nil, a.store(pod)
}

func (a *api) get(name string) (*corev1.Pod, error) {
	object, err := a.client.Tracker().Get(podResource, namespace, name)
	if err != nil {
		return nil, err
	}
	return object.(*corev1.Pod).DeepCopy(), nil
}

func (a *api) store(pod *corev1.Pod) error {
	a.version++
	pod.ResourceVersion = strconv.Itoa(a.version)
	return a.client.Tracker().Update(podResource, pod, namespace)
}

// create adds a pod that is bound already.
func (a *api) create(pod *corev1.Pod) {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	pod.ResourceVersion = strconv.Itoa(a.version)
	if err := a.client.Tracker().Create(podResource, pod, namespace); err != nil {
		a.t.Fatal(err)
	}
}

// edit changes a pod as another client would.
func (a *api) edit(name string, change func(*corev1.Pod)) {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	pod, err := a.get(name)
	if err != nil {
		a.t.Fatal(err)
	}
	change(pod)
	if err := a.store(pod); err != nil {
		a.t.Fatal(err)
	}
}

func (a *api) setGate(name string, to corev1.ConditionStatus) {
	a.t.Helper()
	a.edit(name, func(p *corev1.Pod) {
		if c := status.Condition(p.Status.Conditions, gate); c != nil {
			c.Status = to
			return
		}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: gate, Status: to})
	})
}

// remove deletes a pod with this grace period; nil takes the pod's own.
func (a *api) remove(name string, grace *int64) {
	a.t.Helper()
	err := a.client.CoreV1().Pods(namespace).Delete(a.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: grace})
	if err != nil {
		a.t.Fatal(err)
	}
}

// pod returns the pod, or nil when it has gone.
func (a *api) pod(name string) *corev1.Pod {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	pod, err := a.get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return pod
}

func (a *api) patchesOf(uid types.UID) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string{}, a.patches[uid]...)
}

// wait polls until the pod (nil when it has gone) is as wanted.
func (a *api) wait(name, what string, wanted func(*corev1.Pod) bool) *corev1.Pod {
	a.t.Helper()
	var pod *corev1.Pod
	eventually(a.t, name+" "+what, func() bool {
		pod = a.pod(name)
		return wanted(pod)
	})
	return pod
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-ticker.C {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain for: %s", what)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

// admit is what comes before every write of the registrar's: it may take its time, and be refused.
func (m *modelStore) admit(ctx context.Context, what string) error {
	m.mu.Lock()
	slow, refused := m.slow[what], time.Now().Before(m.refused[what])
	m.mu.Unlock()
	select {
	case <-time.After(slow + 5*time.Millisecond):
	case <-ctx.Done():
		return ctx.Err()
	}
	if refused {
		return apierrors.NewForbidden(schema.GroupResource{Resource: what}, "", errors.New("refused by the model"))
	}
	return nil
}

// modelClient is how the registrar reads its cache and writes to the store.
type modelClient struct {
	client.Client // nil: what is not below is not used
	cache         *modelCache
	store         *modelStore
}

func (c modelClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return c.cache.Get(ctx, key, o, opts...)
}

func (c modelClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return c.cache.List(ctx, list, opts...)
}

// Patch changes the finalizers and annotations of a binding by a merge patch with an optimistic lock.
func (c modelClient) Patch(ctx context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	binding := o.(*v1beta1.TargetGroupBinding) // rule 1: only readiness writes to pods
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	if err := c.store.admit(ctx, "bindings"); err != nil {
		return err
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	now, ok := c.store.objects["TargetGroupBinding"][client.ObjectKeyFromObject(o)]
	resource := schema.GroupResource{Resource: "targetgroupbindings"}
	if !ok {
		return apierrors.NewNotFound(resource, o.GetName())
	}
	var lock struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(data, &lock); err != nil {
		return err
	}
	if v := lock.Metadata.ResourceVersion; v != "" && v != now.GetResourceVersion() {
		return apierrors.NewConflict(resource, o.GetName(), errors.New("the object has been modified"))
	}
	merged, err := mergePatch(now, data)
	if err != nil {
		return err
	}
	if merged.DeletionTimestamp != nil && len(merged.Finalizers) == 0 {
		c.store.removeLocked(merged)
	} else {
		c.store.putLocked(merged)
	}
	merged.DeepCopyInto(binding)
	return nil
}

func mergePatch(o client.Object, patch []byte) (*v1beta1.TargetGroupBinding, error) {
	before, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	var out v1beta1.TargetGroupBinding
	return &out, json.Unmarshal(after, &out)
}

// Apply writes the record of a shared group.
func (c modelClient) Apply(ctx context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	record := o.(*corev1ac.ConfigMapApplyConfiguration)
	if err := c.store.admit(ctx, "configmaps"); err != nil {
		return err
	}
	c.store.put(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: *record.Namespace, Name: *record.Name, Annotations: record.Annotations},
		Data:       maps.Clone(record.Data),
	})
	return nil
}

// Delete deletes a record as it was read.
func (c modelClient) Delete(ctx context.Context, o client.Object, _ ...client.DeleteOption) error {
	if err := c.store.admit(ctx, "configmaps"); err != nil {
		return err
	}
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	now, ok := c.store.objects["ConfigMap"][client.ObjectKeyFromObject(o)]
	if ok && now.GetResourceVersion() != o.GetResourceVersion() {
		return apierrors.NewConflict(corev1.Resource("configmaps"), o.GetName(), errors.New("the object has been modified"))
	}
	c.store.removeLocked(o.(*corev1.ConfigMap))
	return nil
}

func (c modelClient) Status() client.SubResourceWriter { return modelStatus{store: c.store} }

// modelReader reads from the store itself.
type modelReader struct {
	client.Reader
	store *modelStore
}

func (r modelReader) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	found := stored[*corev1.ConfigMap](r.store, key.Namespace, key.Name)
	if found == nil {
		return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
	}
	found.DeepCopyInto(o.(*corev1.ConfigMap))
	return nil
}

// modelStatus writes conditions of pods and statuses of bindings.
type modelStatus struct {
	client.SubResourceWriter
	store *modelStore
}

func (s modelStatus) Patch(ctx context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	if _, binding := o.(*v1beta1.TargetGroupBinding); binding {
		return s.patchBinding(ctx, o, data)
	}
	return s.patchPod(ctx, o, data)
}

func (s modelStatus) patchPod(ctx context.Context, o client.Object, data []byte) error {
	key := client.ObjectKeyFromObject(o)
	var patch struct {
		Metadata struct{ UID types.UID }
		Status   struct{ Conditions []corev1.PodCondition }
	}
	if err := errors.Join(json.Unmarshal(data, &patch), s.store.admit(ctx, "pods")); err != nil {
		return err
	}
	if pod := stored[*corev1.Pod](s.store, key.Namespace, key.Name); pod != nil && pod.UID == patch.Metadata.UID {
		s.store.patched(pod, patch.Status.Conditions[0])
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now, ok := s.store.objects["Pod"][key]
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("pods"), key.Name)
	}
	if now.GetUID() != patch.Metadata.UID {
		return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), key.Name,
			field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), "", "field is immutable")})
	}
	pod := now.(*corev1.Pod).DeepCopy()
	for _, c := range patch.Status.Conditions {
		setPodCondition(pod, c)
	}
	s.store.putLocked(pod)
	o.SetResourceVersion(pod.ResourceVersion)
	return nil
}

func setPodCondition(pod *corev1.Pod, c corev1.PodCondition) {
	at := slices.IndexFunc(pod.Status.Conditions, func(other corev1.PodCondition) bool { return other.Type == c.Type })
	if at < 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, c)
		return
	}
	pod.Status.Conditions[at] = c
}

// patchBinding takes a JSON patch: a test of the UID, and the new status.
func (s modelStatus) patchBinding(ctx context.Context, o client.Object, data []byte) error {
	var patch []struct{ Value json.RawMessage }
	if err := errors.Join(json.Unmarshal(data, &patch), s.store.admit(ctx, "statuses")); err != nil {
		return err
	}
	var uid types.UID
	var status v1beta1.TargetGroupBindingStatus
	if err := errors.Join(json.Unmarshal(patch[0].Value, &uid), json.Unmarshal(patch[1].Value, &status)); err != nil {
		return err
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	now, ok := s.store.objects["TargetGroupBinding"][client.ObjectKeyFromObject(o)]
	if !ok || now.GetUID() != uid {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "targetgroupbindings"}, o.GetName())
	}
	binding := now.(*v1beta1.TargetGroupBinding).DeepCopy()
	binding.Status = status
	s.store.putLocked(binding)
	o.SetResourceVersion(binding.ResourceVersion)
	return nil
}

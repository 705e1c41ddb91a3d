// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Writer writes gate conditions, and the condition of node guards. It is safe for concurrent use.
type Writer struct {
	Client client.SubResourceWriter // of the status subresource
	Clock  clock.PassiveClock
	// TwoWay allows closing an open gate. By default, True lasts for the life of the pod.
	TwoWay bool
}

// Set writes health into the gate's condition, in one patch, and returns the resource version of the pod since then, "" if it
// wrote nothing. It writes nothing if the condition already says so, if the pod has no such gate, or, without TwoWay, if the
// condition is True.
//
// The patch contains the pod's UID, so it never changes another pod that was created under the same name. Such a pod, or a
// missing one, is not an error.
func (w *Writer) Set(ctx context.Context, pod *corev1.Pod, gate corev1.PodConditionType, health Health) (version string, err error) {
	return w.SetAll(ctx, pod, []corev1.PodConditionType{gate}, health)
}

// SetAll does what Set does for several gates of the pod, in one patch.
func (w *Writer) SetAll(ctx context.Context, pod *corev1.Pod, gates []corev1.PodConditionType, health Health) (version string, err error) {
	needed := slices.DeleteFunc(slices.Clone(gates), func(gate corev1.PodConditionType) bool { return !w.Needed(pod, gate, health) })
	if len(needed) == 0 {
		return "", nil
	}
	return w.write(ctx, pod, needed, health)
}

// PutBack is Set where the condition said health until somebody else changed it: it writes whatever the condition says now.
func (w *Writer) PutBack(ctx context.Context, pod *corev1.Pod, gate corev1.PodConditionType, health Health) (version string, err error) {
	if !Has(pod, gate) || Says(pod, gate, health) {
		return "", nil
	}
	return w.write(ctx, pod, []corev1.PodConditionType{gate}, health)
}

// write writes health into these conditions, in one patch, and returns the resource version of the pod, "" if it is not there.
func (w *Writer) write(ctx context.Context, pod *corev1.Pod, kinds []corev1.PodConditionType, health Health) (version string, err error) {
	patch, err := w.patch(pod, kinds, health)
	if err != nil {
		return "", err
	}
	answer := answer(pod)
	err = w.Client.Patch(ctx, answer, client.RawPatch(types.StrategicMergePatchType, patch))
	if apierrors.IsNotFound(err) || isOtherPod(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("patching condition %s of pod %s: %w", kinds[0], client.ObjectKeyFromObject(pod), err)
	}
	return answer.ResourceVersion, nil
}

// answer returns the object that receives the patched pod: metadata only, because of the rest nothing is used.
func answer(pod *corev1.Pod) *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	out.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return out
}

// Needed reports whether Set would write.
func (w *Writer) Needed(pod *corev1.Pod, gate corev1.PodConditionType, health Health) bool {
	return Has(pod, gate) && w.differs(Condition(pod, gate), health)
}

// isOtherPod reports whether the API server refused the patch because the pod has another UID: to the API server, such a
// patch changes an immutable field.
func isOtherPod(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return cause.Field == "metadata.uid"
	})
}

func (w *Writer) differs(old *corev1.PodCondition, health Health) bool {
	if old == nil {
		return true
	}
	if old.Status == corev1.ConditionTrue && (!w.TwoWay || health.Status == corev1.ConditionTrue) {
		return false
	}
	return old.Status != health.Status || old.Reason != health.Reason || old.Message != health.Message
}

// patch includes reason and message even if they are empty; otherwise they would keep their old values.
func (w *Writer) patch(pod *corev1.Pod, kinds []corev1.PodConditionType, health Health) ([]byte, error) {
	conditions := make([]map[string]any, len(kinds))
	for i, kind := range kinds {
		since := metav1.NewTime(w.Clock.Now())
		if old := Condition(pod, kind); old != nil && old.Status == health.Status {
			since = old.LastTransitionTime
		}
		conditions[i] = map[string]any{
			"type": kind, "status": health.Status, "reason": health.Reason, "message": health.Message, "lastTransitionTime": since,
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID}, "status": map[string]any{"conditions": conditions},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding condition %s: %w", kinds[0], err)
	}
	return patch, nil
}

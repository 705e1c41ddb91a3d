// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// Patch returns the strategic merge patch that brings the pod's status to what the kubelet wants, or nil when it is
// there. It holds only what differs, the conditions among it one by one, so that nobody else's condition is touched; the UID
// makes the API server refuse it for another pod of the same name.
func Patch(uid types.UID, have, want corev1.PodStatus) ([]byte, error) {
	status := changedFields(have, want)
	if conditions := changedConditions(have.Conditions, want.Conditions); len(conditions) > 0 {
		status["conditions"] = conditions
	}
	if len(status) == 0 {
		return nil, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": uid}, "status": status})
	if err != nil {
		return nil, fmt.Errorf("encoding status patch: %w", err)
	}
	return patch, nil
}

func changedFields(have, want corev1.PodStatus) map[string]any {
	fields := []struct {
		name       string
		have, want any
	}{
		{"phase", have.Phase, want.Phase},
		{"reason", have.Reason, want.Reason},
		{"message", have.Message, want.Message},
		{"observedGeneration", have.ObservedGeneration, want.ObservedGeneration},
		{"startTime", have.StartTime, want.StartTime},
		{"podIP", have.PodIP, want.PodIP},
		{"podIPs", have.PodIPs, want.PodIPs},
		{"hostIP", have.HostIP, want.HostIP},
		{"hostIPs", have.HostIPs, want.HostIPs},
		{"containerStatuses", have.ContainerStatuses, want.ContainerStatuses},
		{"initContainerStatuses", have.InitContainerStatuses, want.InitContainerStatuses},
	}
	changed := map[string]any{}
	for _, f := range fields {
		if !equality.Semantic.DeepEqual(f.have, f.want) {
			changed[f.name] = f.want
		}
	}
	return changed
}

// changedConditions returns the wanted conditions that differ. Reason and message are always named: a patch that leaves
// them out would keep those of the former status.
func changedConditions(have, want []corev1.PodCondition) []map[string]any {
	var changed []map[string]any
	for _, c := range want {
		if old := Condition(have, c.Type); old != nil && sameCondition(*old, c) {
			continue
		}
		entry := map[string]any{
			"type": c.Type, "status": c.Status, "lastTransitionTime": c.LastTransitionTime,
			"reason": c.Reason, "message": c.Message,
		}
		if c.ObservedGeneration != 0 {
			entry["observedGeneration"] = c.ObservedGeneration
		}
		changed = append(changed, entry)
	}
	return changed
}

func sameCondition(a, b corev1.PodCondition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message && a.ObservedGeneration == b.ObservedGeneration
}

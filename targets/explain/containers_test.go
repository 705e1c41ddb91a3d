// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestExplainSaysWhatAContainerThatRunsWaitsFor(t *testing.T) {
	running := corev1.ContainerStatus{Name: "c", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	for name, tc := range map[string]struct {
		init *corev1.Container // nil: it is none
		want string
	}{
		"init container": {&corev1.Container{Name: "c"}, `; init container "c": still runs; 0 restarts`},
		"sidecar": {
			&corev1.Container{Name: "c", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways)},
			`; container "c": runs, but its startup or readiness probe has not passed; 0 restarts`,
		},
		"container": {nil, `; container "c": runs, but its startup or readiness probe has not passed; 0 restarts`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.mute()
			w.unready("", "")
			w.pod.Status.ContainerStatuses = []corev1.ContainerStatus{running}
			if tc.init != nil {
				w.pod.Spec.InitContainers = []corev1.Container{*tc.init}
				w.pod.Status.InitContainerStatuses, w.pod.Status.ContainerStatuses = w.pod.Status.ContainerStatuses, nil
			}
			got := causeOf(t, w.explained(t))
			if !strings.HasPrefix(got, "waiting pod: containers not ready since") || !strings.Contains(got, tc.want) {
				t.Errorf("the cause is\n%s\nwithout\n%s", got, tc.want)
			}
		})
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AttackersNamespace creates a namespace that is gone after the test, with all that is in it.
func (b *Bed) AttackersNamespace(t *testing.T, name string) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Must(t, b.Client.Create(t.Context(), namespace))
	t.Cleanup(func() { Must(t, b.Client.Delete(context.Background(), namespace)) })
	return name
}

// DetectsRaces reports whether targetgate was built with the race detector.
func (b *Bed) DetectsRaces(t *testing.T) bool {
	t.Helper()
	info, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", b.Targetgate.PID()))
	Must(t, err)
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// PeakMemory is the most that targetgate has had resident since its start, in MiB.
func (b *Bed) PeakMemory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.Targetgate.PID()))
	Must(t, err)
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	if !found {
		t.Fatal("the kernel tells no VmHWM")
	}
	kib, err := strconv.Atoi(strings.Fields(string(rest))[0])
	Must(t, err)
	return kib >> 10
}

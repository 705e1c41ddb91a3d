// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestEnvIsRead(t *testing.T) {
	got, err := parseBehaviour([]corev1.EnvVar{
		{Name: "VERSION", Value: "v1"}, {Name: "LATENCY", Value: "2ms"}, {Name: "CRASH_AFTER", Value: "1m"}, {Name: "OTHER", Value: "x"},
		{Name: "STATUS"}, {Name: "KEEP_ALIVE", Value: "false"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprint("v1", 2*time.Millisecond, time.Minute, 200, false)
	if text := fmt.Sprint(got.version, got.latency, *got.crashAfter, got.status, got.keepAlive); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

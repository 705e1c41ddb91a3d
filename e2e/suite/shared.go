// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// NewShared is an app whose group other clusters have targets in.
func NewShared(name string) *testbed.App {
	app := NewApp(name)
	app.Change = func(binding *v1beta1.TargetGroupBinding) { binding.Spec.MultiClusterTargetGroup = true }
	return app
}

// RecordOf names the ConfigMap in which users and the incumbent expect the binding's targets.
func RecordOf(app *testbed.App) types.NamespacedName {
	return types.NamespacedName{Namespace: app.Name, Name: "aws-lbc-targets-" + app.Name}
}

// AwaitRecord waits until the record names exactly these targets.
func (bed *Bed) AwaitRecord(t *testing.T, app *testbed.App, want ...state.Key) {
	t.Helper()
	var text []string
	for _, key := range want {
		text = append(text, fmt.Sprintf("%s:%d", key.ID, key.Port))
	}
	slices.Sort(text)
	Eventually(t, "the record to name the binding's targets", func() error {
		var configMap corev1.ConfigMap
		if err := bed.Client.Get(t.Context(), RecordOf(app), &configMap); err != nil {
			return err
		}
		got := strings.Split(configMap.Data["targets"], ",")
		slices.Sort(got)
		if !slices.Equal(got, text) {
			return fmt.Errorf("it names %v, want %v", got, text)
		}
		return nil
	})
}

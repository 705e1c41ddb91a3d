// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/testbed"
)

func TestWhatOthersChangeInAGroupIsSetRight(t *testing.T) {
	withFlags(t, "--drift-interval=10s")
	app := newApp("drift")
	deploy(t, app)
	awaitRolled(t, app)
	awaitConverged(t, app)
	live := keysOf(pods(t, app), 8080)
	stop := underLoad(t, app)

	must(t, bed.AWS.State().Deregister(app.TargetGroup, []state.Target{{Key: live[0]}}))
	registerByHand(t, app, targetOf("10.63.200.9"))
	must(t, wantTargets(app, append(live[1:], targetOf("10.63.200.9"))...))
	awaitHealthy(t, app, live...)
	stop()
	for kind, reason := range map[string]string{"missing": "TargetMissing", "foreign": "ForeignTarget"} {
		eventually(t, "the event", func() error { return wantEvent(t, app, app.Name, corev1.EventTypeWarning, reason) })
		line := fmt.Sprintf("targetgate_drift_repaired_total{kind=%q,name=%q,namespace=%q} 1", kind, app.Name, app.Name)
		eventually(t, "the metric", func() error { return wantMetric(t, line) })
	}
	for _, pod := range pods(t, app) {
		if !testbed.IsReady(&pod) {
			t.Errorf("pod %s is not Ready", pod.Name)
		}
	}
}

// wantMetric is an error when targetgate's metrics do not have the line.
func wantMetric(t *testing.T, line string) error {
	t.Helper()
	name, _, _ := strings.Cut(line, "{")
	found, err := metricLines(t, name)
	if err != nil || slices.Contains(found, line) {
		return err
	}
	return fmt.Errorf("no line %q among %q", line, found)
}

// metricLines are those of targetgate's metrics that begin so.
func metricLines(t *testing.T, prefix string) ([]string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, bed.Targetgate.MetricsURL(), http.NoBody)
	must(t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var found []string
	scanner := bufio.NewScanner(resp.Body)
	for scanner.Scan() {
		if strings.HasPrefix(scanner.Text(), prefix) {
			found = append(found, scanner.Text())
		}
	}
	return found, scanner.Err()
}

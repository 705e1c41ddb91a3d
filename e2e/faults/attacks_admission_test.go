// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package faults

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// hostile is a binding of an attacker who may create bindings in namespace default.
func hostile(selector *metav1.LabelSelector) *v1beta1.TargetGroupBinding {
	binding := (&testbed.App{Name: "default"}).Binding()
	suite.Complete(&binding.Spec)
	binding.Spec.TargetGroupARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/none/0123456789abcdef"
	binding.Spec.TargetType, binding.Spec.NodeSelector = ptr.To(v1beta1.TargetTypeInstance), selector
	return binding
}

// The API server's own limits keep such a binding from the validating webhook, unless the CRD is an older one: that is asked directly.
func TestBindingOfManyInvalidExpressionsIsRefusedAtOnce(t *testing.T) {
	binding := hostile(&metav1.LabelSelector{MatchExpressions: slices.Repeat([]metav1.LabelSelectorRequirement{{Operator: "x"}}, 54_000)})
	written, err := json.Marshal(binding)
	suite.Must(t, err)
	before := processorSeconds(t)
	if err := bed.Client.Create(t.Context(), binding, client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Fatalf("got %v, want it refused as forbidden", err)
	}
	status, err := review(insecure, "/validate-elbv2-k8s-aws-v1beta1-targetgroupbinding", `"object":`+string(written))
	suite.Must(t, err)
	used := processorSeconds(t) - before
	t.Logf("%.2f s of processor time", used)
	if status != http.StatusOK || used > 2 {
		t.Errorf("status %d, and both webhooks took %.1f s of processor time, want at most 2", status, used)
	}
	assertMemory(t)
}

// Bindings of 1.5 MB, ten a second, and pods that are created meanwhile: each has its gate.
func TestLargeBindingsCostNoPodItsGate(t *testing.T) {
	app := suite.NewApp("bystander")
	app.Replicas = 0
	bed.Deploy(t, app)
	bed.AwaitGated(t, app)
	ctx, stop := context.WithTimeout(t.Context(), 15*time.Second)
	defer stop()
	binding := hostile(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: "a", Operator: metav1.LabelSelectorOpIn, Values: make([]string, 490_000),
	}}})
	var attacks, accepted, created, ungated atomic.Int64
	var callers sync.WaitGroup
	every(ctx, &callers, 100*time.Millisecond, func() {
		attacks.Add(1)
		if bed.Client.Create(ctx, binding.DeepCopy(), client.DryRunAll) == nil {
			accepted.Add(1)
		}
	})
	every(ctx, &callers, 20*time.Millisecond, func() {
		pod := suite.BarePod(app.Name, map[string]string{"app": app.Name})
		if bed.Client.Create(ctx, pod, client.DryRunAll) != nil {
			return // the time is over
		}
		created.Add(1)
		if !slices.Contains(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: app.Gate()}) {
			ungated.Add(1)
		}
	})
	<-ctx.Done()
	callers.Wait()
	t.Logf("%d bindings, %d pods", attacks.Load(), created.Load())
	if attacks.Load() < 10 || accepted.Load() > 0 || created.Load() < 50 {
		t.Errorf("%d bindings, of which %d were accepted, and %d pods: want an attack, and bystanders",
			attacks.Load(), accepted.Load(), created.Load())
	}
	if n := ungated.Load(); n > 0 {
		t.Errorf("%d of %d pods were created without their gate", n, created.Load())
	}
	assertMemory(t)
}

// every calls f at each tick until the end of ctx, at most ten at a time.
func every(ctx context.Context, callers *sync.WaitGroup, tick time.Duration, f func()) {
	turns := make(chan struct{}, 10)
	callers.Go(func() {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				turns <- struct{}{}
				callers.Go(func() { f(); <-turns })
			}
		}
	})
}

// processorSeconds is the processor time that targetgate has used since its start. Unlike the time on the clock it does not grow
// with what else the machine does, and what an API server takes to decode and validate what it is sent is not in it.
func processorSeconds(t *testing.T) float64 {
	t.Helper()
	const name = "process_cpu_seconds_total "
	lines, err := bed.MetricLines(t, name)
	suite.Must(t, err)
	if len(lines) != 1 {
		t.Fatalf("%d lines of %s, want one", len(lines), name)
	}
	seconds, err := strconv.ParseFloat(strings.TrimPrefix(lines[0], name), 64)
	suite.Must(t, err)
	return seconds
}

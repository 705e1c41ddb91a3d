// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package guards

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/targetgate/targetgate/readiness"
)

const (
	// readPause is the pause between readings of the guard's own pod, once it has been told to leave.
	readPause = 2 * time.Second
	// readTimeout bounds one reading.
	readTimeout = 5 * time.Second
	// enoughRefusals is how many readings in a row may be refused until the guard gives up: some 10 s. An API server that has just started
	// may refuse everything for a moment; a guard whose role was deleted, as by an uninstall, will never get an answer.
	enoughRefusals = 5
)

// Process is the process of a guard.
type Process struct {
	// Pod reads the guard's own pod from the API server.
	Pod func(context.Context) (*corev1.Pod, error)
	// LongestWait is how long the guard stays at most after it was told to leave.
	LongestWait time.Duration
	Log         logr.Logger
}

// Run returns when the guard may leave. It does nothing until signalled ends, which is SIGTERM, but for one reading at the start: that it
// may not read its pod is in the log before it matters.
func (p Process) Run(signalled context.Context) {
	if _, err := p.read(signalled); err != nil && signalled.Err() == nil {
		p.Log.Error(err, "Failed to read the guard's own pod, which it must when its node leaves")
	}
	p.Log.Info("Guarding the node until SIGTERM")
	<-signalled.Done()
	p.Log.Info("Waiting until the targets of the node have drained", "longestWait", p.LongestWait.String())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(signalled), p.LongestWait)
	defer cancel()
	p.Log.Info("Leaving", "reason", p.wait(ctx))
}

// wait returns why the guard leaves.
func (p Process) wait(ctx context.Context) string {
	for refusals := 0; refusals < enoughRefusals; {
		reason, err := p.ask(ctx)
		if reason != "" {
			return reason
		}
		refusals++
		if !isRefused(err) {
			refusals = 0
		}
		select {
		case <-ctx.Done():
			return "LongestWait"
		case <-time.After(readPause):
		}
	}
	return "NotAllowedToAsk"
}

// ask returns why the guard may leave, empty while it must wait.
func (p Process) ask(ctx context.Context) (reason string, err error) {
	pod, err := p.read(ctx)
	if apierrors.IsNotFound(err) {
		return "PodGone", nil
	}
	if err != nil {
		return "", err
	}
	condition := readiness.Condition(pod, readiness.MayLeave)
	if condition == nil || condition.Status != corev1.ConditionTrue {
		return "", nil
	}
	return condition.Reason, nil
}

func isRefused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

func (p Process) read(ctx context.Context) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return p.Pod(ctx)
}

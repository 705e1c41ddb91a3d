// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package guards

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/targetgate/targetgate/readiness"
)

const longest = 6 * time.Minute

// said is a reading of a guard's pod.
type said struct {
	at     time.Duration // from when after SIGTERM on
	status corev1.ConditionStatus
	err    error
	hangs  bool
}

func TestProcessLeavesWhenItMay(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	forbidden, gone := apierrors.NewForbidden(pods, "guard", nil), apierrors.NewNotFound(pods, "guard")
	expired := apierrors.NewUnauthorized("no such service account")
	down := errors.New("connection refused")
	tests := map[string]struct {
		said []said
		want time.Duration // after SIGTERM
	}{
		"drained before":                     {[]said{{status: corev1.ConditionTrue}}, 0},
		"drained in between":                 {[]said{{}, {at: 90 * time.Second, status: corev1.ConditionTrue}}, 90 * time.Second},
		"must wait, then may":                {[]said{{status: corev1.ConditionFalse}, {at: 31 * time.Second, status: corev1.ConditionTrue}}, 32 * time.Second},
		"never answered":                     {[]said{{}}, longest},
		"must wait for ever":                 {[]said{{status: corev1.ConditionFalse}}, longest},
		"unknown is no answer":               {[]said{{status: corev1.ConditionUnknown}}, longest},
		"API server down":                    {[]said{{err: down}}, longest},
		"API server hangs":                   {[]said{{hangs: true}}, longest},
		"API server down for a while":        {[]said{{err: down}, {at: time.Minute, status: corev1.ConditionTrue}}, time.Minute},
		"its pod is gone":                    {[]said{{}, {at: 10 * time.Second, err: gone}}, 10 * time.Second},
		"its role is gone":                   {[]said{{}, {at: 20 * time.Second, err: forbidden}}, 30 * time.Second},
		"its service account is gone":        {[]said{{err: expired}}, 10 * time.Second},
		"refused for a moment":               {[]said{{err: forbidden}, {at: 8 * time.Second, status: corev1.ConditionFalse}}, longest},
		"refused and down in turns, no role": {[]said{{err: forbidden}, {at: 8 * time.Second, err: down}, {at: 10 * time.Second, err: forbidden}}, 20 * time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signalled, signal := context.WithCancel(t.Context())
				var asked time.Time // SIGTERM
				process := Process{LongestWait: longest, Log: logr.Discard(), Pod: func(ctx context.Context) (*corev1.Pod, error) {
					if signalled.Err() == nil {
						return &corev1.Pod{}, nil
					}
					now := tc.said[0]
					for _, s := range tc.said {
						if time.Since(asked) >= s.at {
							now = s
						}
					}
					if now.hangs {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return guardSaying(now.status), now.err
				}}
				time.AfterFunc(time.Hour, func() {
					asked = time.Now()
					signal()
				})
				process.Run(signalled)
				if got := time.Since(asked); got < tc.want || got > tc.want+readPause/2 && tc.want < longest || got > longest+time.Second {
					t.Errorf("left %s after SIGTERM, want %s", got, tc.want)
				}
			})
		})
	}
}

// An idle guard costs one reading.
func TestProcessIsIdleUntilItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signalled, signal := context.WithCancel(t.Context())
		readings := 0
		process := Process{LongestWait: longest, Log: logr.Discard(), Pod: func(context.Context) (*corev1.Pod, error) {
			readings++
			return guardSaying(corev1.ConditionTrue), nil
		}}
		done := make(chan struct{})
		go func() {
			process.Run(signalled)
			close(done)
		}()
		time.Sleep(24 * time.Hour) // of the bubble
		synctest.Wait()
		if readings != 1 {
			t.Errorf("%d readings in a day, want the one at the start", readings)
		}
		signal()
		<-done
		if readings != 2 {
			t.Errorf("%d readings, want one after SIGTERM", readings)
		}
	})
}

// guardSaying is the pod of a guard with a condition of that status, without one when that is empty.
func guardSaying(status corev1.ConditionStatus) *corev1.Pod {
	pod := &corev1.Pod{}
	if status != "" {
		pod.Status.Conditions = []corev1.PodCondition{{Type: readiness.MayLeave, Status: status, Reason: "Told"}}
	}
	return pod
}

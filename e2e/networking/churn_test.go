// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package networking

import (
	"errors"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// 150 pods are replaced in a minute, reads of EC2 lag, bindings change and go, and targetgate is killed three times, once with a change
// of ports under way: what is wished is there all the time by EC2's own history, and in the end nothing else is.
func TestWishedRulesAreNeverAbsentWhilePodsChurn(t *testing.T) {
	const pods, pause = 150, 400 * time.Millisecond
	stays, staysSource := newApp(t, "churn")
	stays.Replicas = 24
	moves, movesSource := newApp(t, "churn-ports")
	goes, goesSource := newApp(t, "churn-goes")
	for _, app := range []*testbed.App{stays, moves, goes} {
		bed.Deploy(t, app)
	}
	for _, app := range []*testbed.App{stays, moves, goes} {
		bed.AwaitRolled(t, app)
	}
	wished := ruleFrom(staysSource, 8080)
	for _, source := range []string{staysSource, movesSource, goesSource} {
		suite.Must(t, wantRules(source, ruleFrom(source, 8080)))
	}
	since := changesSoFar()
	askFor := func(ports ...int32) {
		suite.Change(t, bed, bed.GetBinding(t, moves), func(b *v1beta1.TargetGroupBinding) {
			b.Spec.Networking = networkingFrom(movesSource, ports...)
		})
	}
	var restarts errgroup.Group
	at := map[int]func(){
		30:  func() { restarts.Go(killed(t)) },
		60:  func() { askFor(8080, 9090) },
		61:  func() { restarts.Go(killed(t)) },
		90:  func() { suite.Must(t, bed.Client.Delete(t.Context(), bed.GetBinding(t, goes))) },
		120: func() { askFor(8080) },
		121: func() { restarts.Go(killed(t)) },
	}
	begun := time.Now()
	for n := range pods {
		if act := at[n]; act != nil {
			act()
		}
		replaceOldest(t, stays)
		time.Sleep(time.Until(begun.Add(time.Duration(n+1) * pause)))
	}
	t.Logf("%d pods were replaced in %s", pods, time.Since(begun).Round(time.Second))
	suite.Must(t, restarts.Wait())
	bed.AwaitRolled(t, stays)
	bed.AwaitBindingGone(t, goes)
	suite.Eventually(t, "the rules that nobody wishes any more to go", func() error {
		return errors.Join(wantRules(goesSource), wantRules(movesSource, ruleFrom(movesSource, 8080)))
	})
	suite.Must(t, errors.Join(wantRules(staysSource, wished), neverRemoved(since, wished, ruleFrom(movesSource, 8080))))
}

// killed kills targetgate and starts it again.
func killed(t *testing.T) func() error {
	return func() error {
		bed.Targetgate.Kill()
		return bed.Targetgate.Restart(t.Context())
	}
}

// replaceOldest deletes the oldest pod that is not deleted yet.
func replaceOldest(t *testing.T, app *testbed.App) {
	t.Helper()
	list := slices.DeleteFunc(bed.Pods(t, app), func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	oldest := slices.MinFunc(list, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	bed.DeletePod(t, &oldest)
}

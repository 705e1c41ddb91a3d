// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
)

// A pod that is being deleted waits for a replacement only where there is one: a pod of the same workload that does not serve yet, and is
// newer than the deletion, or not Ready yet and of the same controller, or was registered and not checked yet. In a scale-in there is none.
// Pods of the new version of a rollout that hangs are none either: they are of another controller, and older.

// ReplacementPause is how long after its deletion a pod that nobody replaces stays a target: a controller makes the next pod within
// moments.
const ReplacementPause = 5 * time.Second

// newcomers are the pods of a workload that live and do not serve yet.
type newcomers struct {
	checked  int                       // those that wait for their first health checks
	unready  map[types.UID][]time.Time // those that are not Ready, by controller: when they were created, in order
	others   []time.Time               // these, and those that are Ready and not healthy
	promised int                       // how many are awaited already
}

// coming are the newcomers of the workloads of those targets.
func (in Input) coming(leaving []elbv2.Target) map[string]*newcomers {
	out := map[string]*newcomers{}
	if len(leaving) == 0 {
		return out
	}
	targets := in.targetsOfPods()
	for _, target := range leaving {
		name := endpoints.Workload(in.Endpoints[target].Pod)
		if out[name] == nil {
			out[name] = in.newcomers(in.Workloads[name], targets)
		}
	}
	return out
}

// targetsOfPods are the targets of the pods that are wanted, or about to be.
func (in Input) targetsOfPods() map[types.UID]elbv2.Target {
	out := make(map[types.UID]elbv2.Target, len(in.Endpoints))
	for target, ep := range in.Endpoints {
		if ep.State == endpoints.Desired || ep.State == endpoints.NotReady {
			out[ep.UID] = target
		}
	}
	return out
}

func (in Input) newcomers(pods []*corev1.Pod, targets map[types.UID]elbv2.Target) *newcomers {
	n := &newcomers{unready: map[types.UID][]time.Time{}}
	for _, pod := range pods {
		target, known := targets[pod.UID]
		switch wanted := known && in.Endpoints[target].State == endpoints.Desired; {
		case wanted && in.healthy(target):
		case wanted && in.isUnchecked(target):
			n.checked++
		default:
			n.add(pod)
		}
	}
	for _, times := range n.unready {
		slices.SortFunc(times, time.Time.Compare)
	}
	slices.SortFunc(n.others, time.Time.Compare)
	return n
}

// isUnchecked reports whether a wanted target waits for its first health checks.
func (in Input) isUnchecked(target elbv2.Target) bool {
	t := in.Group.Targets[target]
	return t.Presence != targetgroup.Registered || t.Health.State == elbv2.StateInitial || t.Health.State == ""
}

func (n *newcomers) add(pod *corev1.Pod) {
	if controller := controllerOf(pod); !endpoints.IsReady(pod) {
		n.unready[controller] = append(n.unready[controller], pod.CreationTimestamp.Time)
	}
	n.others = append(n.others, pod.CreationTimestamp.Time)
}

func controllerOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}

// of is how many may replace a pod of that controller which was deleted then. Times of the API server are whole seconds.
func (n *newcomers) of(controller types.UID, deleted time.Time) int {
	since := func(times []time.Time) int {
		at, _ := slices.BinarySearchFunc(times, deleted.Truncate(time.Second), time.Time.Compare)
		return len(times) - at
	}
	own := n.unready[controller]
	return n.checked + len(own) + since(n.others) - since(own)
}

// isAwaited reports whether a replacement of the pod is on its way, or may be for all that can be known yet. A pod that leaves with its
// node has not been replaced for that.
func (p *Plan) isAwaited(in Input, ep endpoints.Endpoint, coming map[string]*newcomers) bool {
	deleted := deletedAt(ep)
	if deleted.IsZero() {
		return true
	}
	if n := coming[endpoints.Workload(ep.Pod)]; n.promised < n.of(controllerOf(ep.Pod), deleted) {
		n.promised++
		p.NextChange = retry.Soonest(p.NextChange, ReplacementPause) // it may go before it serves
		return true
	}
	known := p.Leaving.pods[ep.UID].deletedAt
	if known.IsZero() {
		known = in.Now
	}
	left := ReplacementPause - in.Now.Sub(known)
	if left > 0 {
		p.NextChange = retry.Soonest(p.NextChange, left)
	}
	return left > 0
}

// noteLeavers has users told of pods that are being deleted and stay targets.
func (p *Plan) noteLeavers(in Input) {
	for target, d := range p.Deregister {
		if !d.Stays || !in.Group.Complete() {
			continue
		}
		p.noteKept(in, target, Kept{For: UntilReplaced, Since: p.Leaving.pods[in.Endpoints[target].UID].since, By: d.Deadline})
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/e2e/emulator/dataplane"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
)

// moment is a turn in a pod's life, on either side: in Kubernetes, or at the load balancer.
type moment string

// The moments, named as a reader is shown them, in the order in which they should come.
const (
	created         moment = "created"
	containersReady moment = "containers ready"
	registered      moment = "registered"
	healthy         moment = "healthy"
	gateOpen        moment = "gate open"
	ready           moment = "Ready"
	deleted         moment = "deleted"
	deregistered    moment = "deregistered"
	lastRequest     moment = "no more traffic"
	sigterm         moment = "told to stop (SIGTERM)"
	gone            moment = "gone"
)

// The halves of a life that a rollout shows: new pods come, old pods go.
var (
	comings = []moment{created, containersReady, registered, healthy, gateOpen, ready}
	goings  = []moment{deleted, deregistered, lastRequest, sigterm, gone}
)

// fromKubelet says which of the kubelet's events is a moment of ours.
var fromKubelet = map[kubelet.Event]moment{
	kubelet.Created: created, kubelet.ContainersReady: containersReady, kubelet.Ready: ready,
	kubelet.DeletionSeen: deleted, kubelet.SIGTERM: sigterm, kubelet.Gone: gone,
}

// fromCall says which AWS call is a moment of its targets.
var fromCall = map[string]moment{"RegisterTargets": registered, "DeregisterTargets": deregistered}

// evidence is all that was seen from outside, of both apps.
type evidence struct {
	pods     []sighting
	kubelet  []kubelet.Moment
	calls    []wire.Call
	journal  []state.Event
	requests []dataplane.Request
}

// lane is the life of one pod. Times are relative to the start of the rollout.
type lane struct {
	Pod string
	New bool
	At  map[moment]time.Duration
	// Failed are the requests that the load balancer sent to this pod in vain.
	Failed []time.Duration

	uid types.UID
	ip  string
}

// has reports whether the pod came to the moment.
func (l lane) has(m moment) bool {
	_, ok := l.At[m]
	return ok
}

// note keeps the first time of a moment.
func (l lane) note(m moment, at time.Duration) {
	if _, known := l.At[m]; !known {
		l.At[m] = at
	}
}

// timeline puts the evidence on an app together: a lane a pod, old pods in the order in which they went, then new pods in
// the order in which they came. newVersion is the VERSION of the new ones. Pods that were gone at the start have no part
// in it.
func timeline(e evidence, namespace, groupARN, newVersion string, start time.Time) []lane {
	lanes := podLanes(e.pods, namespace, newVersion, start)
	for i := range lanes {
		lanes[i].addKubelet(e.kubelet, start)
		lanes[i].addCalls(e.calls, groupARN, start)
		lanes[i].addJournal(e.journal, groupARN, start)
		lanes[i].addRequests(e.requests, groupARN, start)
	}
	lanes = slices.DeleteFunc(lanes, func(l lane) bool { return l.has(gone) && l.At[gone] < 0 })
	slices.SortFunc(lanes, inOrder)
	return lanes
}

func podLanes(pods []sighting, namespace, newVersion string, start time.Time) []lane {
	var lanes []lane
	for _, pod := range pods {
		if pod.Namespace != namespace {
			continue
		}
		l := lane{Pod: pod.Name, New: pod.Version == newVersion, At: map[moment]time.Duration{}, uid: pod.UID, ip: pod.IP}
		if !pod.GateOpen.IsZero() {
			l.note(gateOpen, pod.GateOpen.Sub(start))
		}
		lanes = append(lanes, l)
	}
	return lanes
}

func (l lane) addKubelet(moments []kubelet.Moment, start time.Time) {
	for _, m := range moments {
		if name, ok := fromKubelet[m.Event]; ok && m.UID == l.uid {
			l.note(name, m.At.Sub(start))
		}
	}
}

// addCalls takes the time of the answer: from then on AWS has taken the change.
func (l lane) addCalls(calls []wire.Call, groupARN string, start time.Time) {
	for _, call := range calls {
		name, ok := fromCall[call.Operation]
		if !ok || call.Code != "" || call.TargetGroup != groupARN {
			continue
		}
		if slices.ContainsFunc(call.Targets, l.isTarget) {
			l.note(name, call.Answered.Sub(start))
		}
	}
}

func (l lane) addJournal(journal []state.Event, groupARN string, start time.Time) {
	for _, event := range journal {
		if event.Kind == state.Changed && event.To.State == state.Healthy && event.Group == groupARN && l.isTarget(event.Target.Key) {
			l.note(healthy, event.Time.Sub(start))
		}
	}
}

// addRequests notes what failed, and the last request to a pod that left: no more traffic came after it.
func (l *lane) addRequests(requests []dataplane.Request, groupARN string, start time.Time) {
	var last time.Time
	for _, request := range requests {
		if request.Group != groupARN || !l.isTarget(request.Target) {
			continue
		}
		if request.Start.After(last) {
			last = request.Start
		}
		if failed(request) {
			l.Failed = append(l.Failed, request.Start.Sub(start))
		}
	}
	if l.has(deleted) && !last.IsZero() {
		l.note(lastRequest, last.Sub(start))
	}
}

// isTarget is by address alone: each app has one port, and no address comes back during a run.
func (l lane) isTarget(key state.Key) bool { return l.ip != "" && key.ID == l.ip }

func inOrder(a, b lane) int {
	switch {
	case a.New != b.New:
		return map[bool]int{true: 1, false: -1}[a.New]
	case a.New:
		return cmp.Or(cmp.Compare(a.At[created], b.At[created]), cmp.Compare(a.Pod, b.Pod))
	default:
		return cmp.Or(cmp.Compare(a.At[deleted], b.At[deleted]), cmp.Compare(a.Pod, b.Pod))
	}
}

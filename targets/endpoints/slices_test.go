// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"iter"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/fixture"
)

// ownedGroup is a Group whose targets are registered for that pod.
type ownedGroup types.UID

func (ownedGroup) Len() int                        { return 0 }
func (ownedGroup) Targets() iter.Seq[elbv2.Target] { return func(func(elbv2.Target) bool) {} }
func (ownedGroup) Draining(elbv2.Target) bool      { return false }
func (g ownedGroup) Owner(elbv2.Target) types.UID  { return types.UID(g) }

func TestPlaceDoesNotDependOnOrder(t *testing.T) {
	at := func(uid types.UID, s State, open bool) Endpoint {
		pod := newPod(string(uid), "10.0.0.1")
		if open {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: testGate, Status: corev1.ConditionTrue})
		}
		ep := newEndpoint(one, pod, nodeFacts{}, testGate)
		ep.State = s
		return ep
	}
	onDownNode := func(ep Endpoint) Endpoint {
		ep.NodeDown = true
		return ep
	}
	tests := map[string]struct {
		a, b   Endpoint
		want   types.UID
		beside bool // the owner, which is "owner"
	}{
		"the owner, as both are open":      {at("a", Desired, true), at("owner", Desired, true), "owner", false},
		"one at its gate":                  {at("owner", Desired, true), at("b", Desired, false), "b", true},
		"the owner, as both are at gates":  {at("a", Desired, false), at("owner", Desired, false), "owner", false},
		"the wanted one":                   {at("a", Desired, true), at("owner", NotReady, true), "a", true},
		"the one whose node is up":         {at("a", Desired, true), onDownNode(at("owner", NotReady, true)), "a", false},
		"the one that stays":               {at("a", NotReady, true), at("owner", Terminating, true), "a", false},
		"the first name, as both are open": {at("a", Desired, true), at("b", Desired, true), "a", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, order := range [][]Endpoint{{tc.a, tc.b, tc.a}, {tc.b, tc.a, tc.b}} {
				res := &Resolution{Endpoints: map[elbv2.Target]Endpoint{}}
				r := resolving{binding: newBinding(), group: ownedGroup("owner"), res: res}
				for _, ep := range order {
					r.place(ep)
				}
				if got := res.Endpoints[one]; got.UID != tc.want || got.BesideOwner != tc.beside {
					t.Errorf("got %s, beside the owner %v; want %s, %v", got.UID, got.BesideOwner, tc.want, tc.beside)
				}
			}
		})
	}
}

// Two pods on a node that does not answer are wanted together when nothing else is: when the one goes that owns the target, the other
// has it.
func TestPlaceKnowsOfASecondPodThatIsOrMayBeWanted(t *testing.T) {
	tests := map[string]struct {
		second Endpoint
		want   bool
	}{
		"wanted":                  {Endpoint{State: Desired}, true},
		"wanted when nothing is":  {Endpoint{State: NotReady, lastResort: true}, true},
		"not ready":               {Endpoint{State: NotReady}, false},
		"it leaves":               {Endpoint{State: Terminating}, false},
		"the same pod once again": {Endpoint{State: NotReady, UID: "owner", lastResort: true}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			res := &Resolution{Endpoints: map[elbv2.Target]Endpoint{}}
			r := resolving{binding: newBinding(), group: ownedGroup("owner"), res: res}
			r.place(Endpoint{Target: one, UID: "owner", State: NotReady, lastResort: true})
			tc.second.Target = one
			r.place(tc.second)
			if got := res.Endpoints[one].Shared; got != tc.want {
				t.Errorf("shared: %t, want %t", got, tc.want)
			}
		})
	}
}

// There may be many pods without an endpoint, and slices with many ports: these are looked at once in a pass.
func TestWhyUnlistedIsAsThePassFoundIt(t *testing.T) {
	pod, slice := newPod("web-0", "10.0.0.1"), newSlice("web-1", newPod("web-0", "10.0.0.1"))
	cache := NewCache()
	cache.slices().change(nil, slice)
	res := Resolution{Service: fixture.Service(), Endpoints: map[elbv2.Target]Endpoint{}, Memory: Memory{Unseen: Unseen{}},
		Odd: map[string]string{}, portless: map[string]bool{}}
	r := resolving{Pass: NewResolver(nil, cache, false).ForPass(), binding: newBinding(), group: ownedGroup(""), res: &res}
	if err := r.fromSlices(t.Context(), corev1.ServicePort{Name: "http"}); err != nil {
		t.Fatal(err)
	}
	slice.Ports = nil
	if why, lasting := cache.WhyUnlisted(newBinding(), res, pod); lasting {
		t.Errorf("the slice is looked at again: %s", why)
	}
}

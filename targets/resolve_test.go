// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestResolve(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := newPod("web-0", "10.0.0.1")
		change(p)
		return p
	}
	slice := func(p *corev1.Pod, change func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
		s := newSlice("web-1", p)
		change(s)
		return s
	}
	plain := pod(func(*corev1.Pod) {})
	starting := pod(func(p *corev1.Pod) { p.Status.Conditions = nil })
	stranger := pod(func(p *corev1.Pod) { p.Labels = map[string]string{"app": "other"} })
	terminating := withFinalizer(pod(func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) }))
	ofOthers := slice(plain, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef.Namespace = "other" })
	elsewhere := slice(plain, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.0.0.9"} })
	nine := elbv2.Target{ID: "10.0.0.9", Port: 8080}
	known := targetgroup.Targets{one: {Presence: targetgroup.Registered}}

	tests := map[string]struct {
		objects []client.Object
		port    intstr.IntOrString
		known   targetgroup.Targets
		want    map[elbv2.Target]endpoints.State
		missing string
		unnamed bool   // the Service's port has no name
		skipped string // what users are told of the slices
	}{
		"not ready in the slice, containers ready": {
			objects: []client.Object{plain, newSlice("web-1", plain)}, want: map[elbv2.Target]endpoints.State{one: endpoints.Desired},
		},
		"port by name": {
			objects: []client.Object{plain, newSlice("web-1", plain)}, port: intstr.FromString("http"),
			want: map[elbv2.Target]endpoints.State{one: endpoints.Desired},
		},
		"port that does not exist": {
			objects: []client.Object{plain, newSlice("web-1", plain)}, port: intstr.FromString("grpc"),
			missing: `Service "web" has no port "grpc"`,
		},
		"containers not ready": {
			objects: []client.Object{starting, newSlice("web-1", starting)}, want: map[elbv2.Target]endpoints.State{one: endpoints.NotReady},
		},
		"containers not ready but published": {
			objects: []client.Object{starting, slice(starting, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = nil })},
			want:    map[elbv2.Target]endpoints.State{one: endpoints.Desired},
		},
		"terminating, whatever the slice says": {
			objects: []client.Object{terminating, slice(terminating, func(s *discoveryv1.EndpointSlice) {
				s.Endpoints[0].Conditions.Ready = ptr.To(true)
			})},
			want: map[elbv2.Target]endpoints.State{one: endpoints.Terminating},
		},
		"ended": {
			objects: []client.Object{pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), newSlice("web-1", plain)},
			want:    map[elbv2.Target]endpoints.State{one: endpoints.Terminating},
		},
		"pod not in the cache": {
			objects: []client.Object{newSlice("web-1", plain)}, want: map[elbv2.Target]endpoints.State{one: endpoints.Undetermined},
		},
		"pod of the same name with another UID": {
			objects: []client.Object{pod(func(p *corev1.Pod) { p.UID = "second" }), newSlice("web-1", plain)},
			want:    map[elbv2.Target]endpoints.State{one: endpoints.Undetermined},
		},
		"endpoint without a pod": {
			objects: []client.Object{slice(plain, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].TargetRef = nil })},
		},
		"other address family": {
			objects: []client.Object{plain, slice(plain, func(s *discoveryv1.EndpointSlice) {
				s.AddressType, s.Endpoints[0].Addresses = discoveryv1.AddressTypeIPv6, []string{"2001:db8::1"}
			})},
		},
		"pod listed in two slices while it moves": {
			objects: []client.Object{plain, newSlice("web-1", plain), newSlice("web-2", plain)},
			want:    map[elbv2.Target]endpoints.State{one: endpoints.Desired},
		},
		"registered, out of the slices, still selected": {
			objects: []client.Object{plain}, known: known, want: map[elbv2.Target]endpoints.State{one: endpoints.Undetermined},
		},
		"registered, no longer selected": {
			objects: []client.Object{stranger}, known: known, want: map[elbv2.Target]endpoints.State{one: endpoints.Unselected},
		},
		"registered on a port that the Service has left": {
			objects: []client.Object{plain, newSlice("web-1", plain)},
			known:   targetgroup.Targets{{ID: "10.0.0.1", Port: 9090}: {Presence: targetgroup.Registered}},
			want:    map[elbv2.Target]endpoints.State{one: endpoints.Desired, {ID: "10.0.0.1", Port: 9090}: endpoints.Unselected},
		},
		"registered and terminating, out of the slices": {
			objects: []client.Object{terminating}, known: known, want: map[elbv2.Target]endpoints.State{one: endpoints.Terminating},
		},
		"registered and nobody's": {known: known},
		"Service port without a name: every port of the slice": {
			objects: []client.Object{plain, slice(plain, func(s *discoveryv1.EndpointSlice) {
				s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: ptr.To("admin"), Port: ptr.To[int32](9090)}, discoveryv1.EndpointPort{})
			})},
			unnamed: true, want: map[elbv2.Target]endpoints.State{one: endpoints.Desired, {ID: "10.0.0.1", Port: 9090}: endpoints.Desired},
		},
		"pod of another namespace": {
			objects: []client.Object{plain, ofOthers}, skipped: "10.0.0.1:8080 is not registered: pod other/web-0 is in another namespace",
		},
		"pod of another namespace, registered before": {
			objects: []client.Object{ofOthers}, known: known, want: map[elbv2.Target]endpoints.State{one: endpoints.Undetermined},
			skipped: "10.0.0.1:8080 is not registered: pod other/web-0",
		},
		"address that is not the pod's": {
			objects: []client.Object{stranger, elsewhere}, skipped: "10.0.0.9:8080 is not registered: the address is none of those of pod web-0",
		},
		"address that is not the pod's, registered before": {
			objects: []client.Object{stranger, elsewhere}, known: targetgroup.Targets{nine: {Presence: targetgroup.Registered}},
			want: map[elbv2.Target]endpoints.State{nine: endpoints.Undetermined}, skipped: "10.0.0.9:8080 is not registered",
		},
		"address that was the pod's": {
			objects: []client.Object{plain, elsewhere}, known: targetgroup.Targets{nine: {Presence: targetgroup.Registered}},
			want: map[elbv2.Target]endpoints.State{nine: endpoints.Undetermined},
		},
		"address of a pod that has none yet": {
			objects: []client.Object{pod(func(p *corev1.Pod) { p.Status.PodIPs = nil }), slice(plain, func(s *discoveryv1.EndpointSlice) {
				s.Endpoints[0].Conditions.Ready = ptr.To(true)
			})},
			want: map[elbv2.Target]endpoints.State{one: endpoints.Undetermined},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.port == (intstr.IntOrString{}) {
				tc.port = intstr.FromInt32(80)
			}
			inBed(t, func(b *bed) {
				binding := newBinding()
				if tc.unnamed {
					service := newService()
					service.Spec.Ports[0].Name = ""
					b.must(b.cluster.Update(t.Context(), service))
				}
				binding.Spec.ServiceRef = v1beta1.ServiceReference{Name: "web", Port: tc.port}
				res, err := b.resolver.ForPass().Resolve(t.Context(), binding, tc.known)
				if err != nil {
					t.Fatal(err)
				}
				got := map[elbv2.Target]endpoints.State{}
				for target, ep := range res.Endpoints {
					got[target] = ep.State
				}
				if tc.want == nil {
					tc.want = map[elbv2.Target]endpoints.State{}
				}
				if told := res.Skipped; !strings.Contains(told, tc.skipped) || (told == "") != (tc.skipped == "") {
					t.Errorf("told %q, want %q", told, tc.skipped)
				}
				b.wantSameExplained(binding, slices.Collect(maps.Keys(tc.known)), res)
				if diff := cmp.Diff(tc.want, got); diff != "" || res.Missing != tc.missing {
					t.Errorf("missing %q, want %q; endpoints (-want +got):\n%s", res.Missing, tc.missing, diff)
				}
			}, tc.objects...)
		})
	}
}

// A pod that a target was registered for was in the cache once. Its slice may be behind, as when it was deleted by force.
func TestResolveFindsThatARegisteredPodIsGone(t *testing.T) {
	gone := newPod("web-0", "10.0.0.1")
	again, renamed, homeless := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.1"), newPod("web-0", "10.0.0.1")
	moved := newPod("web-0", "10.0.0.9")
	again.UID, renamed.UID, homeless.UID, moved.UID = "web-0 again", gone.UID, "web-0 again", "web-0 again"
	homeless.Status.PodIPs = nil
	known := targetgroup.Targets{one: {Presence: targetgroup.Registered, Owner: gone.UID}}
	tests := map[string]struct {
		pod       *corev1.Pod
		anonymous bool // the slice does not say the pod's UID
		want      endpoints.State
		absent    bool // nothing explains the target
	}{
		"for good":                      {want: endpoints.Terminating},
		"and came again under its name": {pod: again, want: endpoints.Terminating},
		"for good, and a slice without UIDs does not say so":                    {anonymous: true, want: endpoints.Terminating},
		"and the next one of its name, of a slice without UIDs, starts":         {pod: homeless, anonymous: true, want: endpoints.Terminating},
		"and came again elsewhere, of which a slice without UIDs knows nothing": {pod: moved, anonymous: true, absent: true},
		"not at all: a slice without UIDs names another one at its place":       {pod: renamed, anonymous: true, want: endpoints.Undetermined},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			slice := newSlice("web-1", gone)
			if tc.anonymous {
				slice.Endpoints[0].TargetRef.UID = ""
			}
			objects := []client.Object{slice}
			if tc.pod != nil {
				objects = append(objects, tc.pod)
			}
			inBed(t, func(b *bed) {
				res, err := b.resolver.ForPass().Resolve(t.Context(), newBinding(), known)
				b.must(err)
				if got, there := res.Endpoints[one]; got.State != tc.want || there == tc.absent {
					t.Errorf("its target is %s, want it %s; explained: %t", got.State, tc.want, there)
				}
			}, objects...)
		})
	}
}

func TestResolvePrefersLiveSelectedPodAtAddress(t *testing.T) {
	ended := newPod("job", "10.0.0.1")
	ended.Status.Phase = corev1.PodSucceeded
	neighbour := newPod("agent", "10.0.0.1") // in the host network, as web-0
	neighbour.Labels = nil
	inBed(t, func(b *bed) {
		pod := b.resolver.PodAt("shop", "10.0.0.1", newService(), "")
		if pod == nil || pod.Name != "web-0" {
			t.Errorf("pod at the address: %v; want web-0, which lives and is selected", pod)
		}
	}, ended, neighbour, newPod("web-0", "10.0.0.1"))
}

// Whoever writes a slice by hand may list a thousand ports for a thousand endpoints.
func TestResolveBoundsPortsOfServicePortWithoutName(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	slice := newSlice("web-1", pod)
	for port := range int32(500) {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: ptr.To(fmt.Sprintf("p%d", port)), Port: ptr.To(port + 1)})
	}
	service := newService()
	service.Spec.Ports[0].Name = ""
	inBed(t, func(b *bed) {
		b.must(b.cluster.Update(t.Context(), service))
		res, err := b.resolver.ForPass().Resolve(t.Context(), newBinding(), targetgroup.Targets{})
		b.must(err)
		if len(res.Endpoints) != endpoints.MaxUnnamedPorts || len(res.Odd) != 1 {
			t.Errorf("%d endpoints, told %v; want %d and a remark", len(res.Endpoints), res.Odd, endpoints.MaxUnnamedPorts)
		}
	}, pod, slice)
}

// What a pass does not look at may be wanted.
func TestResolveBoundsEndpoints(t *testing.T) {
	pod, stranger := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")
	stranger.Labels = nil // slices that are written by hand may list it
	objects := []client.Object{pod, stranger}
	for i := range endpoints.MaxEndpoints/1000 + 1 {
		slice := newSlice(fmt.Sprintf("by-hand-%02d", i), pod)
		slice.Endpoints = slices.Repeat(slice.Endpoints, 1000)
		for j := range slice.Endpoints {
			slice.Endpoints[j].TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: fmt.Sprintf("none-%d", j)}
			slice.Endpoints[j].Addresses = []string{fmt.Sprintf("10.1.%d.%d", i*4+j/250, j%250)}
		}
		objects = append(objects, slice)
	}
	listed := newPod("web-2", "10.0.0.4") // behind the others
	objects = append(objects, listed, newSlice("last", listed))
	known := targetgroup.Targets{two: {Presence: targetgroup.Registered}, foreign: {Presence: targetgroup.Registered}}
	ofGone := elbv2.Target{ID: "10.0.0.3", Port: 8080}
	inBed(t, func(b *bed) {
		res, err := b.resolver.ForPass().Resolve(t.Context(), newBinding(), known)
		b.must(err)
		if n := len(res.Endpoints); n != endpoints.MaxEndpoints+2 || len(res.Odd) != 1 {
			t.Errorf("%d endpoints, told %v; want %d and a remark", n, res.Odd, endpoints.MaxEndpoints+2)
		}
		for target := range known {
			if ep, there := res.Endpoints[target]; !there || ep.State != endpoints.Undetermined {
				t.Errorf("%s is %s, want it undetermined", target, ep.State)
			}
		}
		const told = "EndpointSlices of Service web list more than 10000 endpoints"
		if why, lasting := b.resolver.WhyUnlisted(newBinding(), res, listed); !lasting || !strings.HasPrefix(why, told) {
			t.Errorf("a pod that is listed behind the others is unlisted as %s", why)
		}
		known[ofGone] = targetgroup.Target{Presence: targetgroup.Registered, Owner: "gone"}
		res, err = b.resolver.ForPass().Resolve(t.Context(), newBinding(), known)
		b.must(err)
		if ep, there := res.Endpoints[ofGone]; there {
			t.Errorf("the target of a pod that is gone is %s, want it unexplained", ep.State)
		}
	}, objects...)
}

// Two slices that are written by hand may list an address, one of them for a pod that is gone.
func TestResolveTellsNotOfWhatAnotherSliceListsRightly(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	wrong := newSlice("by-hand", pod)
	wrong.Endpoints[0].TargetRef.Namespace = "other"
	inBed(t, func(b *bed) {
		res, err := b.resolver.ForPass().Resolve(t.Context(), newBinding(), targetgroup.Targets{})
		b.must(err)
		if res.Skipped != "" || res.Endpoints[one].State != endpoints.Desired {
			t.Errorf("told %q of %v", res.Skipped, res.Endpoints)
		}
	}, pod, wrong, newSlice("web-1", pod))
}

func TestResolveTellsOfPortsOfAServiceThatAreNotRead(t *testing.T) {
	service := newService()
	var others []corev1.ServicePort
	for port := range int32(endpoints.MaxPorts) {
		others = append(others, corev1.ServicePort{Name: fmt.Sprintf("p%d", port), Port: port + 1000})
	}
	service.Spec.Ports = others // the cache has none after these
	inBed(t, func(b *bed) {
		b.must(b.cluster.Update(t.Context(), service))
		res, err := b.resolver.ForPass().Resolve(t.Context(), newBinding(), targetgroup.Targets{})
		b.must(err)
		if want := `Service "web" has no port "80" among its first 1000 ports: the others are not read`; res.Missing != want {
			t.Errorf("missing: %s", res.Missing)
		}
	})
}

// Ports of a slice beyond the first ones are not in memory.
func TestResolveTellsOfPortsThatAreNotRead(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	pod.Labels = nil // slices that are written by hand may list it
	known := targetgroup.Targets{one: {Presence: targetgroup.Registered}}
	for name, tc := range map[string]struct {
		before int // ports, before that of the Service
		want   endpoints.State
		told   int
	}{
		"the last one that is read": {endpoints.MaxPorts - 1, endpoints.Desired, 0},
		"the next one":              {endpoints.MaxPorts, endpoints.Undetermined, 1},
	} {
		t.Run(name, func(t *testing.T) {
			slice := newSlice("web-1", pod)
			var others []discoveryv1.EndpointPort
			for port := range tc.before {
				others = append(others, discoveryv1.EndpointPort{Name: ptr.To(fmt.Sprintf("p%d", port)), Port: ptr.To(int32(port) + 1)})
			}
			slice.Ports = append(others, slice.Ports...)
			inBed(t, func(b *bed) {
				res, err := b.resolver.ForPass().Resolve(t.Context(), newBinding(), known)
				b.must(err)
				if ep, there := res.Endpoints[one]; !there || ep.State != tc.want || len(res.Odd) != tc.told {
					t.Errorf("its target is %s, told %v; want it %s, told %d times", ep.State, res.Odd, tc.want, tc.told)
				}
				const told = "EndpointSlice web-1 has more than 1000 ports"
				if why, lasting := b.resolver.WhyUnlisted(newBinding(), res, pod); tc.told > 0 && (!lasting || !strings.HasPrefix(why, told)) {
					t.Errorf("the pod is unlisted as %s", why)
				}
			}, pod, slice)
		})
	}
}

func TestRegistrarTellsOfSkippedEndpoints(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	slice := newSlice("web-1", pod)
	slice.Endpoints[0].TargetRef.Namespace = "other"
	inBed(t, func(b *bed) {
		b.settle()
		b.after(time.Hour)
		if told := b.told(v1beta1.ReasonEndpointSkipped); told != 1 {
			t.Errorf("told %d times, want once", told)
		}
		if c := b.degraded(); c.Reason != v1beta1.ReasonEndpointSkipped || !strings.Contains(c.Message, "pod other/web-0") {
			t.Errorf("condition Degraded says %s: %s", c.Reason, c.Message)
		}
		if len(b.targets()) > 0 {
			t.Errorf("targets %v, want none", b.targets())
		}
	}, slice)
}

// Pods in the host network that share a port (SO_REUSEPORT): a rollout has the new one beside the old one.
func TestRegistrarKeepsTargetThatTwoLivePodsShare(t *testing.T) {
	old, fresh := newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.1")
	first, second := newSlice("web-a", old), newSlice("web-b", fresh)
	for name, listed := range map[string][]client.Object{"in this order": {first, second}, "in the other": {second, first}} {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				b.settle()
				b.aws.SetHealth(testARN, one, healthy)
				b.after(time.Second)
				b.must(b.cluster.Create(t.Context(), fresh.DeepCopy()))
				for _, slice := range listed {
					slice = slice.DeepCopyObject().(client.Object)
					_ = b.cluster.Delete(t.Context(), slice)
					slice.SetResourceVersion("")
					b.must(b.cluster.Create(t.Context(), slice))
				}
				b.settle()
				b.after(time.Minute)
				if got, want := b.condition("web-1"), "True "; got != want {
					t.Errorf("condition of the new pod %q, want %q", got, want)
				}
				b.must(b.cluster.Delete(t.Context(), old))
				b.settle()
				b.after(time.Minute)
				if calls := b.aws.Calls("DeregisterTargets"); len(calls) > 0 || b.targets()[one.String()] != elbv2.StateHealthy {
					t.Errorf("targets %v, deregistrations %v; want none", b.targets(), calls)
				}
			}, old, first)
		})
	}
}

// Pods without gates at one address: the one that the target is not registered for goes on serving.
func TestRegistrarKeepsTargetOfPodBesideTheOwner(t *testing.T) {
	ends := map[string]func(*bed, *corev1.Pod){
		"is deleted":   func(b *bed, owner *corev1.Pod) { b.must(b.cluster.Delete(b.t.Context(), owner)) },
		"is not ready": func(b *bed, owner *corev1.Pod) { b.setContainersReady(owner.Name, corev1.ConditionFalse) },
		"is deleted before its registration was answered": func(b *bed, _ *corev1.Pod) {
			b.must(b.cluster.Delete(b.t.Context(), newPod("web-1", "10.0.0.1")))
			b.settle()
			b.addAndDeleteGatedTwin()
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			owner, twin := withFinalizer(newPod("web-0", "10.0.0.1")), withFinalizer(newPod("web-1", "10.0.0.1"))
			owner.Spec.ReadinessGates, twin.Spec.ReadinessGates = nil, nil
			inBed(t, func(b *bed) {
				b.settle()
				b.aws.SetHealth(testARN, one, healthy)
				b.after(time.Second)
				b.must(b.cluster.Create(t.Context(), twin.DeepCopy()))
				b.must(b.cluster.Create(t.Context(), newSlice("web-b", twin)))
				b.settle()
				b.after(time.Minute)
				end(b, owner)
				b.settle()
				b.after(time.Minute)
				if calls := b.aws.Calls("DeregisterTargets"); len(calls) > 0 || len(b.targets()) != 1 {
					t.Errorf("targets %v, deregistrations %v; want none", b.targets(), calls)
				}
			}, owner, newSlice("web-a", owner))
		})
	}
}

// addAndDeleteGatedTwin adds a pod at its gate at the address of another one, and deletes it while its registration is under way.
func (b *bed) addAndDeleteGatedTwin() {
	b.t.Helper()
	answer := b.hangRegistrations()
	pod := withFinalizer(newPod("web-2", "10.0.0.1"))
	b.must(b.cluster.Create(b.t.Context(), pod.DeepCopy()))
	b.must(b.cluster.Create(b.t.Context(), newSlice("web-c", pod)))
	b.settle()
	b.must(b.cluster.Delete(b.t.Context(), pod))
	b.settle()
	answer()
}

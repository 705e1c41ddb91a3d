// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// MaxEndpoints is how many endpoints of a binding's Service a pass looks at, each port for itself: more than any target group takes. A user
// who writes slices by hand may list millions. What a pass does not look at is neither added nor removed.
const MaxEndpoints = 10_000

// fromSlices finds the endpoints in the EndpointSlices of the binding's Service.
func (r resolving) fromSlices(ctx context.Context, port corev1.ServicePort) error {
	seen := 0
	all := r.slicesOf(r.binding)
	wanted := portsOf(port, all)
	for _, slice := range all {
		ports := wanted.in(slice)
		r.notePorts(slice, len(ports))
		for _, port := range ports[:min(len(ports), MaxUnnamedPorts)] {
			for i := range slice.Endpoints {
				if seen++; seen > MaxEndpoints {
					r.cut(slice)
					return nil
				}
				if err := r.add(ctx, slice, &slice.Endpoints[i], port); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cut notes that no further endpoint of the Service is looked at, from this slice on.
func (r resolving) cut(slice *discoveryv1.EndpointSlice) {
	r.res.cut = fmt.Sprintf("EndpointSlices of Service %s list more than %d endpoints, each port counted: those beyond are "+
		"neither registered nor deregistered, from EndpointSlice %s on. Spread them over several Services",
		r.binding.Spec.ServiceRef.Name, MaxEndpoints, slice.Name)
	r.res.Odd[slice.Name] = r.res.cut
}

// notePorts notes that none of a slice's ports is the Service's, and has users told of ports that are left out.
func (r resolving) notePorts(slice *discoveryv1.EndpointSlice, found int) {
	switch {
	case found > MaxUnnamedPorts:
		r.res.Odd[slice.Name] = fmt.Sprintf("EndpointSlice %s has more than %d ports: the first %d are targets of a Service port without a name",
			slice.Name, MaxUnnamedPorts, MaxUnnamedPorts)
	case found == 0 && len(slice.Ports) > MaxPorts:
		r.res.cut = fmt.Sprintf("EndpointSlice %s has more than %d ports: only the first %d are read, and none is the Service's "+
			"port %q: name it among the first", slice.Name, MaxPorts, MaxPorts, r.binding.Spec.ServiceRef.Port.String())
		r.res.Odd[slice.Name] = r.res.cut
	case found == 0:
		r.res.portless[slice.Name] = true
	}
}

// slicesOf are those of the binding's Service in its family.
func (r *Resolver) slicesOf(binding *v1beta1.TargetGroupBinding) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	for _, slice := range r.SliceByService.At(binding.Namespace, binding.Spec.ServiceRef.Name) {
		if slice.AddressType == addressType(binding) {
			out = append(out, slice)
		}
	}
	return out
}

func addressType(binding *v1beta1.TargetGroupBinding) discoveryv1.AddressType {
	if binding.Spec.Family() == v1beta1.IPAddressTypeIPv6 {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}

// add takes one endpoint of a slice. While a pod moves between two slices it is listed in both.
func (r resolving) add(ctx context.Context, slice *discoveryv1.EndpointSlice, ep *discoveryv1.Endpoint, port int32) error {
	if ep.TargetRef == nil || ep.TargetRef.Kind != "Pod" || len(ep.Addresses) == 0 {
		return nil
	}
	target, ref := elbv2.NewTarget(ep.Addresses[0], port), ep.TargetRef
	if ref.Namespace != "" && ref.Namespace != r.binding.Namespace {
		r.skip(target, fmt.Sprintf("pod %s/%s is in another namespace than the TargetGroupBinding", ref.Namespace, ref.Name))
		return nil
	}
	pod := r.PodByName.First(r.binding.Namespace, ref.Name)
	if !agrees(pod, ref) {
		r.addUnseen(target, pod, ref)
		return nil
	}
	if !hasAddress(pod, ep.Addresses[0]) {
		r.skip(target, r.strange(pod))
		return nil
	}
	node, err := r.nodeOf(ctx, pod)
	if err != nil {
		return err
	}
	found := r.endpoint(target, pod, node)
	found.Zone = cmp.Or(ptr.Deref(ep.Zone, ""), node.zone)
	found.judge(node, sliceWord{ready: isReadyIn(ep.Conditions), byHand: isByHand(slice)}, readiness.GateFor(r.binding.Name))
	r.place(found)
	return nil
}

// agrees reports whether the cache of pods shows the pod that a slice refers to, with an address.
func agrees(pod *corev1.Pod, ref *corev1.ObjectReference) bool {
	return pod != nil && (ref.UID == "" || pod.UID == ref.UID) && len(pod.Status.PodIPs) > 0
}

// hasAddress reports whether the address is one of the pod's own, in any spelling.
func hasAddress(pod *corev1.Pod, address string) bool {
	return slices.ContainsFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool {
		return ip.IP == address || elbv2.NewTarget(ip.IP, 0) == elbv2.NewTarget(address, 0)
	})
}

// strange is what users are told of a slice that lists the pod at an address that is not its own. That is nothing where the
// Service selects the pod: a pod that was started again gets another address, and its slice follows.
func (r resolving) strange(pod *corev1.Pod) string {
	if Selects(r.res.Service, pod) {
		return ""
	}
	return fmt.Sprintf("the address is none of those of pod %s", pod.Name)
}

// skip leaves an endpoint out: whoever may write EndpointSlices could have the load balancer send to any address otherwise.
func (r resolving) skip(target elbv2.Target, why string) { r.skipped[target] = why }

// tellSkipped has users told of the endpoints that were skipped, all in one.
func (r resolving) tellSkipped() {
	n, first := 0, ""
	for target, why := range r.skipped {
		if _, listed := r.res.Endpoints[target]; why == "" || listed { // another slice may list it rightly
			continue
		}
		n++
		if text := fmt.Sprintf("%s is not registered: %s", target, why); first == "" || text < first {
			first = text
		}
	}
	if n > 1 {
		first += fmt.Sprintf(" (and %d more)", n-1)
	}
	if n > 0 {
		r.res.Skipped = "EndpointSlices list what cannot be a target: " + first
	}
}

// place adds an endpoint. Of several at one address and port the one that stays counts: the pods of the others have ended and
// lost the address, or the pod is listed twice. Pods in the host network may share both for long.
func (r resolving) place(ep Endpoint) {
	there, taken := r.res.Endpoints[ep.Target]
	if !taken {
		r.res.Endpoints[ep.Target] = ep
		return
	}
	owner := r.group.Owner(ep.Target)
	first, second := there, ep
	if cmp.Or(cmp.Compare(r.rank(second, owner), r.rank(first, owner)), cmp.Compare(first.UID, second.UID)) > 0 {
		first, second = second, first
	}
	ownerLives := there.BesideOwner || ep.BesideOwner || second.UID == owner && second.lives()
	first.BesideOwner = ownerLives && first.UID != owner
	first.Shared = there.Shared || ep.Shared || first.UID != second.UID && (second.State == Desired || second.lastResort)
	r.res.Endpoints[ep.Target] = first
}

// rank orders endpoints at one address and port, whatever the order of the slices. Of several that are wanted a pod at its gate
// comes first, as it has to be registered for that to open, and then the pod for which the target is registered.
func (r resolving) rank(ep Endpoint, owner types.UID) int {
	out := [...]int{Terminating: 0, HeldBack: 2, NotReady: 4, Undetermined: 6, Desired: 8}[ep.State]
	if ep.State == Desired && ep.AtGate(readiness.GateFor(r.binding.Name)) {
		out += 2
	}
	if ep.UID == owner {
		out++
	}
	return out
}

func newEndpoint(target elbv2.Target, pod *corev1.Pod, node nodeFacts, gate corev1.PodConditionType) Endpoint {
	return Endpoint{
		Target: target, UID: pod.UID, Pod: pod,
		Unproven:    readiness.Has(pod, gate) && !readiness.ShowsRegistration(pod, gate),
		Proven:      readiness.IsOpenByHealth(pod, gate),
		ServesUntil: servesUntil(pod, node), LeavesAtOnce: leavesAtOnce(pod),
	}
}

// endpoint is the pod's, as far as the pod itself says what is wanted of it.
func (r resolving) endpoint(target elbv2.Target, pod *corev1.Pod, node nodeFacts) Endpoint {
	ep := newEndpoint(target, pod, node, readiness.GateFor(r.binding.Name))
	if closed := readiness.ClosedByOthers(pod, r.LoadBalancerGates); closed != "" {
		ep.Held, ep.Gate = HeldByGate, closed
	}
	return ep
}

// lives reports whether the pod may serve: an unready one may be ready again, but on a node that is down.
func (ep Endpoint) lives() bool {
	return ep.State == Desired || ep.State == NotReady && !ep.NodeDown
}

// Unseen are the pods that EndpointSlices of a binding list and the cache of pods does not show, and since when passes find that. A map is
// not to be changed.
type Unseen map[podRef]time.Time

// podRef is how a slice refers to a pod. Slices that are written by hand may lack the UID.
type podRef struct {
	name string
	uid  types.UID
}

// longUnseen is how long the cache does not show a pod until there is none: much longer than the watch of pods is behind that of
// EndpointSlices, also when it has to list all pods again because an API server was away.
const longUnseen = 5 * time.Minute

// Next is how long it is until the next of the pods counts as one that does not exist, 0 when none will.
func (u Unseen) Next(now time.Time) (wait time.Duration) {
	for _, since := range u {
		if left := longUnseen - now.Sub(since); left > 0 && (wait == 0 || left < wait) {
			wait = left
		}
	}
	return wait
}

// After has the pass know what the last one over the binding has found. A pass that does not know that takes no pod for gone only
// because it is unseen.
func (p *Pass) After(last Memory, now time.Time) *Pass {
	p.memory, p.now = last, now
	return p
}

// addUnseen takes an endpoint whose pod the cache does not show as the slice refers to it; the pass looks again when the caches agree. A
// pod that the target was registered for was in the cache, and is gone: it was deleted without a grace period, or the watch had a gap. One
// that has not been seen for long does not exist, and explains no target.
func (r resolving) addUnseen(target elbv2.Target, pod *corev1.Pod, ref *corev1.ObjectReference) {
	found, owner := Endpoint{Target: target, UID: ref.UID, Named: true}, r.group.Owner(target)
	switch {
	case owner != "" && cmp.Or(ref.UID, owner) == owner && (pod == nil || pod.UID != owner) && !r.isAt(target, owner):
		found.UID, found.State = owner, Terminating
	case pod != nil && (ref.UID == "" || pod.UID == ref.UID): // it has no address yet
	case r.isLongUnseen(podRef{ref.Name, ref.UID}):
		r.gone[target] = true
		r.skip(target, "there is no "+podRef{ref.Name, ref.UID}.String())
		return
	}
	r.place(found)
}

// isAt reports whether the pod lives at the target's address, whatever its name is.
func (r resolving) isAt(target elbv2.Target, uid types.UID) bool {
	return slices.ContainsFunc(r.PodByAddress.At(r.binding.Namespace, target.ID), func(pod *corev1.Pod) bool { return pod.UID == uid })
}

// isLongUnseen notes that the pod is unseen, and reports whether it has been for long.
func (r resolving) isLongUnseen(pod podRef) bool {
	since, known := r.memory.Unseen[pod]
	if !known {
		since = r.now
	}
	r.res.Unseen[pod] = since
	return r.now.Sub(since) >= longUnseen
}

// String is the pod as users read it.
func (p podRef) String() string {
	if p.uid == "" {
		return "pod " + p.name
	}
	return fmt.Sprintf("pod %s with UID %s", p.name, p.uid)
}

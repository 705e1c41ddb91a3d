// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/networking"
	"github.com/targetgate/targetgate/targets/networking/members"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// inboundRules hands on what bindings ask for by spec.networking, and from which pods and nodes. Nothing waits for the answer but the
// finalizer of a binding that is being deleted. The zero value makes no rules.
type inboundRules struct {
	manager *networking.Manager
	reader  client.Reader
}

// newInboundRules needs all of settings but List and Wake.
func newInboundRules(
	settings *networking.Settings, mode ownership.Mode, reader client.Reader, wake func(types.NamespacedName),
) inboundRules {
	if settings == nil {
		return inboundRules{}
	}
	own := *settings
	own.List, own.Wake = bindingsWithNetworking(reader, mode), wake
	return inboundRules{networking.New(own), reader}
}

// bindingsWithNetworking lists those in the cache that may need rules, without their members.
func bindingsWithNetworking(reader client.Reader, mode ownership.Mode) func(context.Context) ([]networking.Binding, error) {
	return func(ctx context.Context) ([]networking.Binding, error) {
		var list v1beta1.TargetGroupBindingList
		if err := reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing bindings: %w", err)
		}
		var out []networking.Binding
		for i := range list.Items {
			b := &list.Items[i]
			if b.Spec.Networking == nil {
				continue
			}
			if idle, err := isIdle(ctx, reader, mode, b); err != nil {
				return nil, err
			} else if idle {
				continue
			}
			out = append(out, networking.Binding{
				Key: client.ObjectKeyFromObject(b), UID: b.UID, Networking: b.Spec.Networking, Nodes: !b.Spec.IsIP(),
				Foreign: mode == ownership.Beside && !mode.Holds(b),
			})
		}
		return out, nil
	}
}

// isIdle reports whether the binding is refused and has no finalizer of a controller: nothing was ever registered for it, nor will be as
// long as that holds. Not so where it takes over the group of one that is being deleted: the targets in it stay, and need their rules. One
// whose role is not allowed may have taken a group over like that.
func isIdle(ctx context.Context, reader client.Reader, mode ownership.Mode, binding *v1beta1.TargetGroupBinding) (bool, error) {
	if mode == ownership.Beside || mode.Holds(binding) {
		return false, nil
	}
	duplicates, err := ownership.Duplicates(ctx, reader, binding)
	if err != nil {
		return false, err
	}
	why, successor := ownership.Unmanageable(binding, duplicates)
	return why != "" && !successor, nil
}

// start has the rules made until ctx ends.
func (n inboundRules) start(ctx context.Context) {
	if n.manager != nil {
		go func() { _ = n.manager.Start(ctx) }() // ends with ctx, and without an error
	}
}

// want says what the binding asks for now, and returns how far that is.
func (n inboundRules) want(ctx context.Context, binding *v1beta1.TargetGroupBinding, res endpoints.Resolution, group targetgroup.Snapshot) (
	networking.State, error,
) {
	if n.manager == nil {
		return networking.State{}, nil
	}
	key := client.ObjectKeyFromObject(binding)
	wish := networking.Binding{Key: key, UID: binding.UID, Networking: binding.Spec.Networking, Nodes: !binding.Spec.IsIP()}
	if wish.Networking != nil {
		wish.Incomplete = !group.Complete() || slices.ContainsFunc(slices.Collect(maps.Values(res.Endpoints)), isUnknown)
		var err error
		if wish.Members, err = n.members(ctx, wish.Nodes, res, group); err != nil {
			return networking.State{}, err
		}
	}
	n.manager.Want(wish)
	return n.state(key), nil
}

func (n inboundRules) state(key types.NamespacedName) networking.State {
	if n.manager == nil {
		return networking.State{}
	}
	return n.manager.State(key)
}

// released reports whether no rule is left that only this binding, which is being deleted, asked for; and, when it is not worth
// waiting any longer, what is left.
func (n inboundRules) released(binding *v1beta1.TargetGroupBinding) (done bool, left *events.Event) {
	if n.manager == nil {
		return true, nil
	}
	key := client.ObjectKeyFromObject(binding)
	if !n.manager.Release(key, binding.UID, binding.Spec.Networking) {
		return false, nil
	}
	if state := n.manager.State(key); state.Progress == networking.Failed {
		e := events.Warning("SecurityGroupRulesLeft", "Cleanup", "%s", state.Message)
		left = &e
	}
	return true, left
}

func (n inboundRules) forget(key types.NamespacedName) {
	if n.manager != nil {
		n.manager.Forget(key)
	}
}

// isUnknown reports whether the caches do not agree yet on what the endpoint is.
func isUnknown(ep endpoints.Endpoint) bool { return ep.State == endpoints.Undetermined }

// members are the pods or nodes that are or belong in the target group, in an order that does not change from pass to pass. A load balancer
// goes on sending to targets for some time while they drain.
func (n inboundRules) members(ctx context.Context, nodes bool, res endpoints.Resolution, group targetgroup.Snapshot) (
	[]members.Member, error,
) {
	byUID := map[types.UID]endpoints.Endpoint{}
	for target, ep := range res.Endpoints {
		if t := group.Targets[target]; ep.State == endpoints.Desired || t.MayBeIn() || t.Presence == targetgroup.Draining {
			byUID[ep.UID] = ep
		}
	}
	for target, pod := range res.Draining {
		byUID[pod.UID] = endpoints.Endpoint{Target: target, UID: pod.UID, Pod: pod}
	}
	list := n.podMembers
	if nodes {
		list = n.nodeMembers
	}
	found, err := list(ctx, byUID)
	slices.SortFunc(found, func(a, b members.Member) int { return cmp.Compare(a.UID, b.UID) })
	return found, err
}

func (n inboundRules) podMembers(ctx context.Context, byUID map[types.UID]endpoints.Endpoint) ([]members.Member, error) {
	var out []members.Member
	nodes := map[string]*corev1.Node{}
	for _, ep := range byUID {
		address, err := netip.ParseAddr(ep.Target.ID)
		if ep.Pod == nil || err != nil {
			continue
		}
		name := ep.Pod.Spec.NodeName
		if _, known := nodes[name]; !known {
			node := &corev1.Node{}
			if err := n.reader.Get(ctx, client.ObjectKey{Name: name}, node, client.UnsafeDisableDeepCopy); apierrors.IsNotFound(err) {
				node = nil
			} else if err != nil {
				return nil, fmt.Errorf("getting Node %s: %w", name, err)
			}
			nodes[name] = node
		}
		out = append(out, members.PodMember(ep.Pod, nodes[name], address))
	}
	return out, nil
}

func (n inboundRules) nodeMembers(ctx context.Context, byInstance map[types.UID]endpoints.Endpoint) ([]members.Member, error) {
	var list corev1.NodeList
	if err := n.reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	var out []members.Member
	for i := range list.Items {
		id, ok := endpoints.InstanceID(&list.Items[i])
		if _, in := byInstance[types.UID(id)]; ok && in {
			out = append(out, members.NodeMember(&list.Items[i]))
		}
	}
	return out, nil
}

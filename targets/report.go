// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// maxPatches is how many pods of a binding are patched side by side.
const maxPatches = 16

// podCount counts the pods behind a binding by their gates.
type podCount struct {
	gated, waiting, ungated int
}

// verdict is what to write to one pod.
type verdict struct {
	endpoint endpoint
	health   readiness.Health
}

// patchTimeout bounds the writing of one pod's condition: a pass must not wait long for anything.
const patchTimeout = 5 * time.Second

// report tells the pods what the load balancer says of them, and counts them. A patch that fails concerns that pod
// alone. Gates of a binding that registers nodes are opened: no pod's health is checked.
func (r *Registrar) report(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding, res resolution, p plan) (*podCount, error) {
	if !binding.Spec.IsIP() {
		return nil, r.openGates(ctx, s.key, readiness.NotManaged("spec.targetType is instance: nodes are registered, not pods"))
	}
	gate := readiness.GateFor(binding.Name)
	entries, _ := s.group.snapshot()
	list := verdicts(res.endpoints, entries, gate, s.group.obstacles(p, r.Policy))
	err := sideBySide(ctx, list, func(ctx context.Context, v verdict) error { return r.reportOne(ctx, s, gate, v) })
	gated, listErr := r.gatedPods(ctx, s.key)
	count := countPods(gated, res.endpoints, gate)
	return &count, errors.Join(err, listErr)
}

// sideBySide writes to each pod, some at a time, and returns all failures together.
func sideBySide[T any](ctx context.Context, pods []T, write func(context.Context, T) error) error {
	failures := make([]error, len(pods))
	var writes errgroup.Group
	writes.SetLimit(maxPatches)
	for i, pod := range pods {
		writes.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, patchTimeout)
			defer cancel()
			failures[i] = write(ctx, pod)
			return nil
		})
	}
	_ = writes.Wait() // its functions return nil
	return errors.Join(failures...)
}

func (r *Registrar) reportOne(ctx context.Context, s session, gate corev1.PodConditionType, v verdict) error {
	wrote, err := r.Writer.Set(ctx, v.endpoint.pod, gate, v.health)
	if err != nil {
		return err
	}
	if v.health.Status == corev1.ConditionTrue {
		s.group.setOpened(v.endpoint.target, v.endpoint.uid)
	}
	if wrote {
		r.tellPod(v.endpoint.pod, gate, v.endpoint.target, v.health)
	}
	return nil
}

// verdicts are the pods whose gates are not open yet, and what their conditions have to say. Obstacles are what keeps
// targets from being registered.
func verdicts(endpoints map[elbv2.Target]endpoint, entries map[elbv2.Target]entry, gate corev1.PodConditionType,
	obstacles map[elbv2.Target]readiness.Health,
) []verdict {
	var out []verdict
	for target, ep := range endpoints {
		if ep.pod == nil || ep.standing == leaving || !readiness.Has(ep.pod, gate) {
			continue
		}
		e := entries[target]
		if readiness.IsOpen(ep.pod, gate) || e.opened && e.owner == ep.uid {
			continue
		}
		if health, ok := registeredHealth(e, ep); ok {
			out = append(out, verdict{ep, health})
		} else if obstacle, ok := obstacles[target]; ok {
			out = append(out, verdict{ep, obstacle})
		}
	}
	return out
}

// registeredHealth is what is known of the pod's own registration; ok is false while there is nothing to say.
func registeredHealth(e entry, ep endpoint) (health readiness.Health, ok bool) {
	switch h := e.healthOf(ep.uid); {
	case h.State != "":
		return readiness.FromTarget(string(h.State), h.Reason, h.Description), true
	case e.presence == registered && e.owner == ep.uid:
		return readiness.FromTarget(string(elbv2.StateInitial), elbv2.ReasonRegistrationInProgress,
			elbv2.DescriptionRegistrationInProgress), true
	}
	return readiness.Health{}, false
}

// obstacles are the targets that cannot be registered now, and why.
func (g *group) obstacles(p plan, policy Policy) map[elbv2.Target]readiness.Health {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[elbv2.Target]readiness.Health{}
	for target := range p.register {
		why := ""
		if e, known := g.entries[target]; known {
			why = e.refusal
		}
		if o, aside := g.registration.aside[target]; aside {
			why = o.refusal
		} else if err := g.registration.err; err != nil {
			why = elbv2.Message(err)
		}
		if why != "" {
			out[target] = readiness.RegistrationFailed(cut(why))
		}
	}
	for target := range p.leftOut {
		out[target] = readiness.TargetGroupFull(groupFull(policy))
	}
	return out
}

// countPods counts the pods that carry the gate, whether the Service selects them or not, and the selected ones that do
// not.
func countPods(gated []corev1.Pod, endpoints map[elbv2.Target]endpoint, gate corev1.PodConditionType) podCount {
	var n podCount
	for i := range gated {
		if isLeaving(&gated[i]) {
			continue
		}
		n.gated++
		if !readiness.IsOpen(&gated[i], gate) {
			n.waiting++
		}
	}
	for _, ep := range endpoints {
		selected := ep.standing == wanted || ep.standing == unready || ep.standing == kept
		if selected && ep.pod != nil && !readiness.Has(ep.pod, gate) {
			n.ungated++
		}
	}
	return n
}

// gatedPods are the pods that carry the gate of the binding; read only.
func (r *Registrar) gatedPods(ctx context.Context, key types.NamespacedName) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{indexPodGate: key.Name})
	if err != nil {
		return nil, fmt.Errorf("listing gated pods: %w", err)
	}
	return pods.Items, nil
}

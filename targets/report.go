// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/elbv2"
)

// maxPatches is how many pods of a binding are patched side by side.
const maxPatches = 16

// pods counts the pods behind a binding by their gates.
type podCount struct {
	gated, waiting, ungated int
}

// verdict is what to write to one pod.
type verdict struct {
	endpoint endpoint
	health   readiness.Health
}

// report tells the pods what the load balancer says of them. A patch that fails concerns that pod alone: the others
// are written, and the error has the binding come back.
func (r *Registrar) report(ctx context.Context, s session, gate corev1.PodConditionType, verdicts []verdict) error {
	failures := make([]error, len(verdicts))
	var patches errgroup.Group
	patches.SetLimit(maxPatches)
	for i, v := range verdicts {
		patches.Go(func() error {
			failures[i] = r.reportOne(ctx, s, gate, v)
			return nil
		})
	}
	_ = patches.Wait() // its functions return nil
	return errors.Join(failures...)
}

func (r *Registrar) reportOne(ctx context.Context, s session, gate corev1.PodConditionType, v verdict) error {
	wrote, err := r.Writer.Set(ctx, v.endpoint.pod, gate, v.health)
	if err != nil {
		return err
	}
	if v.health.Status == corev1.ConditionTrue {
		s.group.setOpened(v.endpoint.target, v.endpoint.uid)
		if wrote {
			r.gateOpened(v.endpoint.pod, gate, v.endpoint.target)
		}
	}
	return nil
}

// verdicts are the pods whose gates are not open yet, and what their conditions have to say.
func verdicts(endpoints map[elbv2.Target]endpoint, entries map[elbv2.Target]entry, gate corev1.PodConditionType,
	registerErr error,
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
		if health, ok := verdictOf(e, ep, registerErr); ok {
			out = append(out, verdict{ep, health})
		}
	}
	return out
}

// verdictOf is what is known of the pod's own registration; ok is false while there is nothing to say.
func verdictOf(e entry, ep endpoint, registerErr error) (health readiness.Health, ok bool) {
	switch h := e.healthOf(ep.uid); {
	case h.State != "":
		return readiness.FromTarget(string(h.State), h.Reason, h.Description), true
	case e.presence == registered && e.owner == ep.uid:
		return readiness.FromTarget(string(elbv2.StateInitial), elbv2.ReasonRegistrationInProgress,
			elbv2.DescriptionRegistrationInProgress), true
	case registerErr != nil && ep.standing == wanted:
		return readiness.RegistrationFailed(elbv2.Message(registerErr)), true
	}
	return readiness.Health{}, false
}

func countPods(endpoints map[elbv2.Target]endpoint, gate corev1.PodConditionType) podCount {
	var n podCount
	for _, ep := range endpoints {
		switch {
		case ep.pod == nil || ep.standing == leaving:
		case !readiness.Has(ep.pod, gate):
			n.ungated++
		case readiness.IsOpen(ep.pod, gate):
			n.gated++
		default:
			n.gated++
			n.waiting++
		}
	}
	return n
}

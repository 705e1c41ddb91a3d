// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// patchTimeout bounds the writing of one pod's condition: a pass must not wait long for anything.
const patchTimeout = 5 * time.Second

// report tells the pods what the load balancer says of them, counts them, and says what else users should be told. A
// patch that fails concerns that pod alone. Gates of a binding that registers nodes are opened: no pod's health is checked.
func (r *Registrar) report(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding, res resolution, p plan,
) (*podCount, map[string]notice, error) {
	if !binding.Spec.IsIP() {
		why := readiness.NotManaged("spec.targetType is instance: nodes are registered, not pods")
		return nil, map[string]notice{}, r.openGates(ctx, s.key, why)
	}
	gated, err := r.gatedPods(ctx, s.key)
	if err != nil {
		return nil, map[string]notice{}, err
	}
	j := r.newJudge(s.group, binding.Name, res, p)
	verdicts := j.verdicts(gated)
	err = sideBySide(ctx, verdicts, func(ctx context.Context, v verdict) error { return r.write(ctx, s, j.gate, v) })
	s.group.setDetached(j.detachedNow)
	count := countPods(gated, res.endpoints, j.gate)
	told := j.lateNotices(verdicts)
	if count.ungated > 0 && r.asksForGates(ctx, binding.Namespace) {
		maps.Copy(told, ungatedNotices(res.endpoints, j.gate))
	}
	return &count, told, err
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

func (r *Registrar) write(ctx context.Context, s session, gate corev1.PodConditionType, v verdict) error {
	wrote, err := r.Writer.Set(ctx, v.pod, gate, v.health)
	if err != nil {
		return err
	}
	var openedAt time.Time
	if v.health.Status == corev1.ConditionTrue {
		openedAt = r.Clock.Now()
	}
	s.group.setOpened(v.target, v.pod.UID, openedAt)
	if wrote {
		r.tellPod(v, gate)
		r.measure(s, v, gate)
	}
	return nil
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
		if ungated(ep, gate) {
			n.ungated++
		}
	}
	return n
}

// ungated reports whether the Service selects the pod, and the pod has no gate.
func ungated(ep endpoint, gate corev1.PodConditionType) bool {
	selected := ep.standing == wanted || ep.standing == unready || ep.standing == kept
	return selected && ep.pod != nil && !readiness.Has(ep.pod, gate)
}

// asksForGates reports whether pods of the namespace get gates at their creation.
func (r *Registrar) asksForGates(ctx context.Context, namespace string) bool {
	var ns corev1.Namespace
	if err := r.Client.Get(ctx, client.ObjectKey{Name: namespace}, &ns, client.UnsafeDisableDeepCopy); err != nil {
		return false
	}
	return r.InjectsGates && ns.Labels[readiness.InjectLabel] == readiness.InjectEnabled
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

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// modelPutBack is the time in which what somebody else changes of what targetgate wrote to the API server is back.
const modelPutBack = time.Minute

// strange is what somebody else writes into a text of ours.
const strange = "Overwritten"

// overwritten is a change by somebody else that has to be undone.
type overwritten struct {
	what   string
	since  time.Time
	isBack func() bool // or is no longer to be
	// isUnknown reports whether a process that began since cannot know what it was; nil for never.
	isUnknown func() bool
	restarted bool // a process has begun since, or just before
}

// overwriteGate has somebody else change or remove the condition of a gate. What is open stays open for the life of the pod, so that a gate
// that somebody else opens is left alone.
func overwriteGate(m *model, s step) {
	m.withPod(s, func(pod *corev1.Pod) {
		if len(pod.Spec.ReadinessGates) == 0 {
			return
		}
		gate := pod.Spec.ReadinessGates[s.b%len(pod.Spec.ReadinessGates)].ConditionType
		was := conditionOf(pod, gate)
		if _, ours := readiness.BindingOf(gate); was == nil || !ours {
			return
		}
		edit(m.store, pod, func(o *corev1.Pod) {
			overwriteCondition(o, gate, s.c)
		})
		if was.Status == corev1.ConditionTrue {
			m.watch.noteLost(pod.UID, *was)
		}
		m.expect("the condition "+string(gate)+" of "+string(pod.UID), func() bool { return m.isUntold(pod, *was) }, func() bool {
			now := stored[*corev1.Pod](m.store, "shop", pod.Name)
			if now == nil || now.UID != pod.UID || !live(now) || !m.isManaged(gate) {
				return true
			}
			c := conditionOf(now, gate)
			return c != nil && c.Reason != strange && c.Message != strange && (was.Status != corev1.ConditionTrue || isTrue(now, gate))
		})
	})
}

func overwriteCondition(pod *corev1.Pod, gate corev1.PodConditionType, how int) {
	c := conditionOf(pod, gate)
	switch how % 4 {
	case 0:
		pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == gate })
	case 1:
		c.Status, c.Reason = corev1.ConditionFalse, strange
	case 2:
		c.Reason = strange
	default:
		c.Message = strange
	}
}

// isManaged reports whether the gate is that of a binding that is there, and not going.
func (m *model) isManaged(gate corev1.PodConditionType) bool {
	b := stored[*v1beta1.TargetGroupBinding](m.store, "shop", strings.TrimPrefix(string(gate), "target-health.elbv2.k8s.aws/"))
	return b != nil && b.DeletionTimestamp == nil
}

// overwriteBinding has somebody else remove the finalizer of a binding, as with a replaced manifest, or the status, or change or remove a
// field of that, whichever.
func overwriteBinding(m *model, s step) {
	bindings := listOf[*v1beta1.TargetGroupBinding](m.store)
	if len(bindings) == 0 {
		return
	}
	b := bindings[s.a%len(bindings)]
	if b.DeletionTimestamp != nil || !m.acting(b) {
		return
	}
	switch {
	case s.b%5 == 0 && len(b.Finalizers) > 0:
		edit(m.store, b, func(o *v1beta1.TargetGroupBinding) { o.Finalizers = nil })
		m.expectOf(b, "the finalizer", func(now *v1beta1.TargetGroupBinding) bool { return len(now.Finalizers) > 0 })
	case s.b%5 == 1 && len(b.Status.Conditions) > 0:
		edit(m.store, b, func(o *v1beta1.TargetGroupBinding) { o.Status = v1beta1.TargetGroupBindingStatus{} })
		m.expectOf(b, "the status", func(now *v1beta1.TargetGroupBinding) bool { return len(now.Status.Conditions) >= 2 })
	default:
		m.overwriteStatus(b, s.c)
	}
}

// overwriteStatus changes the one field of the status.
func (m *model) overwriteStatus(b *v1beta1.TargetGroupBinding, which int) {
	tree := treeOf(b.Status)
	fields := fieldsOf(tree, "status")
	if len(fields) == 0 {
		return
	}
	f := fields[which%len(fields)]
	isBack := f.alter()
	edit(m.store, b, func(o *v1beta1.TargetGroupBinding) {
		o.Status = v1beta1.TargetGroupBindingStatus{}
		statusOf(tree, &o.Status)
	})
	m.expectOf(b, f.path, func(now *v1beta1.TargetGroupBinding) bool { return isBack(treeOf(now.Status)) })
}

// statusField is one value of a status, or a condition as a whole.
type statusField struct {
	path   string
	parent map[string]any
	key    string
}

func treeOf(status v1beta1.TargetGroupBindingStatus) map[string]any {
	data, err := json.Marshal(status)
	out := map[string]any{}
	if err := errors.Join(err, json.Unmarshal(data, &out)); err != nil {
		panic(err)
	}
	if list, ok := out["conditions"].([]any); ok { // by type, so that they can be told apart
		byType := map[string]any{}
		for _, c := range list {
			byType[c.(map[string]any)["type"].(string)] = c
		}
		out["conditions"] = byType
	}
	return out
}

// statusOf is treeOf, backwards.
func statusOf(tree map[string]any, to *v1beta1.TargetGroupBindingStatus) {
	tree = maps.Clone(tree)
	if byType, ok := tree["conditions"].(map[string]any); ok {
		tree["conditions"] = slices.Collect(maps.Values(byType))
	}
	data, err := json.Marshal(tree)
	if err := errors.Join(err, json.Unmarshal(data, to)); err != nil {
		panic(err)
	}
}

func fieldsOf(tree map[string]any, path string) (out []statusField) {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		if key == "type" {
			continue
		}
		out = append(out, statusField{path + "." + key, tree, key})
		if sub, ok := tree[key].(map[string]any); ok {
			out = append(out, fieldsOf(sub, path+"."+key)...)
		}
	}
	return out
}

// alter changes the field, or removes it if it is a part, and says how to tell that this was undone.
func (f statusField) alter() (isBack func(tree map[string]any) bool) {
	before, key := f.parent[f.key], f.key
	path := strings.Split(f.path, ".")[1:]
	switch value := before.(type) {
	case float64:
		f.parent[key] = value + 1000
	case string:
		f.parent[key] = alteredText(key)
	default:
		delete(f.parent, key)
		return func(tree map[string]any) bool { return at(tree, path) != nil }
	}
	altered := f.parent[key]
	return func(tree map[string]any) bool { return at(tree, path) != altered }
}

// alteredText is a text that no status of ours has there.
func alteredText(key string) string {
	switch key {
	case "lastTransitionTime":
		return "2001-02-03T04:05:06Z"
	case "status":
		return "Unknown"
	default:
		return strange
	}
}

func at(tree map[string]any, path []string) any {
	var now any = tree
	for _, key := range path {
		sub, ok := now.(map[string]any)
		if !ok {
			return nil
		}
		now = sub[key]
	}
	return now
}

// isUntold reports whether nothing tells a new process what the condition said: not the load balancer, which does not find the target of a
// gate healthy that was open because of that, nor the gate's own reason, where that was one of ours.
func (m *model) isUntold(pod *corev1.Pod, was corev1.PodCondition) bool {
	if was.Status != corev1.ConditionTrue {
		return false
	}
	m.aws.mu.Lock()
	defer m.aws.mu.Unlock()
	b := stored[*v1beta1.TargetGroupBinding](m.store, "shop", strings.TrimPrefix(string(was.Type), "target-health.elbv2.k8s.aws/"))
	if b == nil || len(pod.Status.PodIPs) == 0 || was.Reason != "" {
		return true
	}
	t := m.aws.groups[b.Spec.TargetGroupARN].targets[elbv2.Target{ID: pod.Status.PodIPs[0].IP, Port: modelPort}]
	return t == nil || t.shown != elbv2.StateHealthy
}

// expect holds targetgate to undo a change.
func (m *model) expect(what string, isUnknown, isBack func() bool) {
	began := time.Since(m.upSince) < 15*time.Second // it may not have seen what it was
	m.lost = append(m.lost, overwritten{what: what, since: time.Now(), isBack: isBack, isUnknown: isUnknown, restarted: began})
}

func (m *model) expectOf(b *v1beta1.TargetGroupBinding, what string, isBack func(*v1beta1.TargetGroupBinding) bool) {
	unknown := func() bool {
		m.aws.mu.Lock()
		defer m.aws.mu.Unlock()
		g := m.aws.groups[b.Spec.TargetGroupARN]
		// A new process believes what the status says of a group that it cannot read.
		return strings.Contains(what, ".lastTransitionTime") || strings.HasPrefix(what, "status.target") && (g.gone || g.denied)
	}
	m.expect(what+" of "+string(b.UID), unknown, func() bool {
		now := stored[*v1beta1.TargetGroupBinding](m.store, "shop", b.Name)
		return now == nil || now.UID != b.UID || now.DeletionTimestamp != nil || !m.acting(now) || isBack(now)
	})
}

// checkLost looks for what was not put back in time. The time begins anew while targetgate is down, or the API server refuses its writes.
func (m *model) checkLost(now time.Time) {
	disturbed := now.Before(m.upSince) || now.Sub(m.unsettled.writes) < 5*time.Second || now.Sub(m.unsettled.cache) < 5*time.Second
	m.lost = slices.DeleteFunc(m.lost, func(o overwritten) bool { return o.restarted && o.isUnknown != nil && o.isUnknown() || o.isBack() })
	for i := range m.lost {
		o := &m.lost[i]
		if o.since = latest(o.since, m.upSince); disturbed {
			o.since = now
		}
		within := modelPutBack
		if strings.HasPrefix(o.what, "status.targetGroup.") { // believed by a new process until it reads the settings
			within = 2*testDrift + modelPutBack
		}
		if now.Sub(o.since) > within {
			m.watch.breaks("%s, which somebody else has changed, is not back after %s", o.what, now.Sub(o.since))
		}
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) && b.Before(time.Now()) {
		return b
	}
	return a
}

func (w *modelWatch) noteLost(pod types.UID, c corev1.PodCondition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost[fact(pod, string(c.Type))] = c
}

// wasOpen reports whether the gate was open with that reason until somebody else changed it.
func (w *modelWatch) wasOpen(pod types.UID, c corev1.PodCondition) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was, ever := w.lost[fact(pod, string(c.Type))]
	return ever && was.Reason == c.Reason
}

// isLost reports whether somebody else has changed the gate of the pod, and it is not back.
func (m *model) isLost(pod types.UID, gate corev1.PodConditionType) bool {
	return slices.ContainsFunc(m.lost, func(o overwritten) bool { return o.what == fmt.Sprintf("the condition %s of %s", gate, pod) })
}

// overwriteRecord has somebody else change or remove the record of a shared group. Nothing else happens until it is back: what is lost with
// targetgate's memory is lost.
func overwriteRecord(m *model, s step) {
	m.store.mu.Lock()
	isRefused := time.Now().Before(m.store.refused["configmaps"])
	m.store.mu.Unlock()
	bindings := slices.DeleteFunc(listOf[*v1beta1.TargetGroupBinding](m.store), func(b *v1beta1.TargetGroupBinding) bool {
		return len(m.record(b)) == 0 || b.DeletionTimestamp != nil || !m.acting(b)
	})
	if len(bindings) == 0 || isRefused {
		return
	}
	b := bindings[s.a%len(bindings)]
	was := stored[*corev1.ConfigMap](m.store, "shop", "aws-lbc-targets-"+b.Name)
	if was == nil || was.Data["targets"] == "" {
		return
	}
	switch s.b % 3 {
	case 0:
		m.store.remove(was)
	case 1:
		edit(m.store, was, func(o *corev1.ConfigMap) { o.Data = nil })
	default:
		edit(m.store, was, func(o *corev1.ConfigMap) { o.Annotations = nil })
	}
	m.expectOf(b, "the record", func(*v1beta1.TargetGroupBinding) bool {
		now := stored[*corev1.ConfigMap](m.store, "shop", was.Name)
		if now == nil {
			return false
		}
		_, written := now.Data["targets"] // of none, maybe, by now
		return written && now.Annotations["targetgate.dev/binding-uid"] == string(b.UID)
	})
	m.advance(modelPutBack, time.Second)
}

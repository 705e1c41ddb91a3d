// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/scope"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// bindingState is all that is read of one binding; its links are made from this alone.
type bindingState struct {
	now       time.Time
	binding   *v1beta1.TargetGroupBinding
	desired   desired
	pods      []corev1.Pod      // of the namespace
	namespace *corev1.Namespace // nil when it may not be read
	scope     scope.Scope       // of the pod webhook; by the namespace's label when that was not read
	scopeErr  error             // why it was not
	leader    leader            // of the targetgate that has the binding, or would
	beside    leader            // of the targetgate beside the incumbent
	notTaken  string            // why targetgate should not take it beside the incumbent; read where its namespace has the label
	reading   *reading          // nil when AWS is not asked
}

// reading is what AWS says, asked with the credentials of whoever asks for the explanation.
type reading struct {
	group  elbv2.TargetGroup
	health map[elbv2.Target]elbv2.Health
	err    error
}

func (e *Explainer) look(ctx context.Context, binding *v1beta1.TargetGroupBinding) (*bindingState, error) {
	s := &bindingState{
		now: e.Clock.Now(), binding: binding, reading: e.read(ctx, binding),
		beside: readLeader(ctx, e.cluster.reader, e.BesideLease),
	}
	if s.leader = s.beside; e.leaseOf(binding) != e.BesideLease {
		s.leader = readLeader(ctx, e.cluster.reader, e.leaseOf(binding))
	}
	var err error
	if s.desired, err = e.cluster.resolve(ctx, binding, s.reading.targets()); err != nil {
		return nil, err
	}
	if s.pods, err = e.cluster.pods(ctx, binding.Namespace); err != nil {
		return nil, err
	}
	var ns corev1.Namespace
	if e.cluster.reader.Get(ctx, client.ObjectKey{Name: binding.Namespace}, &ns) == nil {
		s.namespace = &ns
	}
	if s.registrar().isLabelled() && !ownership.Beside.Holds(binding) {
		if s.notTaken, err = e.cluster.notTaken(ctx, binding); err != nil {
			return nil, err
		}
	}
	s.scope, s.scopeErr = scope.ReadScope(ctx, e.cluster.reader, e.WebhookConfiguration)
	return s, nil
}

// read asks AWS, if it is to be asked.
func (e *Explainer) read(ctx context.Context, binding *v1beta1.TargetGroupBinding) *reading {
	arn := binding.Spec.TargetGroupARN
	if e.AWS == nil || arn == "" {
		return nil
	}
	r := &reading{}
	aws, err := e.AWS(binding)
	if err == nil {
		r.group, err = aws.GroupByARN(ctx, budget.ClassOther, arn)
	}
	if err == nil {
		r.health, err = aws.Health(ctx, budget.ClassOther, arn, elbv2.WholeGroup)
	}
	r.err = err
	return r
}

// answered reports whether AWS was asked, and has answered.
func (r *reading) answered() bool { return r != nil && r.err == nil }

// targets are those of the group, as far as they are known.
func (r *reading) targets() []elbv2.Target {
	if !r.answered() {
		return nil
	}
	return slices.Collect(maps.Keys(r.health))
}

func (s *bindingState) gate() corev1.PodConditionType { return readiness.GateFor(s.binding.Name) }

// chain is the binding's own links, and those of one pod, or of all endpoints when that is nil.
func (s *bindingState) chain(only *corev1.Pod) Chain {
	c := Chain{Namespace: s.binding.Namespace, Binding: s.binding.Name, Links: s.bindingLinks()}
	_, theirs := s.registrar().link()
	switch {
	case theirs:
	case !s.binding.Spec.IsIP() && only == nil:
		c.Endpoints = s.nodeEndpoints()
	case only != nil:
		c.Links = append(c.Links, s.nodesLinks()...)
		c.Endpoints = []Endpoint{s.podEndpoint(only)}
	default:
		for i := range s.pods {
			if s.desired.isBehind(&s.pods[i], s.gate()) {
				c.Endpoints = append(c.Endpoints, s.podEndpoint(&s.pods[i]))
			}
		}
	}
	return concluded(c)
}

// selected counts the pods that the Service selects.
func (s *bindingState) selected() int {
	n := 0
	for i := range s.pods {
		if s.desired.selects(&s.pods[i]) {
			n++
		}
	}
	return n
}

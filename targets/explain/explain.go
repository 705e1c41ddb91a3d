// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Explainer is for one question: what it has read once it does not read again.
type Explainer struct {
	// Reader reads from the API server itself.
	Reader client.Reader
	// AWS is the client to ask about a binding's target group; nil asks none.
	AWS func(*v1beta1.TargetGroupBinding) (*elbv2.Client, error)
	// Clock is the API server's: that of the machine on which users ask may be wrong.
	Clock clock.PassiveClock
	// Lease is where targetgate's leader says that it lives, and BesideLease where that of one beside the incumbent does.
	Lease, BesideLease client.ObjectKey
	// WebhookConfiguration is the name of the MutatingWebhookConfiguration that says which pods get gates.
	WebhookConfiguration string
	// LoadBalancerGates are as the Registrar's; nil are the default ones.
	LoadBalancerGates []string

	cluster *clusterReader
}

// New returns an Explainer over these.
func New(e Explainer) *Explainer {
	e.cluster = newClusterReader(e.Reader)
	if e.LoadBalancerGates != nil {
		e.cluster.loadBalancerGates = e.LoadBalancerGates
	}
	return &e
}

// Namespace explains every binding of the namespace, with all its pods. An error says what could not be read, or that
// there is no such namespace; a namespace without bindings has an empty report.
func (e *Explainer) Namespace(ctx context.Context, namespace string) (Report, error) {
	bindings, err := e.bindings(ctx, namespace)
	if err != nil {
		return Report{}, err
	}
	if len(bindings) == 0 {
		var ns corev1.Namespace
		if err := e.Reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns); err != nil && !apierrors.IsForbidden(err) {
			return Report{}, fmt.Errorf("getting namespace: %w", err)
		}
	}
	return e.report(ctx, bindings, nil)
}

// Binding explains one binding, with all its pods.
func (e *Explainer) Binding(ctx context.Context, key client.ObjectKey) (Report, error) {
	var binding v1beta1.TargetGroupBinding
	if err := e.Reader.Get(ctx, key, &binding); err != nil {
		return Report{}, fmt.Errorf("getting TargetGroupBinding in namespace %s: %w", key.Namespace, err)
	}
	return e.report(ctx, []v1beta1.TargetGroupBinding{binding}, nil)
}

// Pod explains one pod, with every binding whose gate it has, whose Service selects it, or whose endpoint it is.
func (e *Explainer) Pod(ctx context.Context, key client.ObjectKey) (Report, error) {
	var pod corev1.Pod
	if err := e.Reader.Get(ctx, key, &pod); err != nil {
		return Report{}, fmt.Errorf("getting pod in namespace %s: %w", key.Namespace, err)
	}
	all, err := e.bindings(ctx, key.Namespace)
	if err != nil {
		return Report{}, err
	}
	var concerned []v1beta1.TargetGroupBinding
	for i := range all {
		concerns, err := e.concerns(ctx, &all[i], &pod)
		if err != nil {
			return Report{}, err
		}
		if concerns {
			concerned = append(concerned, all[i])
		}
	}
	report, err := e.report(ctx, concerned, &pod)
	report.Chains = append(report.Chains, lostGates(&pod, all)...)
	if len(report.Chains) == 0 {
		report.Chains = []Chain{unbound(&pod)}
	}
	return report, err
}

func (e *Explainer) bindings(ctx context.Context, namespace string) ([]v1beta1.TargetGroupBinding, error) {
	var list v1beta1.TargetGroupBindingList
	if err := e.Reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing TargetGroupBindings: %w", err)
	}
	return list.Items, nil
}

// concerns reports whether the pod is behind the binding.
func (e *Explainer) concerns(ctx context.Context, binding *v1beta1.TargetGroupBinding, pod *corev1.Pod) (bool, error) {
	found, err := e.cluster.resolve(ctx, binding, nil)
	if err != nil {
		return false, fmt.Errorf("looking at TargetGroupBinding %s: %w", binding.Name, err)
	}
	return found.isBehind(pod, readiness.GateFor(binding.Name)), nil
}

// report explains the bindings, with one pod or with all of theirs when that is nil.
func (e *Explainer) report(ctx context.Context, bindings []v1beta1.TargetGroupBinding, pod *corev1.Pod) (Report, error) {
	out := Report{Chains: []Chain{}} // programs want a list of none
	for i := range bindings {
		s, err := e.look(ctx, &bindings[i])
		if err != nil {
			return out, fmt.Errorf("looking at TargetGroupBinding %s: %w", bindings[i].Name, err)
		}
		out.Chains = append(out.Chains, s.chain(pod))
	}
	for _, kind := range e.cluster.reader.unread {
		out.Notes = append(out.Notes, UnreadNote(kind))
	}
	return out, nil
}

// UnreadNote is the note about what may not be read, in the words of RBAC.
func UnreadNote(kind string) string {
	return "you may not read " + kind + ": what they could change is not checked"
}

// lostGates are chains for gates whose bindings are not there.
func lostGates(pod *corev1.Pod, bindings []v1beta1.TargetGroupBinding) []Chain {
	var out []Chain
	for _, gate := range pod.Spec.ReadinessGates {
		name, ours := readiness.BindingOf(gate.ConditionType)
		there := slices.ContainsFunc(bindings, func(b v1beta1.TargetGroupBinding) bool { return b.Name == name })
		if !ours || there {
			continue
		}
		l := link("binding", Broken, "the pod has the gate of TargetGroupBinding %q, which does not exist", name).
			advise("targetgate opens such gates; a gate that stays closed needs a running targetgate that watches the namespace")
		if readiness.IsOpen(pod, gate.ConditionType) {
			l = link("binding", OK, "TargetGroupBinding %q no longer exists, and the pod's gate is open", name)
		}
		out = append(out, concluded(Chain{Namespace: pod.Namespace, Binding: name, Links: []Link{l}}))
	}
	return out
}

// unbound is the chain of a pod that no binding has to do with.
func unbound(pod *corev1.Pod) Chain {
	return concluded(Chain{Namespace: pod.Namespace, Links: []Link{
		link("binding", Broken, "no TargetGroupBinding of the namespace names a Service that selects pod %q", pod.Name).
			advise("See the labels (kubectl -n %s get pod %s --show-labels), the selectors of the Services (kubectl -n %[1]s get services -o wide) "+
				"and what the bindings name (kubectl -n %[1]s get targetgroupbindings)", pod.Namespace, pod.Name),
	}})
}

func concluded(c Chain) Chain {
	c.conclude()
	return c
}

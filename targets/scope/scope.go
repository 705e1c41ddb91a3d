// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scope knows which pods get readiness gates at their creation: those that the pod webhook's selectors cover.
package scope

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/retry"
)

// Scope is which pods get gates at their creation: those that the pod webhook's selectors cover. The zero Scope is that of
// namespaces with the label, all pods in them.
type Scope struct {
	namespaces, pods labels.Selector
}

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=targetgate-webhook,verbs=get

// ReadScope reads it from the webhook configuration of that name, so that it is what the API server goes by.
func ReadScope(ctx context.Context, reader client.Reader, name string) (Scope, error) {
	var configuration admissionregistrationv1.MutatingWebhookConfiguration
	if err := reader.Get(ctx, client.ObjectKey{Name: name}, &configuration); err != nil {
		return Scope{}, fmt.Errorf("reading MutatingWebhookConfiguration %s: %w", name, err)
	}
	for i := range configuration.Webhooks {
		if hook := &configuration.Webhooks[i]; hook.Name == readiness.PodWebhook {
			return scopeOf(hook)
		}
	}
	return Scope{}, fmt.Errorf("reading MutatingWebhookConfiguration %s: it has no webhook %s", name, readiness.PodWebhook)
}

// scopeOf takes no selector for one that selects all, as the API server does.
func scopeOf(hook *admissionregistrationv1.MutatingWebhook) (Scope, error) {
	all := &metav1.LabelSelector{}
	namespaces, err := metav1.LabelSelectorAsSelector(cmp.Or(hook.NamespaceSelector, all))
	pods, podErr := metav1.LabelSelectorAsSelector(cmp.Or(hook.ObjectSelector, all))
	if err := errors.Join(err, podErr); err != nil {
		return Scope{}, fmt.Errorf("reading the selectors of webhook %s: %w", hook.Name, err)
	}
	return Scope{namespaces, pods}, nil
}

// byLabel is the label by which namespaces ask for gates, in the words of a selector.
const byLabel = readiness.InjectLabel + " in (" + readiness.InjectEnabled + ")"

// CoversNamespace reports whether pods of the namespace may get gates.
func (s Scope) CoversNamespace(namespace *corev1.Namespace) bool {
	if s.namespaces == nil {
		return namespace.Labels[readiness.InjectLabel] == readiness.InjectEnabled
	}
	return s.namespaces.Matches(labels.Set(namespace.Labels))
}

// Unmet are the requirements of the selector that a namespace which it does not cover does not meet. ByLabelAlone says that nothing
// is missing but the label by which namespaces ask for gates.
func (s Scope) Unmet(namespace *corev1.Namespace) (unmet []string, byLabelAlone bool) {
	if s.namespaces == nil {
		return []string{byLabel}, true
	}
	requirements, _ := s.namespaces.Requirements()
	for _, requirement := range requirements {
		if !requirement.Matches(labels.Set(namespace.Labels)) {
			unmet = append(unmet, requirement.String())
		}
	}
	return unmet, len(unmet) == 1 && unmet[0] == byLabel
}

// CoversPod reports whether the pod gets gates, in such a namespace, by the labels that it has now.
func (s Scope) CoversPod(pod *corev1.Pod) bool {
	return s.pods == nil || s.pods.Matches(labels.Set(pod.Labels))
}

// scopePause is the pause between readings of the scope, which changes with an installation's settings.
const scopePause = time.Minute

// Follower keeps the scope as the API server has it. Until it could be read it is the zero Scope. Safe for concurrent use.
type Follower struct {
	// Namespaces reads namespaces from a cache; Uncached reads from the API server itself.
	Namespaces, Uncached client.Reader
	// Configuration is the name of the MutatingWebhookConfiguration.
	Configuration string
	// Injects says that admission gives pods gates.
	Injects bool

	scope atomic.Pointer[Scope] // nil before it was read
}

// Follow reads the scope again and again until ctx ends.
func (f *Follower) Follow(ctx context.Context) {
	for told := ""; ctx.Err() == nil; {
		scope, err := ReadScope(ctx, f.Uncached, f.Configuration)
		if err == nil {
			f.scope.Store(&scope)
			told = ""
		} else if told != err.Error() {
			told = err.Error()
			ctrl.LoggerFrom(ctx).Error(err, "Failed to read which pods should have gates, going by the namespaces' labels")
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry.Jitter(scopePause)):
		}
	}
}

// Covered says which pods of the namespace get gates at their creation; nil when none do.
func (f *Follower) Covered(ctx context.Context, namespace string) func(*corev1.Pod) bool {
	var scope Scope
	if known := f.scope.Load(); known != nil {
		scope = *known
	}
	var ns corev1.Namespace
	err := f.Namespaces.Get(ctx, client.ObjectKey{Name: namespace}, &ns, client.UnsafeDisableDeepCopy)
	if err != nil || !f.Injects || !scope.CoversNamespace(&ns) {
		return nil
	}
	return scope.CoversPod
}

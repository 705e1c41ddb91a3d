//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/targetgate/targetgate/e2e/argocd"
	"github.com/targetgate/targetgate/e2e/suite"
)

// phase is what GitOps tools think of an object: by kstatus, as Flux does, and by the rule for Argo CD in config/argocd, if there is one.
type phase struct{ kstatus, argo string }

// phases are those of the objects of an app, one after the other, without those that are like the one before.
type phases struct {
	mu   sync.Mutex
	seen map[types.UID]*life
}

// life is that of one object.
type life struct {
	kind   string
	phases []phase
	words  string // for the last phase
}

// followHealth takes note of the phases of Deployments, Ingresses and bindings from their creation on, until the end of the test.
func followHealth(t *testing.T, namespace string) *phases {
	t.Helper()
	objects, err := dynamic.NewForConfig(bed.Cluster.AdminConfig())
	suite.Must(t, err)
	p := &phases{seen: map[types.UID]*life{}}
	rule, err := argocd.Read(suite.Root)
	suite.Must(t, err)
	for _, resource := range []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
		{Group: "elbv2.k8s.aws", Version: "v1beta1", Resource: "targetgroupbindings"},
	} {
		events, err := objects.Resource(resource).Namespace(namespace).Watch(t.Context(), metav1.ListOptions{})
		suite.Must(t, err)
		t.Cleanup(events.Stop)
		go func() {
			for event := range events.ResultChan() {
				if object, ok := event.Object.(*unstructured.Unstructured); ok {
					p.note(object, rule)
				}
			}
		}()
	}
	return p
}

func (p *phases) note(object *unstructured.Unstructured, rule argocd.Rule) {
	var health argocd.Health
	result, err := status.Compute(object)
	if err == nil && object.GetKind() == "TargetGroupBinding" {
		health, err = rule.Of(object)
	}
	now := phase{argo: health.Status}
	if err != nil {
		now.kstatus = err.Error()
	} else {
		now.kstatus = result.Status.String()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.seen[object.GetUID()]
	if l == nil {
		l = &life{kind: object.GetKind()}
		p.seen[object.GetUID()] = l
	}
	if len(l.phases) == 0 || l.phases[len(l.phases)-1] != now {
		l.phases = append(l.phases, now)
	}
	l.words = fmt.Sprintf("kstatus: %+v, Argo CD: %s", result, health.Message)
}

// of are the objects of a kind.
func (p *phases) of(kind string) (all []life) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.seen {
		if l.kind == kind {
			all = append(all, life{kind, slices.Clone(l.phases), l.words})
		}
	}
	return all
}

// await waits until there are so many objects of the kind, and all are in the phase.
func (p *phases) await(t *testing.T, kind string, count int, want phase) {
	t.Helper()
	suite.Eventually(t, fmt.Sprintf("%d %s to be %v", count, kind, want), func() error {
		all := p.of(kind)
		isOther := func(l life) bool { return l.phases[len(l.phases)-1] != want }
		if len(all) != count || slices.ContainsFunc(all, isOther) {
			return fmt.Errorf("they are %+v", all)
		}
		return nil
	})
}

// awaitAll waits until the only object of the kind has been in these phases and in no others.
func (p *phases) awaitAll(t *testing.T, kind string, want ...phase) {
	t.Helper()
	suite.Eventually(t, fmt.Sprintf("%s to have been %v", kind, want), func() error {
		if all := p.of(kind); len(all) != 1 || !slices.Equal(all[0].phases, want) {
			return fmt.Errorf("they are %+v", all)
		}
		return nil
	})
}

// wantFirst checks that the objects of the kind were in the phase at first.
func (p *phases) wantFirst(t *testing.T, kind string, want phase) {
	t.Helper()
	for _, l := range p.of(kind) {
		if l.phases[0] != want {
			t.Errorf("%s has the phases %v, want %v first", kind, l.phases, want)
		}
	}
}

// wantNone checks that no object of the kind was ever in the phase.
func (p *phases) wantNone(t *testing.T, kind string, unwanted phase) {
	t.Helper()
	for _, l := range p.of(kind) {
		if slices.Contains(l.phases, unwanted) {
			t.Errorf("%s has the phases %v, want no %v", kind, l.phases, unwanted)
		}
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/explain"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// noIndexes is an API server: it knows no index of a cache, and forbids some kinds.
type noIndexes struct {
	client.Reader
	forbidden []string
	lists     *int
}

func (r noIndexes) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, node := o.(*corev1.Node); node && slices.Contains(r.forbidden, "nodes") {
		return apierrors.NewForbidden(corev1.Resource("nodes"), key.Name, errors.New("no"))
	}
	return r.Reader.Get(ctx, key, o, opts...)
}

func (r noIndexes) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(opts)
	if asked.FieldSelector != nil {
		return apierrors.NewBadRequest("field label not supported: " + asked.FieldSelector.String())
	}
	_, bindings := list.(*v1beta1.TargetGroupBindingList)
	if bindings && asked.Namespace == "" && slices.Contains(r.forbidden, "bindings") {
		return apierrors.NewForbidden(corev1.Resource("targetgroupbindings"), "", errors.New("no"))
	}
	if r.lists != nil {
		*r.lists++
	}
	return r.Reader.List(ctx, list, opts...)
}

// wantSameSurvey fails the test when a survey, without the indexes of a cache, differs from what the registrar resolves.
func (b *bed) wantSameSurvey(binding *v1beta1.TargetGroupBinding, inGroup []elbv2.Target, res endpoints.Resolution) {
	b.t.Helper()
	survey, err := explain.NewSurveyor(noIndexes{Reader: b.cluster}).Survey(b.t.Context(), binding, inGroup)
	if err != nil {
		b.t.Fatal(err)
	}
	want, got := map[elbv2.Target]endpoints.State{}, map[elbv2.Target]endpoints.State{}
	for target, ep := range res.Endpoints {
		want[target] = ep.State
	}
	for _, ep := range survey.Endpoints {
		got[ep.Target] = ep.State
	}
	if diff := cmp.Diff(want, got); diff != "" || survey.Missing != res.Missing {
		b.t.Errorf("the survey misses %q, the registrar %q; states (-registrar +survey):\n%s", survey.Missing, res.Missing, diff)
	}
}

func TestSurveySaysWhyBindingIsLeftAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		leaving   bool // the other one
		forbidden []string
		want      string
		successor bool
		unread    []string
	}{
		"another has the group": {
			want: "spec.targetGroupARN: TargetGroupBinding other/first has this target group already",
		},
		"another has the group still": {
			leaving: true, successor: true,
			want: "spec.targetGroupARN: TargetGroupBinding other/first still has this target group, and is being deleted",
		},
		"bindings of other namespaces may not be read": {
			forbidden: []string{"bindings"}, unread: []string{"targetgroupbindings of other namespaces"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			owningBinding := newBinding()
			owningBinding.Namespace, owningBinding.Name, owningBinding.UID = "other", "first", "a" // created at the same moment: the UID decides
			owningBinding.Finalizers = []string{v1beta1.Finalizer}
			if tc.leaving {
				owningBinding.DeletionTimestamp = ptr.To(metav1.Now())
			}
			inBed(t, func(b *bed) {
				surveyor := explain.NewSurveyor(noIndexes{Reader: b.cluster, forbidden: tc.forbidden})
				survey, err := surveyor.Survey(t.Context(), newBinding(), nil)
				if err != nil || survey.Refused != tc.want || survey.Successor != tc.successor {
					t.Errorf("refused for %q, successor %v, error %v; want %q, %v", survey.Refused, survey.Successor, err, tc.want, tc.successor)
				}
				if diff := cmp.Diff(tc.unread, surveyor.Unread()); diff != "" {
					t.Errorf("unread (-want +got):\n%s", diff)
				}
			}, owningBinding)
		})
	}
}

func TestSurveyReadsOnceAndWithoutNodes(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	pod.Spec.NodeName = "node-1"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}} // not ready
	inBed(t, func(b *bed) {
		lists := 0
		surveyor := explain.NewSurveyor(noIndexes{Reader: b.cluster, forbidden: []string{"nodes"}, lists: &lists})
		for range 3 {
			survey, err := surveyor.Survey(t.Context(), newBinding(), []elbv2.Target{two})
			if err != nil || len(survey.Endpoints) != 1 || survey.Endpoints[0].State != endpoints.Desired {
				t.Fatalf("endpoints %v, error %v; want one that is wanted", survey.Endpoints, err)
			}
		}
		if lists != 3 {
			t.Errorf("%d lists for three surveys, want one each of bindings, pods and EndpointSlices", lists)
		}
		if diff := cmp.Diff([]string{"nodes"}, surveyor.Unread()); diff != "" {
			t.Errorf("unread (-want +got):\n%s", diff)
		}
	}, pod, node, newSlice("web-1", pod), &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other"}})
}

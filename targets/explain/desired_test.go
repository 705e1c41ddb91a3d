// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// clusterReader reads the world for someone who may not read these types.
func (w *world) clusterReader(t *testing.T, forbidden ...runtime.Object) (*clusterReader, guard) {
	t.Helper()
	e, g := w.forbidding(t, forbidden...)
	return newClusterReader(fixture.WithoutIndexes(e.Reader)), g
}

func TestClusterReaderSaysWhyBindingIsLeftAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		leaving   bool // the other one
		forbidden []runtime.Object
		want      string
		unread    []string
	}{
		"another has the group": {
			want: "spec.targetGroupARN: TargetGroupBinding other/first has this target group already",
		},
		"another has the group still": {
			leaving: true, want: "spec.targetGroupARN: TargetGroupBinding other/first still has this target group, and is being deleted",
		},
		"bindings of other namespaces may not be read": {
			forbidden: []runtime.Object{&v1beta1.TargetGroupBindingList{}}, unread: []string{"targetgroupbindings of other namespaces"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.addRival()
			if tc.leaving {
				w.duplicate.DeletionTimestamp = ptr.To(ago(0))
			}
			cluster, _ := w.clusterReader(t, tc.forbidden...)
			found, err := cluster.resolve(t.Context(), w.binding, nil)
			if err != nil || found.Refused != tc.want || found.Successor != tc.leaving {
				t.Errorf("refused for %q, successor %v, error %v; want %q, %v", found.Refused, found.Successor, err, tc.want, tc.leaving)
			}
			if diff := cmp.Diff(tc.unread, cluster.reader.unread); diff != "" {
				t.Errorf("unread (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClusterReaderReadsOnceAndWithoutNodes(t *testing.T) {
	w := newWorld()
	w.pod.Spec.NodeName = w.node.Name
	w.node.Status.Conditions[0].Status = corev1.ConditionFalse
	cluster, g := w.clusterReader(t, &corev1.Node{}, &corev1.NodeList{})
	for range 3 {
		found, err := cluster.resolve(t.Context(), w.binding, []elbv2.Target{{ID: "10.0.0.2", Port: 8080}})
		if err != nil || len(found.Ordered) != 1 || found.Ordered[0].State != endpoints.Desired {
			t.Fatalf("endpoints %v, error %v; want one that is wanted", found.Ordered, err)
		}
	}
	var lists []string
	for kind, times := range g.asked {
		if strings.HasSuffix(kind, "List") {
			lists = append(lists, slices.Repeat([]string{kind}, times)...)
		}
	}
	slices.Sort(lists)
	if diff := cmp.Diff([]string{"*v1.EndpointSliceList", "*v1.PodList", "*v1beta1.TargetGroupBindingList"}, lists); diff != "" {
		t.Errorf("lists for three looks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"nodes"}, cluster.reader.unread); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// locked lets us read ConfigMaps of the namespace open only, and counts by namespace how often it is asked.
type locked struct {
	client.Reader
	asked map[string]int
}

func (l locked) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	l.asked[key.Namespace]++
	if key.Namespace == "open" {
		return nil
	}
	return apierrors.NewForbidden(corev1.Resource("configmaps"), key.Name, errors.New("no rule"))
}

// Many bindings, each with many passes, ask for their records once in a while where they may not read them; others' are read.
func TestRefusedRecordsAreNotAskedForInEachPass(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	reader := locked{asked: map[string]int{}}
	w := NewWriter(nil, reader, clk, report.Reporter{})
	read := func(namespace string) error {
		var err error
		for n := range 10 {
			binding := &v1beta1.TargetGroupBinding{}
			binding.Namespace, binding.Name, binding.Spec.MultiClusterTargetGroup = namespace, fmt.Sprint("web-", n), true
			_, err = w.ReadRecord(t.Context(), binding)
			if may := w.MayRecord(t.Context(), binding); may != (err == nil) {
				t.Errorf("may record: %v, reading says %v", may, err)
			}
		}
		return err
	}
	for n, wait := range []time.Duration{0, refusedFor - 1, 1} {
		clk.SetTime(clk.Now().Add(wait))
		want := []int{1, 1, 2}[n]
		for _, namespace := range []string{"closed", "shut"} {
			if err := read(namespace); !apierrors.IsForbidden(err) || reader.asked[namespace] != want {
				t.Errorf("asked %d times for records in %s, want %d times; the answer is %v", reader.asked[namespace], namespace, want, err)
			}
		}
		if err := read("open"); err != nil || reader.asked["open"] != (n+1)*20 {
			t.Errorf("asked %d times in the open namespace, the answer is %v", reader.asked["open"], err)
		}
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// unread cannot be read.
type unread struct{ client.Reader }

func (unread) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("no answer")
}

// forgotten remembers nothing.
type forgotten struct{ Memories }

func (forgotten) Forget(types.NamespacedName) {}

// controller-runtime takes no pause beside an error: it has its own.
func TestTakerReturnsNoPauseWithAnError(t *testing.T) {
	taker := &Taker{Memories: forgotten{}, Early: &EarlyGates{Wanted: true, Reader: unread{}}}
	duplicates := []v1beta1.TargetGroupBinding{*fixture.Binding()}
	result, err := taker.watchTheirs(t.Context(), fixture.Binding(), duplicates, ownership.NoLabel)
	if err == nil || result != (ctrl.Result{}) {
		t.Errorf("result %+v, error %v; want none and an error", result, err)
	}
}

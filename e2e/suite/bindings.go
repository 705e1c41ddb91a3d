// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// AwaitSettled waits until the binding's status says that all is done, with every pod's target healthy.
func (bed *Bed) AwaitSettled(t *testing.T, app *testbed.App) {
	t.Helper()
	want := fmt.Sprintf("%d/%d", app.Replicas, app.Replicas)
	Eventually(t, "the binding to settle", func() error {
		s := bed.GetBinding(t, app).Status
		if s.Targets == nil || s.Pods == nil || s.Targets.Summary != want || s.Pods.Waiting != 0 {
			return fmt.Errorf("status %+v, targets %+v, pods %+v", s, s.Targets, s.Pods)
		}
		return nil
	})
}

func (bed *Bed) readyReason(t *testing.T, app *testbed.App) string {
	t.Helper()
	var binding v1beta1.TargetGroupBinding
	Must(t, client.IgnoreNotFound(bed.Client.Get(t.Context(), app.Key(), &binding)))
	if c := apimeta.FindStatusCondition(binding.Status.Conditions, v1beta1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}

// GetBinding reads the app's binding.
func (bed *Bed) GetBinding(t *testing.T, app *testbed.App) *v1beta1.TargetGroupBinding {
	t.Helper()
	var binding v1beta1.TargetGroupBinding
	Must(t, bed.Client.Get(t.Context(), app.Key(), &binding))
	return &binding
}

// AssertFewEvents fails when targetgate told of the binding, or of any pod, more often than a reader can bear.
func (bed *Bed) AssertFewEvents(t *testing.T, app *testbed.App) {
	t.Helper()
	const handful = 6
	var list eventsv1.EventList
	Must(t, bed.Client.List(t.Context(), &list, client.InNamespace(app.Name)))
	count, notes := map[string]int{}, map[string][]string{}
	for _, event := range list.Items {
		if event.ReportingController != "targetgate" {
			continue
		}
		object := event.Regarding.Kind + " " + event.Regarding.Name
		notes[object] = append(notes[object], event.Reason+": "+event.Note)
		count[object]++
	}
	for object, n := range count {
		if n > handful {
			t.Errorf("%d events about %s, want at most %d: %q", n, object, handful, notes[object])
		}
	}
}

// WantReason is an error when the binding's condition Ready has another reason.
func (bed *Bed) WantReason(t *testing.T, app *testbed.App, want string) error {
	t.Helper()
	if got := bed.readyReason(t, app); got != want {
		return fmt.Errorf("the reason of Ready is %q, want %q", got, want)
	}
	return nil
}

// WantDegraded is an error when the binding's condition Degraded is not True for that reason.
func (bed *Bed) WantDegraded(t *testing.T, app *testbed.App, want string) error {
	t.Helper()
	c := apimeta.FindStatusCondition(bed.GetBinding(t, app).Status.Conditions, v1beta1.ConditionDegraded)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != want {
		return fmt.Errorf("condition %+v, want Degraded for %s", c, want)
	}
	return nil
}

// WantEvent is an error when there is no event of that kind about the object of that name in the app's namespace.
func (bed *Bed) WantEvent(t *testing.T, app *testbed.App, object, kind, reason string) error {
	t.Helper()
	var list eventsv1.EventList
	Must(t, bed.Client.List(t.Context(), &list, client.InNamespace(app.Name)))
	for _, event := range list.Items {
		if event.Regarding.Name == object && event.Type == kind && event.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("no %s event %s about %s", kind, reason, object)
}

// DeleteBinding deletes the app's binding and returns when it is gone.
func (bed *Bed) DeleteBinding(t *testing.T, app *testbed.App) {
	t.Helper()
	Must(t, bed.Client.Delete(t.Context(), bed.GetBinding(t, app)))
	bed.AwaitBindingGone(t, app)
}

// AwaitBindingGone waits until the app's binding does not exist.
func (bed *Bed) AwaitBindingGone(t *testing.T, app *testbed.App) {
	t.Helper()
	Eventually(t, "the binding to be gone", func() error {
		if err := bed.Client.Get(t.Context(), app.Key(), &v1beta1.TargetGroupBinding{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("getting it: %w", client.IgnoreNotFound(err))
		}
		return nil
	})
}

// WantFaults is an error when err is not a refusal for faults in exactly these fields.
func WantFaults(err error, paths []string) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		return fmt.Errorf("got %w, want faults in %q", err, paths)
	}
	var got []string
	for _, cause := range status.Status().Details.Causes {
		got = append(got, cause.Field)
	}
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(paths)); !slices.Equal(got, want) {
		return fmt.Errorf("faults in %q, want %q: %w", got, want, err)
	}
	return nil
}

// Complete fills in what the webhook would, of a group that the test bed's AWS makes.
func Complete(s *v1beta1.TargetGroupBindingSpec) {
	s.TargetType, s.IPAddressType = ptr.To(v1beta1.TargetTypeIP), ptr.To(v1beta1.IPAddressTypeIPv4)
	s.VpcID, s.TargetGroupProtocol = ec2.DefaultVPCID, ptr.To[v1beta1.Protocol]("HTTP")
}

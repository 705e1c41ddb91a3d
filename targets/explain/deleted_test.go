// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

func TestExplainOfBindingThatIsDeleted(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		settled bool
		want    string
	}{
		"AWS denies access": {
			v1beta1.ReasonAccessDenied, true,
			"broken binding: was deleted at 2026-11-18T12:00:00Z, and its targets cannot be deregistered: AccessDenied: words -> Check the IAM role",
		},
		"not seen yet": {
			v1beta1.ReasonAccessDenied, false, "broken targetgate: has seen generation 2 of the binding, not 3",
		},
		"goes on": {
			v1beta1.ReasonDeleting, true,
			"waiting binding: was deleted at 2026-11-18T12:00:00Z: targetgate deregisters its targets and opens its gates. words",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.binding.Finalizers, w.binding.DeletionTimestamp = []string{v1beta1.Finalizer}, ptr.To(ago(72*time.Hour))
			w.degrade(tc.reason, "words")
			if !tc.settled {
				w.binding.Generation = 3
			}
			if got := causeOf(t, w.explained(t)); !strings.HasPrefix(got, tc.want) {
				t.Errorf("the cause is\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

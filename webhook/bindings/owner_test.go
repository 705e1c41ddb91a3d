// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"net/http"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// Rule 39: whoever restores a backup into a second cluster is told at once: by the tags, the first cluster has the group.
func TestGroupOfAnotherClusterIsRefused(t *testing.T) {
	const cluster, former = "elbv2.k8s.aws/cluster", "ingress.k8s.aws/cluster"
	shared := func(b *v1beta1.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }
	exclusive := func(*v1beta1.TargetGroupBinding) {}
	for name, tc := range map[string]struct {
		tags     map[string]string
		change   change
		was      change // nil for a creation
		denied   bool
		admitted bool
	}{
		"another cluster's":               {tags: map[string]string{cluster: "till"}, change: exclusive},
		"by the former tag":               {tags: map[string]string{former: "till"}, change: exclusive},
		"only another cluster may":        {tags: map[string]string{consent.TagKey: "till/shop"}, change: exclusive},
		"no longer shared":                {tags: map[string]string{cluster: "till"}, change: exclusive, was: shared},
		"shared":                          {tags: map[string]string{cluster: "till"}, change: shared, admitted: true},
		"its owner has named the binding": {tags: map[string]string{cluster: "till", consent.TagKey: "prod/shop"}, change: exclusive, admitted: true},
		"this cluster's":                  {tags: map[string]string{cluster: "prod"}, change: exclusive, admitted: true},
		"this cluster's, former tag":      {tags: map[string]string{cluster: "prod", former: "till"}, change: exclusive, admitted: true},
		"nobody's":                        {change: exclusive, admitted: true},
		"tags may not be read":            {tags: map[string]string{cluster: "till"}, change: exclusive, denied: true, admitted: true},
	} {
		t.Run(name, func(t *testing.T) {
			validator, api := newValidator(t, webService())
			validator.facts.policy = consent.Policy{Mode: consent.Off, Cluster: "prod"}
			api.SetTags(webhooktest.ARN, tc.tags)
			if tc.denied {
				failTags(api)
			}
			binding := webhooktest.NewBinding("web")
			tc.change(binding)
			var err error
			if tc.was == nil {
				_, err = validator.create(t.Context(), creation(binding))
			} else {
				old := webhooktest.NewBinding("web")
				tc.was(old)
				_, err = validator.update(t.Context(), changed(old, binding))
			}
			if tc.admitted {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			faults := faultsIn(t, err)
			if len(faults) != 1 || !strings.HasPrefix(faults[0], "spec.targetGroupARN: Forbidden: the target group's tags name another cluster") ||
				!strings.Contains(faults[0], "add prod/shop/web to its tag targetgate.dev/bind") || strings.Contains(faults[0], "till") {
				t.Errorf("faults %q", faults)
			}
			if status, _ := statusOf(err); status.Code != http.StatusForbidden {
				t.Errorf("code %d, want 403: the manifest can be mended", status.Code)
			}
		})
	}
}

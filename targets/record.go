// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/status"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The right to ConfigMaps is not granted unless it is asked for (config/rbac/shared-groups.yaml): it reaches every ConfigMap of
// the cluster, as a rule can name no beginning of names. Without it, sharingIsOff is what the condition says.
const sharingIsOff = "multiClusterTargetGroup needs the right to ConfigMaps, which targetgate has not: set " +
	"sharedTargetGroups=true in the chart's values, or apply config/rbac/shared-groups.yaml; nothing is registered or deregistered until then"

// loadRecord reads the record of a shared group once. Without a ConfigMap nothing is ours yet: targets that are there and
// belong there are adopted, none is deregistered.
func (r *Registrar) loadRecord(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding) error {
	if !binding.Spec.MultiClusterTargetGroup || s.claims.Record() != nil {
		return nil
	}
	read, exists, err := r.claims.ReadRecord(ctx, binding)
	if apierrors.IsForbidden(err) {
		r.statuses.Write(s.status, binding, status.Input{
			Generation: binding.Generation, Group: s.group.Snapshot(), Unsupported: sharingIsOff, Deleting: !binding.DeletionTimestamp.IsZero(),
		})
	}
	if err != nil {
		return fmt.Errorf("reading the record of our targets: %w", err)
	}
	if len(read) > 0 && !workedFor(binding) {
		r.reporter.Event(binding, report.IgnoredRecord(ownership.RecordName(binding.Name)))
		read, exists = ownership.Record{}, false
	}
	s.claims.SetRecord(read, exists)
	s.group.Expect(maps.Keys(read), r.Clock.Now())
	return nil
}

// workedFor reports whether the status shows work on the binding, by the incumbent or by us. A record that exists before that was
// written by neither: whoever may write ConfigMaps in the namespace could use one to have others' targets deregistered.
// The times at which both were created do not tell, as they are in seconds.
func workedFor(binding *v1beta1.TargetGroupBinding) bool {
	return ptr.Deref(binding.Status.ObservedGeneration, 0) > 0
}

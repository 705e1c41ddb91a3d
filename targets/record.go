// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/claims"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/status"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The right to ConfigMaps is not granted unless it is asked for (config/rbac/shared-groups.yaml): it reaches every ConfigMap of
// the cluster, as a rule can name no beginning of names. Without it, sharingIsOff is what the condition says.
const sharingIsOff = "multiClusterTargetGroup needs access to ConfigMaps, which targetgate does not have: set " +
	"sharedTargetGroups=true in the chart's values, or apply config/rbac/shared-groups.yaml; nothing is registered or deregistered until then"

// loadRecord reads the record of a shared group once. Without a ConfigMap nothing is ours yet: targets that are there and
// belong there are adopted, none is deregistered.
func (r *Registrar) loadRecord(ctx context.Context, s passState, binding *v1beta1.TargetGroupBinding) error {
	if !binding.Spec.MultiClusterTargetGroup || s.claims.Record() != nil {
		return nil
	}
	written, err := r.claims.ReadRecord(ctx, binding)
	if apierrors.IsForbidden(err) {
		r.writeStatus(s, binding, status.Input{
			Generation: binding.Generation, Group: s.group.Snapshot(), Unsupported: sharingIsOff, Deleting: !binding.DeletionTimestamp.IsZero(),
		})
	}
	if err != nil {
		return fmt.Errorf("reading the record of our targets: %w", err)
	}
	if len(written.Record) > 0 && !isBelieved(binding, written) {
		r.reporter.Event(binding, report.IgnoredRecord(ownership.RecordName(binding.Name), written.For != ""))
		written = claims.Written{Record: ownership.Record{}}
	}
	s.claims.SetRecord(written.Record, written.Exists)
	s.group.Expect(maps.Keys(written.Record), r.Clock.Now())
	return nil
}

// isBelieved reports whether a record is the binding's: it says so, or it says nothing and the status shows work on the binding, by the
// incumbent or by an earlier targetgate. One that exists before that was written by neither: whoever may write ConfigMaps in the namespace
// could use one to have others' targets deregistered. The times at which both were created do not tell, as they are in seconds.
func isBelieved(binding *v1beta1.TargetGroupBinding, written claims.Written) bool {
	return written.For == binding.UID || written.For == "" && workedFor(binding)
}

// workedFor reports whether the status shows work on the binding.
func workedFor(binding *v1beta1.TargetGroupBinding) bool {
	return ptr.Deref(binding.Status.ObservedGeneration, 0) > 0
}

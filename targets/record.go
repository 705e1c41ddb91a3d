// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/report"
	"github.com/targetgate/targetgate/targets/status"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/targets/writes"
)

// The right to ConfigMaps is not granted unless it is asked for (config/rbac/shared-groups.yaml): it reaches every ConfigMap of
// the cluster, as a rule can name no beginning of names. Without it, sharingIsOff is what the condition says.
const sharingIsOff = "multiClusterTargetGroup needs the right to ConfigMaps, which targetgate has not: set " +
	"sharedTargetGroups=true in the chart's values, or apply config/rbac/shared-groups.yaml; nothing is registered or deregistered until then"

// loadRecord reads the record of a shared group once. Without a ConfigMap nothing is ours yet: targets that are there and
// belong there are adopted, none is deregistered.
func (r *Registrar) loadRecord(ctx context.Context, s session, binding *v1beta1.TargetGroupBinding) error {
	if !binding.Spec.MultiClusterTargetGroup || s.claims.written() != nil {
		return nil
	}
	read, exists, err := r.claims.readRecord(ctx, binding)
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
	s.claims.setRecord(read, exists)
	return nil
}

// workedFor reports whether the status shows work on the binding, by the incumbent or by us. A record that exists before that was
// written by neither: whoever may write ConfigMaps in the namespace could use one to have others' targets deregistered.
// The times at which both were created do not tell, as they are in seconds.
func workedFor(binding *v1beta1.TargetGroupBinding) bool {
	return ptr.Deref(binding.Status.ObservedGeneration, 0) > 0
}

// readRecord yields an empty record where there is none.
func (w *claimWriter) readRecord(ctx context.Context, binding *v1beta1.TargetGroupBinding) (read ownership.Record, exists bool, err error) {
	var configMap corev1.ConfigMap
	key := client.ObjectKey{Namespace: binding.Namespace, Name: ownership.RecordName(binding.Name)}
	ctx, cancel := context.WithTimeout(ctx, writes.Timeout)
	defer cancel()
	err = w.uncached.Get(ctx, key, &configMap)
	return ownership.ParseRecord(configMap.Data[ownership.RecordKey]), err == nil, client.IgnoreNotFound(err)
}

// mayRecord reports whether the API server lets us keep records.
func (w *claimWriter) mayRecord(ctx context.Context, binding *v1beta1.TargetGroupBinding) bool {
	_, _, err := w.readRecord(ctx, binding)
	return !apierrors.IsForbidden(err)
}

// saveRecord brings the record of a shared group up to date.
func (w *claimWriter) saveRecord(ctx context.Context, c *claims, binding *v1beta1.TargetGroupBinding, wanted ownership.Record) error {
	configMap := corev1ac.ConfigMap(ownership.RecordName(binding.Name), binding.Namespace).
		WithData(map[string]string{ownership.RecordKey: wanted.String()})
	if err := w.client.Apply(ctx, configMap, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("writing the record of our targets: %w", err)
	}
	c.setRecord(wanted, true)
	return nil
}

// fieldOwner is who we are to server-side apply.
const fieldOwner = "targetgate"

// deleteRecord deletes the record of a binding that goes.
func (w *claimWriter) deleteRecord(ctx context.Context, binding *v1beta1.TargetGroupBinding) error {
	if !binding.Spec.MultiClusterTargetGroup {
		return nil
	}
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: binding.Namespace, Name: ownership.RecordName(binding.Name)}}
	if err := w.client.Delete(ctx, configMap); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the record of our targets: %w", err)
	}
	return nil
}

// nextRecord is what the record must hold once the plan is being carried out: every target of ours that is or may be in
// the group, and every one that is about to be.
func nextRecord(r ownership.Record, group targetgroup.Targets, p plan.Plan) ownership.Record {
	next := ownership.Record{}
	for id, t := range group {
		_, listed := r[id]
		if t.Owner != "" || listed && (t.MayBeIn() || t.UnderWay()) {
			next[id] = r[id]
		}
	}
	for _, added := range []targetgroup.Registrations{p.Register, p.Adopt} {
		for id := range added {
			next[id] = r[id]
		}
	}
	return next
}

// written is the record, nil before it was read.
func (c *claims) written() ownership.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.record
}

func (c *claims) setRecord(r ownership.Record, written bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record, c.recordWritten = r, written
}

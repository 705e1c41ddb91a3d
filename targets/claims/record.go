// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/targets/writes"
)

// Written is what the ConfigMap with the record says; the record is empty where there is none.
type Written struct {
	Record ownership.Record
	Exists bool
	For    types.UID // the binding that it was written for, empty where we have not written it
}

// ReadRecord reads the record of a binding of that name.
func (w *Writer) ReadRecord(ctx context.Context, binding *v1beta1.TargetGroupBinding) (Written, error) {
	configMap, err := w.readConfigMap(ctx, binding)
	if configMap == nil {
		return Written{Record: ownership.Record{}}, err
	}
	return Written{
		Record: ownership.ParseRecord(configMap.Data[ownership.RecordKey]), Exists: true,
		For: types.UID(configMap.Annotations[ownership.RecordedFor]),
	}, nil
}

// readConfigMap reads the ConfigMap with the record, nil where there is none, or the binding's group is not shared.
func (w *Writer) readConfigMap(ctx context.Context, binding *v1beta1.TargetGroupBinding) (*corev1.ConfigMap, error) {
	if !binding.Spec.MultiClusterTargetGroup {
		return nil, nil
	}
	if err := w.refusals.of(binding.Namespace, w.clock.Now()); err != nil {
		return nil, err
	}
	var configMap corev1.ConfigMap
	key := client.ObjectKey{Namespace: binding.Namespace, Name: ownership.RecordName(binding.Name)}
	ctx, cancel := context.WithTimeout(ctx, writes.Timeout)
	defer cancel()
	err := w.uncached.Get(ctx, key, &configMap)
	if apierrors.IsForbidden(err) {
		w.refusals.add(binding.Namespace, err, w.clock.Now())
	}
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return &configMap, nil
}

// MayRecord reports whether the API server lets us keep records.
func (w *Writer) MayRecord(ctx context.Context, binding *v1beta1.TargetGroupBinding) bool {
	_, err := w.ReadRecord(ctx, binding)
	return !apierrors.IsForbidden(err)
}

// saveRecord brings the record of a shared group up to date.
func (w *Writer) saveRecord(ctx context.Context, c *Claims, binding *v1beta1.TargetGroupBinding, wanted ownership.Record) error {
	configMap := corev1ac.ConfigMap(ownership.RecordName(binding.Name), binding.Namespace).
		WithAnnotations(map[string]string{ownership.RecordedFor: string(binding.UID)}).
		WithData(map[string]string{ownership.RecordKey: wanted.String()})
	if err := w.client.Apply(ctx, configMap, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
		return fmt.Errorf("writing the record of our targets: %w", err)
	}
	c.SetRecord(wanted, true)
	return nil
}

// fieldOwner is who we are to server-side apply.
const fieldOwner = "targetgate"

// deleteRecord deletes the record of a binding that is gone, unless another one of that name has made it its own since it was read.
func (w *Writer) deleteRecord(ctx context.Context, record *corev1.ConfigMap) error {
	if record == nil {
		return nil
	}
	err := w.client.Delete(ctx, record, client.Preconditions{UID: &record.UID, ResourceVersion: &record.ResourceVersion})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Discard has what we keep beside a binding deleted that went without our finalizer, and says when to come back after a failure. Left is
// to be told then.
func (w *Writer) Discard(c *Claims, binding *v1beta1.TargetGroupBinding, left *events.Event) (retryIn time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	retryIn, _ = w.start(c, binding, !c.discarded, func(ctx context.Context) error {
		record, err := w.readConfigMap(ctx, binding)
		if err != nil {
			return fmt.Errorf("reading the record of our targets: %w", err)
		}
		if record != nil && record.Annotations[ownership.RecordedFor] == string(binding.UID) {
			if err := w.deleteRecord(ctx, record); err != nil {
				return fmt.Errorf("deleting the record of our targets: %w", err)
			}
		}
		if left != nil {
			w.reporter.Event(binding, *left)
		}
		c.setDiscarded()
		return nil
	})
	return retryIn
}

func (c *Claims) setDiscarded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discarded = true
}

// IsDiscarded reports whether Discard has done its work.
func (c *Claims) IsDiscarded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.discarded
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

// Record is the record, nil before it was read.
func (c *Claims) Record() ownership.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.record
}

// SetRecord is called when the record was read. Written says that there is a ConfigMap of it.
func (c *Claims) SetRecord(r ownership.Record, written bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record, c.recordWritten, c.recordLost = r, written, false
}

// IsWritten reports whether there is a ConfigMap of the record.
func (c *Claims) IsWritten() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recordWritten
}

// ForgetRecord has the record read again.
func (c *Claims) ForgetRecord() { c.SetRecord(nil, false) }

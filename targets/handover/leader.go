// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leader watches a lease for a targetgate that works on bindings. Only the time between two looks counts, as clocks of machines differ.
type leader struct {
	client client.Client
	lease  client.ObjectKey

	holder  string
	renewed metav1.MicroTime // as the lease said last
	seen    time.Time        // when it first said so
}

// works reports whether somebody has the lease, and may have renewed it within its duration.
func (l *leader) works(ctx context.Context) (bool, error) {
	var lease coordinationv1.Lease
	if err := l.client.Get(ctx, l.lease, &lease); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading lease %s, to see whether targetgate runs: %w", l.lease, err)
	}
	holder, renewed := ptr.Deref(lease.Spec.HolderIdentity, ""), ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{})
	if l.seen.IsZero() || holder != l.holder || !renewed.Equal(&l.renewed) {
		l.holder, l.renewed, l.seen = holder, renewed, time.Now()
	}
	duration := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	return holder != "" && time.Since(l.seen) < duration, nil
}

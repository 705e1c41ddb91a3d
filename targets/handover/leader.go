// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leader watches a lease for a targetgate that works on bindings. Only the time between two looks counts, as clocks of machines differ.
type leader struct {
	client client.Client
	lease  client.ObjectKey

	missing bool // there is no such lease: it may have another
	holder  string
	renewed metav1.MicroTime // as the lease said last
	seen    time.Time        // when it first said so
}

// works reports whether somebody has the lease, and may have renewed it within its duration. Leases outlive those who have them: where
// there is none, a targetgate may work that has another.
func (l *leader) works(ctx context.Context) (bool, error) {
	var lease coordinationv1.Lease
	err := l.client.Get(ctx, l.lease, &lease)
	if l.missing = apierrors.IsNotFound(err); l.missing {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading lease %s, to see whether targetgate runs: %w", l.lease, err)
	}
	holder, renewed := ptr.Deref(lease.Spec.HolderIdentity, ""), ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{})
	if l.seen.IsZero() || holder != l.holder || !renewed.Equal(&l.renewed) {
		l.holder, l.renewed, l.seen = holder, renewed, time.Now()
	}
	duration := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	return holder != "" && time.Since(l.seen) < duration, nil
}

// awaited says for whom the command waits, while somebody works.
func (l *leader) awaited() string {
	if l.missing {
		return fmt.Sprintf("there is no lease %s, and targetgate may run with another one (--leader-election-namespace)", l.lease)
	}
	return fmt.Sprintf("%s has the lease %s", l.holder, l.lease)
}

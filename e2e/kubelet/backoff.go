// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import "time"

// The kubelet's crash back-off, before scaling.
const (
	backoffStart = 10 * time.Second
	backoffMax   = 5 * time.Minute
	backoffReset = 10 * time.Minute
)

// backoff says how long a container that ended waits before it starts again: not at all the first time, then 10 s,
// doubling up to 5 minutes. A run of 10 minutes clears it.
type backoff struct{ last time.Duration }

// next returns the wait after a run of the given length, both in unscaled time.
func (b *backoff) next(ran time.Duration) time.Duration {
	if ran > backoffReset {
		b.last = 0
	}
	wait := b.last
	switch {
	case b.last == 0:
		b.last = backoffStart
	case b.last < backoffMax:
		b.last = min(2*b.last, backoffMax)
	}
	return wait
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package region is what all services of one AWS region share: its name, its accounts, the time, and random choices.
package region

import (
	"cmp"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Defaults of Options.
const (
	DefaultName    = "eu-west-1"
	DefaultAccount = "123456789012"
)

// Options configure a Region; the zero value is eu-west-1 in real time.
type Options struct {
	// Name is part of every ARN; DefaultName when empty.
	Name string
	// Account owns what is created without naming another one; DefaultAccount when empty.
	Account string
	// Clock is the real one when nil.
	Clock clock.Clock
	// Scale multiplies every duration: 0.1 is ten times faster. 0 means 1.
	Scale float64
	// Seed of the random choices; the same seed and the same calls give the same draws.
	Seed uint64
}

// Range is a duration drawn uniformly between Min and Max.
type Range struct {
	Min, Max time.Duration
}

// Region is safe for concurrent use. Its lock is held for a random choice only.
type Region struct {
	opts Options

	mu  sync.Mutex
	rng *rand.Rand
}

// New makes a region.
func New(opts Options) *Region {
	opts.Name, opts.Account = cmp.Or(opts.Name, DefaultName), cmp.Or(opts.Account, DefaultAccount)
	opts.Scale = cmp.Or(opts.Scale, 1)
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	return &Region{opts: opts, rng: rand.New(rand.NewPCG(opts.Seed, opts.Seed))} // repeatable draws, not secrets
}

// Name is that of the region.
func (r *Region) Name() string { return r.opts.Name }

// Clock is the region's; durations on it are scaled ones.
func (r *Region) Clock() clock.Clock { return r.opts.Clock }

// Now is the time.
func (r *Region) Now() time.Time { return r.opts.Clock.Now() }

// Account is the account with that id: "" is the default one.
func (r *Region) Account(id string) string { return cmp.Or(id, r.opts.Account) }

// ARN names a resource of an account ("" is the default one).
func (r *Region) ARN(service, account, resource string) string {
	return strings.Join([]string{"arn:aws", service, r.opts.Name, r.Account(account), resource}, ":")
}

// Scaled applies the region's factor to a duration.
func (r *Region) Scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * r.opts.Scale)
}

// Draw picks a scaled duration from a range.
func (r *Region) Draw(from Range) time.Duration {
	spread := from.Max - from.Min
	if spread > 0 {
		r.mu.Lock()
		spread = time.Duration(r.rng.Int64N(int64(spread) + 1))
		r.mu.Unlock()
	}
	return r.Scaled(from.Min + spread)
}

// ID makes the random part of an ARN: 16 hexadecimal digits.
func (r *Region) ID() string {
	const digits = "0123456789abcdef"
	id := make([]byte, 16)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range id {
		id[i] = digits[r.rng.IntN(len(digits))]
	}
	return string(id)
}

// UUID makes an id of the services that have such.
func (r *Region) UUID() string {
	id := r.ID() + r.ID()
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"time"
)

// supply holds the tokens of a bucket, whose lock guards what changes.
type supply struct {
	rule   Rule // does not change
	leaves bool // pods' deregistrations take their tokens here; does not change

	pace      pace
	tokens    float64
	admission float64   // how many of them lookups for users may take
	filled    time.Time // when tokens and pace were last brought up to date
	underWay  int       // calls that have their token and no answer yet
}

// admissionShare is the part of tokens and burst that lookups for users take at most. They go before health for that:
// so neither keeps the other waiting for long, and as every replica answers users, and has a bucket of its own, the
// replicas that do nothing else add as little to the account's calls.
const admissionShare = 0.2

func newSupply(rule Rule, now time.Time) supply {
	return supply{
		rule: rule, leaves: rule.matches(ELBv2, "DeregisterTargets"), pace: pace{full: rule.Rate, rate: rule.Rate},
		tokens: float64(rule.Burst), admission: rule.admissionBurst(), filled: now,
	}
}

// capacity is how many tokens fit in: one, however many calls hang.
func (s *supply) capacity() float64 { return max(1, float64(s.rule.Burst-s.underWay)) }

// admissionBurst is how many tokens there may be for lookups: one, however small the bucket is.
func (r Rule) admissionBurst() float64 { return max(1, admissionShare*float64(r.Burst)) }

// refill brings tokens and pace up to date.
func (s *supply) refill(now time.Time) {
	came := s.pace.advance(now.Sub(s.filled))
	s.tokens = min(s.capacity(), s.tokens+came)
	s.admission = min(s.rule.admissionBurst(), s.admission+admissionShare*came)
	s.filled = now
}

// spend takes a token for a call of the class, which is then under way.
func (s *supply) spend(class Class) {
	s.tokens--
	s.underWay++
	if class == ClassAdmission {
		s.admission--
	}
}

// plenty reports whether at least half of the tokens are left.
func (s *supply) plenty() bool { return s.tokens >= float64(s.rule.Burst)/2 }

// reserved is the part of the burst that late registrations leave to deregistrations: 12 of 20 tokens. When 50 Deployments are rolled at
// once, some 30 deregistrations come together, and the 4 s for which each may wait bring 16 tokens (package e2e/bench).
const reserved = 0.6

// reserve is how many tokens that are, as long as there is room for them: many calls may hang. While AWS accepts nothing there are none: a
// call finds out when it accepts calls again, and tokens do not. Nor are there any where no deregistration comes.
func (s *supply) reserve() float64 {
	if s.pace.refused || !s.leaves {
		return 0
	}
	share := s.pace.rate / s.pace.full // or a throttled bucket would take minutes to fill that far
	return min(math.Floor(reserved*share*float64(s.rule.Burst)), s.capacity()-1)
}

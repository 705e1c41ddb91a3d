// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"time"
)

const (
	// lowestShare of the configured rate is kept however often AWS throttles: somebody has to find out when it stops. Of slow rules,
	// on which pods wait, it is up to lowestSlowShare, as far as that is at most lowestSlowRate.
	lowestShare     = 0.1
	lowestSlowShare = 0.25
	lowestSlowRate  = 1 // a second

	// recovery is how long the rate takes from its lowest to the configured one, when no call is made.
	recovery = 30 * time.Second

	// oneBurst is how long answers are taken for answers to the burst of calls that was throttled first.
	oneBurst = time.Second
)

// pace is how fast a bucket fills. When others in the account use AWS's bucket as well, ours promises tokens that are
// not there; all we can know of that are the calls that AWS throttles. Each such burst halves the rate, which then
// grows by the same amount every second until it is the configured one again.
//
// Where AWS has throttled call after call, that says nothing of what it will accept when it accepts calls again. So from then on each
// call that it accepts doubles the rate, up to half of what it was when the throttling began.
type pace struct {
	full    float64 // tokens a second, as configured
	rate    float64 // tokens a second now, from lowest to full
	trusted float64 // up to there calls that are accepted double the rate
	halved  time.Time
	refused bool // AWS has accepted no call since it last throttled one, in the time that the rate takes to recover
}

// lowest is the rate that is kept.
func (p *pace) lowest() float64 {
	return max(lowestShare*p.full, min(lowestSlowShare*p.full, lowestSlowRate))
}

// growth is by how much the rate rises in a second.
func (p *pace) growth() float64 {
	return (p.full - p.lowest()) / recovery.Seconds()
}

// rising is how many seconds the rate still has to grow, and how many tokens come in by then.
func (p *pace) rising() (seconds, tokens float64) {
	seconds = (p.full - p.rate) / p.growth()
	return seconds, (p.rate + p.full) / 2 * seconds
}

// advance lets time pass and returns the tokens that came in.
func (p *pace) advance(passed time.Duration) (tokens float64) {
	t := passed.Seconds()
	if seconds, risen := p.rising(); t >= seconds {
		p.rate, p.refused = p.full, false
		return risen + p.full*(t-seconds)
	}
	before := p.rate
	p.rate = min(p.full, before+p.growth()*t)
	return (before + p.rate) / 2 * t
}

// until is how long so many tokens take to come in. For any number above 0 that is at least a nanosecond: a pause of 0 sets no timer.
func (p *pace) until(tokens float64) time.Duration {
	seconds, risen := p.rising()
	if tokens >= risen {
		seconds += (tokens - risen) / p.full
	} else { // tokens = rate*seconds + growth/2*seconds², solved for seconds
		seconds = 2 * tokens / (p.rate + math.Sqrt(p.rate*p.rate+2*p.growth()*tokens))
	}
	return time.Duration(math.Ceil(seconds * float64(time.Second)))
}

// sure is how many tokens will come in by then for sure: while AWS accepts nothing, nobody knows when the rate will grow.
func (p *pace) sure(by time.Duration) float64 {
	if p.refused {
		return p.rate * by.Seconds()
	}
	foreseen := *p
	return foreseen.advance(by)
}

// halve lowers the rate, once a burst. It returns false when it has been lowered for this burst already.
func (p *pace) halve(now time.Time) bool {
	if p.inBurst(now) {
		return false
	}
	if !p.refused {
		p.trusted = p.rate / 2
	}
	p.halved, p.refused = now, true
	p.rate = max(p.lowest(), p.rate/2)
	return true
}

// accept takes notice that AWS accepted a call. It returns whether the rate has risen for that.
func (p *pace) accept(now time.Time) bool {
	if !p.refused && p.rate >= p.trusted || p.inBurst(now) {
		return false
	}
	before := p.rate
	p.refused, p.rate = false, max(before, min(2*before, p.trusted))
	return p.rate > before
}

// inBurst reports whether an answer may still be to the burst of calls that was throttled last.
func (p *pace) inBurst(now time.Time) bool { return now.Sub(p.halved) < oneBurst }

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"math"
	"time"
)

const (
	// lowestShare of the configured rate is kept however often AWS throttles: somebody has to find out when it stops.
	lowestShare = 0.1

	// recovery is how long the rate takes from its lowest to the configured one.
	recovery = 30 * time.Second

	// oneBurst is how long throttled answers are taken for answers to the same burst of calls.
	oneBurst = time.Second
)

// pace is how fast a bucket fills. When others in the account use AWS's bucket as well, ours promises tokens that are
// not there; all we can know of that are the calls that AWS throttles. Each such burst halves the rate, which then
// grows by the same amount every second until it is the configured one again.
type pace struct {
	full   float64 // tokens a second, as configured
	rate   float64 // tokens a second now, from lowestShare of full to full
	halved time.Time
}

// growth is by how much the rate rises in a second.
func (p *pace) growth() float64 {
	return (1 - lowestShare) * p.full / recovery.Seconds()
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
		p.rate = p.full
		return risen + p.full*(t-seconds)
	}
	before := p.rate
	p.rate = min(p.full, before+p.growth()*t)
	return (before + p.rate) / 2 * t
}

// until is how long that many tokens take to come in.
func (p *pace) until(tokens float64) time.Duration {
	seconds, risen := p.rising()
	if tokens >= risen {
		seconds += (tokens - risen) / p.full
	} else { // tokens = rate*seconds + growth/2*seconds², solved for seconds
		seconds = 2 * tokens / (p.rate + math.Sqrt(p.rate*p.rate+2*p.growth()*tokens))
	}
	return time.Duration(seconds * float64(time.Second))
}

// halve lowers the rate, once a burst. It returns false when it has been lowered for this burst already.
func (p *pace) halve(now time.Time) bool {
	if now.Sub(p.halved) < oneBurst {
		return false
	}
	p.halved = now
	p.rate = max(lowestShare*p.full, p.rate/2)
	return true
}

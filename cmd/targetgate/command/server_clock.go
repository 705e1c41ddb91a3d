// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// serverClock is the API server's clock as of its last answer; before the first, that of this machine, which may be wrong. It is safe for
// concurrent use.
type serverClock struct {
	clock.PassiveClock // of this machine
	ahead              atomic.Int64
}

// Now implements clock.PassiveClock.
func (c *serverClock) Now() time.Time {
	return c.PassiveClock.Now().Add(time.Duration(c.ahead.Load()))
}

// Since implements clock.PassiveClock.
func (c *serverClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// wrap has answers set the clock.
func (c *serverClock) wrap(next http.RoundTripper) http.RoundTripper {
	return transport(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		if at, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.ahead.Store(int64(at.Sub(c.PassiveClock.Now())))
		}
		return response, nil
	})
}

// transport is a function as an http.RoundTripper.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }

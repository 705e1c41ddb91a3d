// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/dataplane"
	"github.com/targetgate/targetgate/e2e/load"
)

// rollout is what came of one app. Times are relative to the start of the rollout.
type rollout struct {
	Name  string
	Gated bool
	Setup []setting
	Lanes []lane
	Load  load.Result
	// Answered and Failed are when the clients sent their requests.
	Answered, Failed []time.Duration
	// Took is until every new pod was Ready and every old one deleted: when `kubectl rollout status` returns. Zero when it
	// did not come to that.
	Took time.Duration
}

// setting is a part of how an app is made.
type setting struct{ Title, Value string }

// act is a rollout of both apps at the same time, from the start of the load to its end.
type act struct {
	Gated, Plain rollout
	From, To     time.Duration
}

// rollouts are both, the gated one first.
func (a act) rollouts() []rollout { return []rollout{a.Gated, a.Plain} }

// report is the whole run: a rollout to a version that works, one to a version that the load balancer does not accept, and changes of an
// Ingress.
type report struct {
	First, Second act
	Third         thirdAct
	Scale         float64
	Replicas      int32
	Rate          float64 // requests a second to each app
	Version       string  // of targetgate
	Date          time.Time
}

// faster is how many times faster than AWS the run was.
func (r report) faster() float64 { return 1 / r.Scale }

// here is a time on AWS, and what it is on the test bed where that differs.
func here(d time.Duration, scale float64) string {
	text := fmt.Sprintf("%.3g s", d.Seconds())
	if scale == 1 {
		return text
	}
	return fmt.Sprintf("%s (%.3g s here)", text, d.Seconds()*scale)
}

// verdict is nil when both acts show what they are meant to show.
func (r report) verdict() error {
	if err := r.First.verdict(); err != nil {
		return fmt.Errorf("act 1: %w", err)
	}
	if err := r.Second.verdict(); err != nil {
		return fmt.Errorf("act 2: %w", err)
	}
	if err := r.Third.verdict(); err != nil {
		return fmt.Errorf("act 3: %w", err)
	}
	return nil
}

func (a act) verdict() error {
	switch {
	case a.Gated.Load.Requests == 0 || a.Plain.Load.Requests == 0:
		return errors.New("no request was sent: the run proves nothing")
	case a.Gated.Load.Failed > 0:
		return fmt.Errorf("the gated rollout lost %d of %d requests (%s); it must not lose any",
			a.Gated.Load.Failed, a.Gated.Load.Requests, statuses(a.Gated.Load))
	case a.Plain.Load.Failed == 0:
		return errors.New("the plain rollout lost no request either, so the run proves nothing: try once more, or with a larger -scale")
	}
	return nil
}

// statuses lists what failed requests got, the codes before the kinds of broken connections.
func statuses(result load.Result) string {
	text := ""
	for _, status := range failureStatuses(result) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%d × %s", result.ByStatus[status], status)
	}
	return text
}

func failureStatuses(results ...load.Result) []string {
	found := map[string]bool{}
	for _, result := range results {
		for status := range result.ByStatus {
			found[status] = true
		}
	}
	delete(found, fmt.Sprint(http.StatusOK))
	return slices.Sorted(maps.Keys(found))
}

// took is when the last of that many new pods was Ready and the last old one deleted, zero while one is not.
func took(lanes []lane, replicas int) time.Duration {
	var last time.Duration
	newReady := 0
	for _, l := range lanes {
		m := deleted
		if l.New {
			m = ready
		}
		if !l.has(m) {
			return 0
		}
		if l.New {
			newReady++
		}
		last = max(last, l.At[m])
	}
	if newReady < replicas {
		return 0
	}
	return last
}

// answered are the times of a group's requests that went well.
func answered(requests []dataplane.Request, groupARN string, start time.Time) []time.Duration {
	var times []time.Duration
	for _, request := range requests {
		if request.Group == groupARN && !failed(request) {
			times = append(times, request.Start.Sub(start))
		}
	}
	return times
}

func failed(request dataplane.Request) bool { return request.Status != http.StatusOK }

func sentAt(failures []load.Answer, start time.Time) []time.Duration {
	times := make([]time.Duration, 0, len(failures))
	for _, failure := range failures {
		times = append(times, failure.Sent.Sub(start))
	}
	return times
}

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
	Setup string // how the app differs from the other one
	Lanes []lane
	Load  load.Result
	// Answered and Failed are when the clients sent their requests.
	Answered, Failed []time.Duration
	// Took is until every new pod was Ready and every old one deleted: when `kubectl rollout status` returns.
	Took time.Duration
}

// report is the whole run.
type report struct {
	Gated, Plain rollout
	Scale        float64
	Replicas     int32
	Rate         float64 // requests a second to each app
	From, To     time.Duration
}

// rollouts are both, the gated one first.
func (r report) rollouts() []rollout { return []rollout{r.Gated, r.Plain} }

// faster is how many times faster than AWS the run was.
func (r report) faster() float64 { return 1 / r.Scale }

// verdict is nil when the run shows what it is meant to show.
func (r report) verdict() error {
	switch {
	case r.Gated.Load.Requests == 0 || r.Plain.Load.Requests == 0:
		return errors.New("no request was sent: the run proves nothing")
	case r.Gated.Load.Failed > 0:
		return fmt.Errorf("the gated rollout lost %d of %d requests (%s); it must not lose any",
			r.Gated.Load.Failed, r.Gated.Load.Requests, statuses(r.Gated.Load))
	case r.Plain.Load.Failed == 0:
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

// took is when the last new pod was Ready and the last old one deleted.
func took(lanes []lane) time.Duration {
	var last time.Duration
	for _, l := range lanes {
		m := deleted
		if l.New {
			m = ready
		}
		last = max(last, l.At[m])
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

// example is the first pod of that version in the order of the lanes; false when there is none.
func (r rollout) example(isNew bool) (lane, bool) {
	i := slices.IndexFunc(r.Lanes, func(l lane) bool { return l.New == isNew })
	if i < 0 {
		return lane{}, false
	}
	return r.Lanes[i], true
}

// remark says what a moment has to do with the moment at the load balancer that it should wait for.
func (l lane) remark(m moment) string {
	before, after := map[moment]moment{ready: healthy, sigterm: lastRequest}[m], "last request"
	if before == "" || !l.has(m) || !l.has(before) {
		return ""
	}
	if before == healthy {
		after = "healthy"
	}
	gap := l.At[m] - l.At[before]
	if gap < 0 {
		return fmt.Sprintf("%.1f s before %s", -gap.Seconds(), after)
	}
	return fmt.Sprintf("%.1f s after %s", gap.Seconds(), after)
}

// early says that a moment came before the one that it should wait for.
func (l lane) early(m moment) bool {
	before := map[moment]moment{ready: healthy, sigterm: lastRequest}[m]
	return before != "" && l.has(m) && l.has(before) && l.At[m] < l.At[before]
}

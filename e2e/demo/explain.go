// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// explanation says in a few lines what the table shows, or that it does not show it.
func explanation(r report) []string {
	var lines []string
	for _, paragraph := range []string{plainStory(r), gatedStory(r), timesStory(r)} {
		lines = append(lines, wrap(paragraph, tableWidth)...)
	}
	return lines
}

// plainStory is why the plain rollout loses requests, as far as it did.
func plainStory(r report) string {
	if r.Plain.Load.Failed == 0 {
		return "plain lost nothing this time, so this run is no proof of anything."
	}
	early, orphans := 0, 0
	for _, l := range r.Plain.Lanes {
		if l.New && l.early(ready) {
			early++
		}
		if !l.New && l.early(sigterm) {
			orphans++
		}
	}
	return fmt.Sprintf("plain lost %s requests: %s new pods were Ready before the load balancer had found them healthy, so the "+
		"old ones were deleted too soon; %s old pods had stopped while the load balancer still sent them requests.",
		thousands(r.Plain.Load.Failed), share(early, r.Replicas), share(orphans, r.Replicas))
}

func share(n int, of int32) string {
	if n == int(of) {
		return fmt.Sprintf("all %d", n)
	}
	return fmt.Sprintf("%d of %d", n, of)
}

// gatedStory is why the gated rollout loses none.
func gatedStory(r report) string {
	if r.Gated.Load.Failed > 0 {
		return fmt.Sprintf("gated lost %s requests. That is a fault: it must not lose any.", thousands(r.Gated.Load.Failed))
	}
	return "gated lost none: targetgate kept each new pod NotReady until the load balancer had found it healthy, and took each " +
		"old pod off the load balancer when it was deleted; the preStop sleep kept it serving until no more requests came."
}

// timesStory is how the times compare to real ones.
func timesStory(r report) string {
	return fmt.Sprintf("Times are in seconds since the start of the rollout. Those of load balancers and nodes (health checks, "+
		"deregistration, probes, preStop) run %.3g times faster than on AWS; Kubernetes' and targetgate's own do not.", r.faster())
}

// wrap breaks text into lines of at most width characters.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

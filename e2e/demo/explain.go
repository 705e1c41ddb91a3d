// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// firstStories say what the first act shows, of gated and plain.
func (a act) firstStories() []string {
	gated, plain := unexpected(a.Gated), unexpected(a.Plain)
	if a.Gated.Load.Failed == 0 {
		gated = "gated lost none. targetgate deregisters an old pod, of either app, as soon as it is deleted, and the preStop sleep that " +
			"it has added to gated's pods keeps these serving until the load balancer has stopped sending."
	}
	if a.Plain.Load.Failed > 0 {
		plain = fmt.Sprintf("plain lost %s requests: %s. Its pods were deregistered as early, but had no preStop sleep. "+
			"What the gate does, act 2 shows.", thousands(a.Plain.Load.Failed), a.Plain.blame())
	}
	return []string{gated, plain}
}

// secondStories say what the second act shows, of gated and plain.
func (a act) secondStories() []string {
	gated, plain := unexpected(a.Gated), unexpected(a.Plain)
	if a.Gated.Load.Failed == 0 {
		gated = fmt.Sprintf("gated lost none: the load balancer did not accept the new pods, so their gates stayed closed; %s became Ready, "+
			"and %s old pods were left to serve.%s", outOf(a.Gated.newReady()), outOf(a.Gated.oldLeft()), a.sleepAside())
	}
	if a.Plain.Load.Failed > 0 {
		failed, sent := a.Plain.failedInLastSecond(a.To)
		plain = fmt.Sprintf("plain lost %s requests: without a gate %s new pods became Ready, and %s old pods were left. %s. "+
			"In the last second %s requests failed.", thousands(a.Plain.Load.Failed), outOf(a.Plain.newReady()), outOf(a.Plain.oldLeft()),
			capital(a.Plain.blame().String()), outOf(failed, sent))
	}
	return []string{gated, plain}
}

// sleepAside is true of an act in which no old pod of gated was deleted.
func (a act) sleepAside() string {
	if left, of := a.Gated.oldLeft(); left < of {
		return ""
	}
	return " None of them was deleted, so the preStop sleep had no part in it: the gate makes the difference here."
}

// unexpected is for an app with the outcome that it should not have.
func unexpected(r rollout) string {
	if r.Gated {
		return fmt.Sprintf("gated lost %s requests. That is a fault: it must not lose any.", thousands(r.Load.Failed))
	}
	return "plain lost nothing this time, so this run is no proof of anything."
}

// String says where failed requests had gone.
func (b blame) String() string {
	text := fmt.Sprintf("%s went to old pods that had been told to stop (SIGTERM), %s to new pods that the load balancer "+
		"had not found healthy",
		thousandsOrNone(b.stopping), thousandsOrNone(b.unhealthy))
	if b.before > 0 {
		text += fmt.Sprintf(", %s to old pods before they were told", thousands(b.before))
	}
	if b.other > 0 {
		text += fmt.Sprintf(", %s elsewhere", thousands(b.other))
	}
	return text
}

func thousandsOrNone(n int) string {
	if n == 0 {
		return "none"
	}
	return thousands(n)
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

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

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
		gated = "gated lost none. targetgate deregisters an old pod of either app as soon as it is deleted. The preStop sleep that it " +
			"added to gated's pods keeps them serving until the load balancer has stopped sending."
	}
	if a.Plain.Load.Failed > 0 {
		plain = fmt.Sprintf("plain lost %s requests: %s. Its pods were deregistered just as early, but had no preStop sleep. "+
			"Act 2 shows what the gate does.", thousands(a.Plain.Load.Failed), a.Plain.blame())
	}
	return []string{gated, plain}
}

// secondStories say what the second act shows, of gated and plain.
func (a act) secondStories() []string {
	gated, plain := unexpected(a.Gated), unexpected(a.Plain)
	if a.Gated.Load.Failed == 0 {
		gated = fmt.Sprintf("gated lost none: the new pods failed the load balancer's health checks, so their gates stayed closed; %s became "+
			"Ready, and %s old pods kept serving.%s", outOf(a.Gated.newReady()), outOf(a.Gated.oldLeft()), a.sleepAside())
	}
	if a.Plain.Load.Failed > 0 {
		failed, sent := a.Plain.failedInLastSecond(a.To)
		plain = fmt.Sprintf("plain lost %s requests: without a gate, %s new pods became Ready, and %s old pods were left. %s. "+
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
	return " None of them was deleted, so the preStop sleep played no part: the gate makes the difference."
}

// unexpected is for an app with the outcome that it should not have.
func unexpected(r rollout) string {
	if r.Gated {
		return fmt.Sprintf("gated lost %s requests. That is a bug: it must not lose any.", thousands(r.Load.Failed))
	}
	return "plain lost nothing this time, so this run proves nothing."
}

// String says where failed requests had gone.
func (b blame) String() string {
	text := fmt.Sprintf("%s went to old pods after SIGTERM, %s to new pods whose targets were not healthy yet",
		thousandsOrNone(b.stopping), thousandsOrNone(b.unhealthy))
	if b.before > 0 {
		text += fmt.Sprintf(", %s to old pods before SIGTERM", thousands(b.before))
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
		"deregistration, probes, preStop) run %.3g times faster than on AWS; those of Kubernetes and targetgate do not.", r.faster())
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

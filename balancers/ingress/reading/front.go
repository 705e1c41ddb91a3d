// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// TCP is the protocol of the listeners in front.
const TCP = "TCP"

// readFront reads what is to stand in front of the group's load balancer. What a member says of it that does not ask for it is set aside.
func (r settingsReader) readFront() {
	say(r.Reading, annotation.EnableFront, "", "", YesNo)
	said := r.Reading
	if !r.AsksForFront() {
		said = &Reading{voter: voter{Name: r.Name, Votes: map[string]Vote{}}, in: r.in, Member: r.Member, Ports: r.Ports}
		r.aside = said
	}
	settingsReader{said}.readFrontSettings()
	r.FrontPorts = said.FrontPorts
}

// AsksForFront reports whether the member wants something to stand in front of the load balancer.
func (r *Reading) AsksForFront() bool {
	return r.Votes[annotation.EnableFront.Name].Text == YesNo(true)
}

// CountFront has what is set aside count, or not.
func (r *Reading) CountFront(counts bool) {
	if r.aside == nil {
		return
	}
	r.counts = counts
	for setting, vote := range r.aside.Votes {
		if delete(r.Votes, setting); counts {
			r.Votes[setting] = vote
		}
	}
}

func (r *Reading) asideFaults() []fault.Fault {
	if r.aside == nil {
		return nil
	}
	return r.aside.Faults
}

// Holding are the faults that hold the member.
func (r *Reading) Holding() []fault.Fault {
	if !r.counts {
		return r.Faults
	}
	return slices.Concat(r.Faults, r.aside.Faults)
}

// IsHeld reports whether a fault holds the member.
func (r *Reading) IsHeld() bool { return len(r.Faults) > 0 || r.counts && len(r.aside.Faults) > 0 }

// Told are the warnings of the member, and what would hold it if it counted.
func (r *Reading) Told() []fault.Fault {
	if r.counts {
		return slices.Concat(r.Warnings, r.aside.Warnings)
	}
	told := slices.Clone(r.Warnings)
	for _, wrong := range r.asideFaults() {
		wrong.Kind = fault.Warning
		told = append(told, wrong)
	}
	return told
}

// readFrontSettings reads the settings of what is to stand in front.
func (r settingsReader) readFrontSettings() {
	say(r.Reading, annotation.FrontScheme, "", "", asIs)
	r.addSubnets(annotation.FrontSubnets.Name, r.namesIn(annotation.FrontSubnets), fault.Fault{
		Annotation: annotation.FrontSubnets.FullName(),
	})
	say(r.Reading, annotation.FrontAllocations, "", "", commas)
	r.readSecurityGroups(annotation.FrontSecurityGroups)
	attributes, _ := get(r.Reading, annotation.FrontAttributes)
	r.addKeys(annotation.FrontAttributes.Name, attributes, fault.Fault{Annotation: annotation.FrontAttributes.FullName()})
	tags := r.tagsIn(annotation.FrontTags)
	r.addKeys(annotation.FrontTags.Name, tags, fault.Fault{Annotation: annotation.FrontTags.FullName()})
	r.readFrontPorts()
	r.readFrontChecks()
	r.checkFront(len(tags))
}

// readFrontChecks reads how the load balancer is checked, which each port in front has of its own.
func (r settingsReader) readFrontChecks() {
	for _, key := range []annotation.Key[string]{
		annotation.FrontCheckPort, annotation.FrontCheckProtocol, annotation.FrontCheckPath, annotation.FrontSuccessCodes,
	} {
		if value, set := get(r.Reading, key); set {
			r.addFrontCheck(key.Annotation, value)
		}
	}
	for _, key := range []annotation.Key[int64]{
		annotation.FrontCheckInterval, annotation.FrontCheckTimeout, annotation.FrontHealthyThreshold, annotation.FrontUnhealthyThreshold,
	} {
		if value, set := get(r.Reading, key); set {
			r.addFrontCheck(key.Annotation, decimal(value))
		}
	}
}

func (r settingsReader) addFrontCheck(row *annotation.Annotation, text string) {
	for _, port := range r.FrontPorts {
		r.addText(stack.OfPort(row.Name, port), text, fault.Fault{Annotation: row.FullName()})
	}
}

// readFrontPorts reads on which ports the member wants what stands in front to listen: those that it maps to a port of its own, or without
// a mapping all of its own.
func (r settingsReader) readFrontPorts() {
	mapped, _ := get(r.Reading, annotation.FrontPorts)
	if len(mapped) == 0 {
		for port := range r.Ports {
			r.addFrontPort(port, port)
		}
	}
	for front, behind := range mapped {
		port, _ := strconv.ParseInt(front, 10, 32) // it is one, and so is the other
		to, _ := strconv.ParseInt(behind, 10, 32)
		if !r.Listens(int32(to)) {
			r.warnOf(fault.Fault{Annotation: annotation.FrontPorts.FullName(), Value: front + "=" + behind,
				Reason: "this Ingress does not listen on port " + behind + ", so this is ignored: set a port of " + annotation.ListenPorts.FullName()})
			continue
		}
		r.addFrontPort(int32(port), int32(to))
	}
}

func (r settingsReader) addFrontPort(front, behind int32) {
	r.FrontPorts = append(r.FrontPorts, front)
	r.add(FrontPort(front), decimal(int64(behind)), fault.Fault{Annotation: annotation.FrontPorts.FullName()})
}

// MostFrontTags is how many tags of users a Network Load Balancer may have besides those by which it is found again.
const MostFrontTags = stack.MostTags - 3

// checkFront finds what is wrong with what a member says, whatever others say; by itself it has all defaults.
func (r settingsReader) checkFront(tags int) {
	if tags > MostFrontTags {
		r.Fail(fault.Fault{
			Annotation: annotation.FrontTags.FullName(), Reason: fmt.Sprintf("has %d tags: must be at most %d", tags, MostFrontTags),
		})
	}
	own := Agreed{Votes: r.Votes}
	if reason := own.Overlapping(r.FrontPorts); r.in.Alone && reason != "" && r.AsksForFront() {
		fault := r.Votes[annotation.EnableFront.Name].From
		fault.Reason = reason
		r.Fail(fault)
	}
}

// Overlapping says at which of the ports in front one health check begins before the last one must have ended, "" for none.
func (a Agreed) Overlapping(ports []int32) string {
	for _, port := range slices.Sorted(slices.Values(ports)) {
		if check := a.FrontCheck(port); check.Timeout >= check.Interval {
			return fmt.Sprintf("health checks for port %d are every %d s and may take %d s: set an interval that is longer than the timeout in %s",
				port, check.Interval, check.Timeout, annotation.FrontCheckInterval.FullName())
		}
	}
	return ""
}

// FrontPort is the setting that says to which port of the load balancer a port in front leads.
func FrontPort(port int32) string { return stack.OfPort(annotation.FrontPorts.Name, port) }

// FrontCheck is how the load balancer is checked for a port in front.
func (a Agreed) FrontCheck(port int32) stack.HealthCheck {
	text := func(row *annotation.Annotation) string { return a.Get(stack.OfPort(row.Name, port), row.Default) }
	number := func(row *annotation.Annotation) int32 {
		n, _ := strconv.ParseInt(text(row), 10, 32) // it is one
		return int32(n)
	}
	return stack.HealthCheck{
		Port: text(annotation.FrontCheckPort.Annotation), Protocol: text(annotation.FrontCheckProtocol.Annotation),
		Path: text(annotation.FrontCheckPath.Annotation), Matcher: text(annotation.FrontSuccessCodes.Annotation),
		Interval: number(annotation.FrontCheckInterval.Annotation), Timeout: number(annotation.FrontCheckTimeout.Annotation),
		Healthy: number(annotation.FrontHealthyThreshold.Annotation), Unhealthy: number(annotation.FrontUnhealthyThreshold.Annotation),
	}
}

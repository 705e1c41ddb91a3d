// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/targetgate/targetgate/balancers/stack"
)

// tcp is the protocol of the listeners in front.
const tcp = "TCP"

// readFront reads what is to stand in front of the group's load balancer.
func (r *reading) readFront() {
	say(r, EnableFront, "", "", yesNo)
	say(r, FrontScheme, "", "", asIs)
	subnets, _ := get(r, FrontSubnets)
	r.addSubnets(FrontSubnets.Name, subnets, Fault{Annotation: Prefix + FrontSubnets.Name})
	say(r, FrontAllocations, "", "", commas)
	r.addSecurityGroups(FrontSecurityGroups)
	for _, key := range []Key[string]{FrontCheckPort, FrontCheckProtocol, FrontCheckPath, FrontSuccessCodes} {
		if value, set := get(r, key); set {
			r.addText(key.Name, value, Fault{Annotation: Prefix + key.Name})
		}
	}
	for _, key := range []Key[int64]{FrontCheckInterval, FrontCheckTimeout, FrontHealthyThreshold, FrontUnhealthyThreshold} {
		say(r, key, "", "", decimal)
	}
	attributes, _ := get(r, FrontAttributes)
	r.addKeys(FrontAttributes.Name, attributes, Fault{Annotation: Prefix + FrontAttributes.Name})
	tags, _ := get(r, FrontTags)
	r.fail(r.in.Options.checkTags(Fault{Annotation: Prefix + FrontTags.Name, Value: r.annotations()[Prefix+FrontTags.Name]}, tags))
	r.addKeys(FrontTags.Name, tags, Fault{Annotation: Prefix + FrontTags.Name})
	r.checkFront(len(tags))
	ports, _ := get(r, FrontPorts)
	for front, behind := range ports {
		r.add(frontPort(front), behind, Fault{Annotation: Prefix + FrontPorts.Name})
	}
	r.mapsPorts = len(ports) > 0
}

// mostFrontTags is how many tags of users a Network Load Balancer may have besides those by which it is found again.
const mostFrontTags = mostTags - 3

// checkFront finds what is wrong with what a member says, whatever others say; by itself it has all defaults.
func (r *reading) checkFront(tags int) {
	if tags > mostFrontTags {
		r.fail(Fault{Annotation: Prefix + FrontTags.Name, Reason: fmt.Sprintf("has %d tags: want at most %d", tags, mostFrontTags)})
	}
	own := agreed{votes: r.votes}
	if reason := overlapping(own.frontCheck()); r.in.alone && reason != "" && own.get(EnableFront.Name, "") == yesNo(true) {
		fault := r.votes[EnableFront.Name].from
		fault.Reason = reason
		r.fail(fault)
	}
}

// overlapping says that one health check begins before the last one must have ended, "" if not.
func overlapping(check stack.HealthCheck) string {
	if check.Timeout < check.Interval {
		return ""
	}
	return fmt.Sprintf("health checks are every %d s and may take %d s: want an interval that is longer than the timeout in %s",
		check.Interval, check.Timeout, Prefix+FrontCheckInterval.Name)
}

// frontPort is the setting of a port in front.
func frontPort(port string) string { return FrontPorts.Name + " " + port }

// seenFront is what stands in front of the load balancer; nil if nothing does.
func (in *Input) seenFront() *stack.LoadBalancer {
	if in.Seen.Front == nil {
		return nil
	}
	return serving(in.Seen.Front.LoadBalancers)
}

// addSeenFront adds what is seen in front of the load balancer.
func (r *reading) addSeenFront(seen *stack.Stack, lb *stack.LoadBalancer) {
	if lb == nil {
		return
	}
	r.add(EnableFront.Name, yesNo(true), Fault{})
	r.add(FrontScheme.Name, lb.Scheme, Fault{})
	r.add(FrontSubnets.Name, strings.Join(lb.Subnets, ","), Fault{})
	if len(lb.Allocations) > 0 {
		r.add(FrontAllocations.Name, strings.Join(lb.Allocations, ","), Fault{})
	}
	ids := make([]string, len(lb.SecurityGroups))
	for i, group := range lb.SecurityGroups {
		ids[i] = group.ID
	}
	r.add(FrontSecurityGroups.Name, strings.Join(ids, ","), Fault{})
	r.addKeys(FrontAttributes.Name, lb.Attributes, Fault{})
	r.addKeys(FrontTags.Name, lb.Tags, Fault{})
	for _, key := range []string{stack.ClusterTag, stack.Ingresses.StackTag(), stack.Ingresses.ResourceTag()} {
		delete(r.votes, keyed(FrontTags.Name, key))
	}
	for _, group := range seen.TargetGroups {
		if port := stack.FrontPort(group.Part); group.TargetPort != 0 {
			r.add(frontPort(decimal(int64(port))), decimal(int64(group.TargetPort)), Fault{})
		}
		check := group.HealthCheck
		r.addText(FrontCheckPort.Name, check.Port, Fault{})
		r.addText(FrontCheckProtocol.Name, check.Protocol, Fault{})
		r.addText(FrontCheckPath.Name, check.Path, Fault{})
		r.addText(FrontSuccessCodes.Name, check.Matcher, Fault{})
		r.add(FrontCheckInterval.Name, decimal(int64(check.Interval)), Fault{})
		r.add(FrontCheckTimeout.Name, decimal(int64(check.Timeout)), Fault{})
		r.add(FrontHealthyThreshold.Name, decimal(int64(check.Healthy)), Fault{})
		r.add(FrontUnhealthyThreshold.Name, decimal(int64(check.Unhealthy)), Fault{})
	}
}

// needsFrontSubnets reports whether the subnets of the VPC are needed for what stands in front.
func (in *Input) needsFrontSubnets(member Member) bool {
	enabled, _, _ := EnableFront.In(member.Ingress.Annotations)
	subnets, _, _ := FrontSubnets.In(member.Ingress.Annotations)
	scheme, _, _ := FrontScheme.In(member.Ingress.Annotations)
	seen := in.seenFront()
	return len(subnets) > 0 || enabled && (seen == nil || seen.Scheme != cmp.Or(scheme, in.Options.DefaultScheme))
}

// ShowsFrontAlone reports whether the member's status is to name what stands in front of the load balancer alone.
func (m Member) ShowsFrontAlone() bool {
	return m.Ingress.Annotations[FrontAloneAnnotation] == "true" || m.Params != nil && m.Params.Annotations[FrontAloneAnnotation] == "true"
}

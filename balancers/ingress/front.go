// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
)

// tcp is the protocol of the listeners in front.
const tcp = "TCP"

// readFront reads what is to stand in front of the group's load balancer.
func (r *reading) readFront() {
	say(r, annotation.EnableFront, "", "", yesNo)
	say(r, annotation.FrontScheme, "", "", asIs)
	subnets, _ := get(r, annotation.FrontSubnets)
	r.addSubnets(annotation.FrontSubnets.Name, subnets, annotation.Fault{Annotation: annotation.FrontSubnets.FullName()})
	say(r, annotation.FrontAllocations, "", "", commas)
	r.addSecurityGroups(annotation.FrontSecurityGroups)
	for _, key := range []annotation.Key[string]{
		annotation.FrontCheckPort, annotation.FrontCheckProtocol, annotation.FrontCheckPath, annotation.FrontSuccessCodes,
	} {
		if value, set := get(r, key); set {
			r.addText(key.Name, value, annotation.Fault{Annotation: key.FullName()})
		}
	}
	for _, key := range []annotation.Key[int64]{
		annotation.FrontCheckInterval, annotation.FrontCheckTimeout, annotation.FrontHealthyThreshold, annotation.FrontUnhealthyThreshold,
	} {
		say(r, key, "", "", decimal)
	}
	attributes, _ := get(r, annotation.FrontAttributes)
	r.addKeys(annotation.FrontAttributes.Name, attributes, annotation.Fault{Annotation: annotation.FrontAttributes.FullName()})
	tags, _ := get(r, annotation.FrontTags)
	r.fail(r.in.Options.checkTags(annotation.Fault{
		Annotation: annotation.FrontTags.FullName(), Value: r.annotations()[annotation.FrontTags.FullName()],
	}, tags))
	r.addKeys(annotation.FrontTags.Name, tags, annotation.Fault{Annotation: annotation.FrontTags.FullName()})
	r.checkFront(len(tags))
	ports, _ := get(r, annotation.FrontPorts)
	for front, behind := range ports {
		r.add(frontPort(front), behind, annotation.Fault{Annotation: annotation.FrontPorts.FullName()})
	}
	r.mapsPorts = len(ports) > 0
}

// mostFrontTags is how many tags of users a Network Load Balancer may have besides those by which it is found again.
const mostFrontTags = mostTags - 3

// checkFront finds what is wrong with what a member says, whatever others say; by itself it has all defaults.
func (r *reading) checkFront(tags int) {
	if tags > mostFrontTags {
		r.fail(annotation.Fault{
			Annotation: annotation.FrontTags.FullName(), Reason: fmt.Sprintf("has %d tags: want at most %d", tags, mostFrontTags),
		})
	}
	own := agreed{votes: r.votes}
	if reason := overlapping(own.frontCheck()); r.in.alone && reason != "" && own.get(annotation.EnableFront.Name, "") == yesNo(true) {
		fault := r.votes[annotation.EnableFront.Name].from
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
		check.Interval, check.Timeout, annotation.FrontCheckInterval.FullName())
}

// frontPort is the setting of a port in front.
func frontPort(port string) string { return annotation.FrontPorts.Name + " " + port }

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
	r.add(annotation.EnableFront.Name, yesNo(true), annotation.Fault{})
	r.add(annotation.FrontScheme.Name, lb.Scheme, annotation.Fault{})
	r.add(annotation.FrontSubnets.Name, strings.Join(lb.Subnets, ","), annotation.Fault{})
	if len(lb.Allocations) > 0 {
		r.add(annotation.FrontAllocations.Name, strings.Join(lb.Allocations, ","), annotation.Fault{})
	}
	ids := make([]string, len(lb.SecurityGroups))
	for i, group := range lb.SecurityGroups {
		ids[i] = group.ID
	}
	r.add(annotation.FrontSecurityGroups.Name, strings.Join(ids, ","), annotation.Fault{})
	r.addKeys(annotation.FrontAttributes.Name, lb.Attributes, annotation.Fault{})
	r.addKeys(annotation.FrontTags.Name, lb.Tags, annotation.Fault{})
	for _, key := range []string{stack.ClusterTag, stack.Ingresses.StackTag(), stack.Ingresses.ResourceTag()} {
		delete(r.votes, keyed(annotation.FrontTags.Name, key))
	}
	for _, group := range seen.TargetGroups {
		if port := stack.FrontPort(group.Part); group.TargetPort != 0 {
			r.add(frontPort(decimal(int64(port))), decimal(int64(group.TargetPort)), annotation.Fault{})
		}
		check := group.HealthCheck
		r.addText(annotation.FrontCheckPort.Name, check.Port, annotation.Fault{})
		r.addText(annotation.FrontCheckProtocol.Name, check.Protocol, annotation.Fault{})
		r.addText(annotation.FrontCheckPath.Name, check.Path, annotation.Fault{})
		r.addText(annotation.FrontSuccessCodes.Name, check.Matcher, annotation.Fault{})
		r.add(annotation.FrontCheckInterval.Name, decimal(int64(check.Interval)), annotation.Fault{})
		r.add(annotation.FrontCheckTimeout.Name, decimal(int64(check.Timeout)), annotation.Fault{})
		r.add(annotation.FrontHealthyThreshold.Name, decimal(int64(check.Healthy)), annotation.Fault{})
		r.add(annotation.FrontUnhealthyThreshold.Name, decimal(int64(check.Unhealthy)), annotation.Fault{})
	}
}

// needsFrontSubnets reports whether the subnets of the VPC are needed for what stands in front.
func (in *Input) needsFrontSubnets(member membership.Member) bool {
	enabled, _, _ := annotation.EnableFront.In(member.Ingress.Annotations)
	subnets, _, _ := annotation.FrontSubnets.In(member.Ingress.Annotations)
	scheme, _, _ := annotation.FrontScheme.In(member.Ingress.Annotations)
	seen := in.seenFront()
	return len(subnets) > 0 || enabled && (seen == nil || seen.Scheme != cmp.Or(scheme, in.Options.DefaultScheme))
}

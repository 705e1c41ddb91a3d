// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"strconv"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
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
	r.fail(r.in.Options.CheckTags(annotation.Fault{
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
const mostFrontTags = input.MostTags - 3

// checkFront finds what is wrong with what a member says, whatever others say; by itself it has all defaults.
func (r *reading) checkFront(tags int) {
	if tags > mostFrontTags {
		r.fail(annotation.Fault{
			Annotation: annotation.FrontTags.FullName(), Reason: fmt.Sprintf("has %d tags: want at most %d", tags, mostFrontTags),
		})
	}
	own := agreed{votes: r.votes}
	if reason := overlapping(own.frontCheck()); r.in.Alone && reason != "" && own.get(annotation.EnableFront.Name, "") == yesNo(true) {
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

// frontCheck is how the load balancer is checked.
func (a agreed) frontCheck() stack.HealthCheck {
	number := func(key annotation.Key[int64]) int32 {
		n, _ := strconv.ParseInt(a.get(key.Name, key.Default), 10, 32) // it is one
		return int32(n)
	}
	return stack.HealthCheck{
		Port:     a.get(annotation.FrontCheckPort.Name, annotation.FrontCheckPort.Default),
		Protocol: a.get(annotation.FrontCheckProtocol.Name, annotation.FrontCheckProtocol.Default),
		Path:     a.get(annotation.FrontCheckPath.Name, annotation.FrontCheckPath.Default),
		Matcher:  a.get(annotation.FrontSuccessCodes.Name, annotation.FrontSuccessCodes.Default),
		Interval: number(annotation.FrontCheckInterval), Timeout: number(annotation.FrontCheckTimeout),
		Healthy: number(annotation.FrontHealthyThreshold), Unhealthy: number(annotation.FrontUnhealthyThreshold),
	}
}

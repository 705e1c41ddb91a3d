// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
)

// healthCheck is how targets are checked.
func (b *backed) healthCheck(id input.TargetGroup) (stack.HealthCheck, error) {
	port, err := b.healthCheckPort(id.TargetType)
	if err != nil {
		return stack.HealthCheck{}, err
	}
	check := stack.HealthCheck{
		Port: port, Protocol: override(b, annotation.HealthCheckProtocol), Path: override(b, annotation.HealthCheckPath),
		Interval: int32(override(b, annotation.HealthCheckInterval)), Timeout: int32(override(b, annotation.HealthCheckTimeout)),
		Healthy: int32(override(b, annotation.HealthyThreshold)), Unhealthy: int32(override(b, annotation.UnhealthyThreshold)),
		Matcher: override(b, annotation.SuccessCodes),
	}
	if check.Protocol == "" {
		check.Protocol = id.Protocol
	}
	if id.ProtocolVersion == GRPC {
		if !b.has(annotation.HealthCheckPath.Name) {
			check.Path = "/AWS.ALB/healthcheck"
		}
		if !b.has(annotation.SuccessCodes.Name) {
			check.Matcher = "12"
		}
	}
	if b.err != nil {
		return check, b.err
	}
	return check, b.checkHealthCheck(check, id.ProtocolVersion)
}

// checkHealthCheck finds values that AWS does not take together.
func (b *backed) checkHealthCheck(check stack.HealthCheck, version string) error {
	lowest, highest := 200, 499
	if version == GRPC {
		lowest, highest = 0, 99
	}
	if err := annotation.CodesWithin(check.Matcher, lowest, highest); err != nil {
		return b.annotationFault(annotation.SuccessCodes.Name, check.Matcher, err.Error())
	}
	if check.Timeout < check.Interval {
		return nil
	}
	name, value := annotation.HealthCheckTimeout.Name, check.Timeout
	if !b.has(name) {
		name, value = annotation.HealthCheckInterval.Name, check.Interval
	}
	return b.annotationFault(name, strconv.Itoa(int(value)), fmt.Sprintf(
		"health checks are every %d s and may take %d s: set an interval that is longer than the timeout", check.Interval, check.Timeout))
}

// has reports whether the Service or the Ingress has the annotation.
func (b *backed) has(name string) bool {
	_, ofService := b.service.Annotations[annotation.Prefix+name]
	_, ofIngress := b.Annotations()[annotation.Prefix+name]
	return ofService || ofIngress
}

// healthCheckPort is traffic-port or a number. The annotation may also name a port of the Service.
func (b *backed) healthCheckPort(targetType string) (string, error) {
	text := override(b, annotation.HealthCheckPort)
	if text == annotation.TrafficPort {
		return text, nil
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		if n < 1 || n > 65535 {
			return "", b.healthCheckPortFault(text, "must be a port from 1 to 65535")
		}
		return text, nil
	}
	port := portOf(b.service, intstr.FromString(text))
	if port == nil {
		return "", b.healthCheckPortFault(text, "must be traffic-port, a number, or the name of a port of "+b.serviceObject())
	}
	other := &backed{ruleReader: b.ruleReader, service: b.service, port: port}
	if target := other.targetPort(); targetType == "ip" && target.Type == intstr.String {
		return "", b.healthCheckPortFault(text, fmt.Sprintf(
			"this port's targetPort is the name %q, which is no port of a health check: set a number", target.StrVal))
	}
	number, err := other.number(targetType)
	return strconv.Itoa(int(number)), err
}

func (b *backed) healthCheckPortFault(text, reason string) error {
	return b.annotationFault(annotation.HealthCheckPort.Name, text, reason)
}

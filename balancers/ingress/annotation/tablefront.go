// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"fmt"
	"regexp"
)

// The annotations of a Network Load Balancer in front of the load balancer.
var (
	EnableFront = add(Annotation{
		Name: "enable-frontend-nlb", Scope: OfGroup, Combine: Agree, Default: "false",
		Example: "true",
		Doc:     "Whether a Network Load Balancer stands in front of the load balancer. Its host name is the second one in the status.",
	}, parseBool)
	FrontScheme = add(Annotation{
		Name: "frontend-nlb-scheme", Scope: OfGroup, Combine: Agree,
		Example: "internet-facing",
		Doc:     "Whether the Network Load Balancer has public addresses. The default is that of --default-load-balancer-scheme.",
	}, oneOf(Internal, InternetFacing))
	FrontSubnets = add(Annotation{
		Name: "frontend-nlb-subnets", Scope: OfGroup, Combine: Agree,
		Example: "subnet-0a1b2c3d, public-b",
		Doc: "The Network Load Balancer's subnets, as IDs or values of their Name tags. Without it they are those of the load balancer, " +
			"or found by their tags if the schemes differ. AWS does not exchange the subnet of a zone: it leaves the zone first.",
	}, parseShortList)
	FrontAllocations = add(Annotation{
		Name: "frontend-nlb-eip-allocations", Scope: OfGroup, Combine: Agree,
		Example: "eipalloc-0a1b2c3d, eipalloc-1a2b3c4d",
		Doc: "IDs of Elastic IP addresses of an internet-facing Network Load Balancer, one for each subnet, in the order in which the " +
			"subnets are written; of subnets that are found, in the order of their IDs. AWS does not change them: a subnet keeps what it has.",
	}, parseAllocations)
	FrontSecurityGroups = add(Annotation{
		Name: "frontend-nlb-security-groups", Scope: OfGroup, Combine: AgreeInOrder,
		Example: "sg-0a1b2c3d, edge",
		Doc: "The Network Load Balancer's security groups, as IDs or values of their Name tags. Without it they are those of the load " +
			"balancer.",
	}, parseSecurityGroups)
	FrontPorts = add(Annotation{
		Name: "frontend-nlb-listener-port-mapping", Scope: OfIngress,
		Example: "80=8080,443=8443",
		Doc: "On which ports the Network Load Balancer listens, and to which port that the Ingress listens on each sends. Without it they " +
			"are the same.",
	}, parseFrontPorts)
	FrontCheckPort = add(Annotation{
		Name: "frontend-nlb-healthcheck-port", Scope: OfListener, Combine: Agree, Default: TrafficPort,
		Example: "443",
		Doc:     "The port at which the Network Load Balancer checks the load balancer: traffic-port or a number.",
	}, parseCheckPort)
	FrontCheckProtocol = add(Annotation{
		Name: "frontend-nlb-healthcheck-protocol", Scope: OfListener, Combine: Agree, Default: string(HTTP),
		Example: "HTTPS", Doc: "The protocol of these health checks.",
	}, oneOf(string(HTTP), string(HTTPS)))
	FrontCheckPath = add(Annotation{
		Name: "frontend-nlb-healthcheck-path", Scope: OfListener, Combine: Agree, Default: "/",
		Example: "/healthz", Doc: "The path of these health checks.",
	}, parseCheckPath)
	FrontCheckInterval = add(Annotation{
		Name: "frontend-nlb-healthcheck-interval-seconds", Scope: OfListener, Combine: Agree, Default: "15",
		Example: "10", Doc: "The seconds from one of these health checks to the next.",
	}, intBetween(5, 300))
	FrontCheckTimeout = add(Annotation{
		Name: "frontend-nlb-healthcheck-timeout-seconds", Scope: OfListener, Combine: Agree, Default: "5",
		Example: "3", Doc: "The seconds that one of these health checks may take.",
	}, intBetween(2, 120))
	FrontHealthyThreshold = add(Annotation{
		Name: "frontend-nlb-healthcheck-healthy-threshold-count", Scope: OfListener, Combine: Agree, Default: "2",
		Example: "2", Doc: "How many of these health checks in a row must pass to make the load balancer healthy.",
	}, intBetween(2, 10))
	FrontUnhealthyThreshold = add(Annotation{
		Name: "frontend-nlb-healthcheck-unhealthy-threshold-count", Scope: OfListener, Combine: Agree, Default: "2",
		Example: "3", Doc: "How many of these health checks in a row must fail to make the load balancer unhealthy.",
	}, intBetween(2, 10))
	FrontSuccessCodes = add(Annotation{
		Name: "frontend-nlb-healthcheck-success-codes", Scope: OfListener, Combine: Agree, Default: "200",
		Example: "200-399", Doc: "The status codes with which one of these health checks passes.",
	}, parseFrontCodes)
	FrontAttributes = add(Annotation{
		Name: "frontend-nlb-attributes", Scope: OfGroup, Combine: MergeKeys,
		Example: "load_balancing.cross_zone.enabled=true",
		Doc:     "Attributes of the Network Load Balancer. Others stay as they are, unless --reset-attributes is set.",
	}, AttributesOfFront.parse)
	FrontTags = add(Annotation{
		Name: "frontend-nlb-tags", Scope: OfGroup, Combine: MergeKeys,
		Example: "team=edge",
		Doc:     "Tags of the Network Load Balancer, in place of those of the load balancer and of --default-tags.",
	}, mapOf(mostTags, "tags"))
)

var parseAllocations = listOf("", regexp.MustCompile(`^eipalloc-[0-9a-f]+$`), "an ID such as eipalloc-0123456789abcdef0")

// parseFrontPorts parses ports of the load balancer by ports in front of it.
func parseFrontPorts(value string) (map[string]string, error) {
	pairs, err := mapOf(mostListed, "ports")(value)
	for front, behind := range pairs {
		for _, port := range []string{front, behind} {
			if _, err := intBetween(1, 65535)(port); err != nil {
				return nil, fmt.Errorf("port %.20q: %w", port, err)
			}
		}
	}
	return pairs, err
}

func parseCheckPort(value string) (string, error) {
	if _, err := intBetween(1, 65535)(value); err != nil && value != TrafficPort {
		return "", fmt.Errorf("%w, or %s", err, TrafficPort)
	}
	return value, nil
}

func parseFrontCodes(value string) (string, error) { return value, CodesWithin(value, 200, 599) }

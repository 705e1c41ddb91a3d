// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"k8s.io/utils/clock"
)

// Network looks up what load balancers are made in, and what users name that they have made themselves. It remembers answers, and is safe
// for concurrent use.
type Network struct {
	EC2 NetworkCalls
	ELB ELB
	WAF WebACLs
	// WAFClassic and Shield are nil where its web ACLs and protections are nobody's business.
	WAFClassic WebACLs
	Shield     Protections
	Clock      clock.PassiveClock
	VPC        string

	subnets      remembered[[]Subnet]
	groups       remembered[[]string]
	targetGroups remembered[string]
	groupTags    remembered[map[string]string]
	trustStores  remembered[string]
	webACLs      remembered[string]
	classicACLs  remembered[string]
	subscribed   remembered[bool]
	// allTargetGroups and allTrustStores are the ARNs of all by their names.
	allTargetGroups, allTrustStores remembered[map[string]string]
	missed                          misses
}

// NetworkCalls are the calls of EC2. Each answers with all pages.
type NetworkCalls interface {
	SecurityGroups
	DescribeSubnets(context.Context, *awsec2.DescribeSubnetsInput) (*awsec2.DescribeSubnetsOutput, error)
	DescribeRouteTables(context.Context, *awsec2.DescribeRouteTablesInput) (*awsec2.DescribeRouteTablesOutput, error)
	DescribeAvailabilityZones(context.Context, *awsec2.DescribeAvailabilityZonesInput) (*awsec2.DescribeAvailabilityZonesOutput, error)
}

// Subnet is one of the VPC.
type Subnet struct {
	ID, Zone string
	// Locale is availability-zone, local-zone, wavelength-zone or outpost.
	Locale string
	// Free counts its free IPv4 addresses.
	Free   int32
	IPv6   bool // it has an IPv6 CIDR
	Public bool // its route table has a route to an internet gateway
	Tags   map[string]string
}

// For how long answers count: what was found, and that nothing was, when that is answered first.
const (
	foundAge  = 10 * time.Minute
	missedAge = 30 * time.Second
)

// Subnets are all of the VPC, at most half a minute old: a new one, and a new tag, are soon found. The caller may not change them.
func (n *Network) Subnets(ctx context.Context) ([]Subnet, error) {
	return n.subnets.get(ctx, n.Clock.Now, "", func(ctx context.Context) ([]Subnet, time.Duration, error) {
		subnets, err := n.readSubnets(ctx)
		return subnets, missedAge, err
	})
}

func (n *Network) inVPC() []ec2types.Filter {
	return []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{n.VPC}}}
}

func (n *Network) readSubnets(ctx context.Context) ([]Subnet, error) {
	described, err := n.EC2.DescribeSubnets(ctx, &awsec2.DescribeSubnetsInput{Filters: n.inVPC()})
	if err != nil {
		return nil, err
	}
	tables, err := n.EC2.DescribeRouteTables(ctx, &awsec2.DescribeRouteTablesInput{Filters: n.inVPC()})
	if err != nil {
		return nil, err
	}
	zones, err := n.EC2.DescribeAvailabilityZones(ctx, &awsec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, err
	}
	locales := map[string]string{}
	for _, zone := range zones.AvailabilityZones {
		locales[aws.ToString(zone.ZoneName)] = aws.ToString(zone.ZoneType)
	}
	isPublic := publicBy(tables.RouteTables)
	var out []Subnet
	for _, s := range described.Subnets {
		subnet := Subnet{
			ID: aws.ToString(s.SubnetId), Zone: aws.ToString(s.AvailabilityZone), Locale: locales[aws.ToString(s.AvailabilityZone)],
			Free: aws.ToInt32(s.AvailableIpAddressCount), Public: isPublic(aws.ToString(s.SubnetId)),
			IPv6: slices.ContainsFunc(s.Ipv6CidrBlockAssociationSet, isAssociated), Tags: map[string]string{},
		}
		if aws.ToString(s.OutpostArn) != "" {
			subnet.Locale = "outpost"
		}
		for _, tag := range s.Tags {
			subnet.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		out = append(out, subnet)
	}
	return out, nil
}

func isAssociated(block ec2types.SubnetIpv6CidrBlockAssociation) bool {
	return block.Ipv6CidrBlockState != nil && block.Ipv6CidrBlockState.State == ec2types.SubnetCidrBlockStateCodeAssociated
}

// publicBy reports whether a subnet's route table leads to an internet gateway. A subnet without a table of its own has the VPC's main one.
func publicBy(tables []ec2types.RouteTable) func(subnet string) bool {
	public, mainPublic := map[string]bool{}, false
	for _, table := range tables {
		leads := slices.ContainsFunc(table.Routes, func(route ec2types.Route) bool {
			return strings.HasPrefix(aws.ToString(route.GatewayId), "igw-")
		})
		for _, association := range table.Associations {
			if aws.ToBool(association.Main) {
				mainPublic = leads
			} else if id := aws.ToString(association.SubnetId); id != "" {
				public[id] = leads
			}
		}
	}
	return func(subnet string) bool {
		leads, own := public[subnet]
		return own && leads || !own && mainPublic
	}
}

// SecurityGroups are the IDs of those of the VPC whose Name tag is that, none if there is none.
func (n *Network) SecurityGroups(ctx context.Context, name string) ([]string, error) {
	return n.groups.get(ctx, n.Clock.Now, name, func(ctx context.Context) (ids []string, age time.Duration, err error) {
		out, err := n.EC2.DescribeSecurityGroups(ctx, &awsec2.DescribeSecurityGroupsInput{Filters: append(n.inVPC(),
			ec2types.Filter{Name: aws.String("tag:Name"), Values: []string{escaped(name)}})})
		if err != nil {
			return nil, 0, err
		}
		for _, group := range out.SecurityGroups {
			ids = append(ids, aws.ToString(group.GroupId))
		}
		return ids, n.missed.ageOf("security group "+name, len(ids) > 0, n.Clock.Now()), nil
	})
}

// escaped has the wildcards of EC2's filters stand for themselves.
func escaped(value string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`).Replace(value)
}

// TargetGroup is the ARN of the target group of that name, "" if there is none, or can be none as AWS does not take it for a name.
func (n *Network) TargetGroup(ctx context.Context, name string) (string, error) {
	return n.targetGroups.get(ctx, n.Clock.Now, name, func(ctx context.Context) (string, time.Duration, error) {
		out, err := n.ELB.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{Names: []string{name}})
		switch {
		case isNone(err) || err == nil && len(out.TargetGroups) == 0:
			return "", n.missed.ageOf("target group "+name, false, n.Clock.Now()), nil
		case err != nil:
			return "", 0, err
		}
		return aws.ToString(out.TargetGroups[0].TargetGroupArn), n.missed.ageOf("target group "+name, true, n.Clock.Now()), nil
	})
}

// TrustStore is the ARN of the trust store of that name, "" if there is none, or can be none as AWS does not take it for a name.
func (n *Network) TrustStore(ctx context.Context, name string) (string, error) {
	return n.trustStores.get(ctx, n.Clock.Now, name, func(ctx context.Context) (string, time.Duration, error) {
		out, err := n.ELB.DescribeTrustStores(ctx, &elbv2.DescribeTrustStoresInput{Names: []string{name}})
		switch {
		case isNone(err) || err == nil && len(out.TrustStores) == 0:
			return "", n.missed.ageOf("trust store "+name, false, n.Clock.Now()), nil
		case err != nil:
			return "", 0, err
		}
		return aws.ToString(out.TrustStores[0].TrustStoreArn), n.missed.ageOf("trust store "+name, true, n.Clock.Now()), nil
	})
}

// WebACL is the ARN of the regional web ACL of that name, "" if there is none.
func (n *Network) WebACL(ctx context.Context, name string) (string, error) {
	return n.webACLs.get(ctx, n.Clock.Now, name, func(ctx context.Context) (string, time.Duration, error) {
		arn, err := n.WAF.Named(ctx, name)
		if err != nil {
			return "", 0, err
		}
		return arn, n.missed.ageOf("web ACL "+name, arn != "", n.Clock.Now()), nil
	})
}

// ClassicACL is the ID if a web ACL of AWS WAF Classic has it, "" if none has.
func (n *Network) ClassicACL(ctx context.Context, id string) (string, error) {
	return n.classicACLs.get(ctx, n.Clock.Now, id, func(ctx context.Context) (string, time.Duration, error) {
		found, err := n.WAFClassic.Named(ctx, id)
		if err != nil {
			return "", 0, err
		}
		return found, n.missed.ageOf("classic web ACL "+id, found != "", n.Clock.Now()), nil
	})
}

// ShieldSubscribed reports whether the account has a subscription to AWS Shield Advanced.
func (n *Network) ShieldSubscribed(ctx context.Context) (bool, error) {
	return n.subscribed.get(ctx, n.Clock.Now, "", func(ctx context.Context) (bool, time.Duration, error) {
		subscribed, err := n.Shield.Subscribed(ctx)
		return subscribed, foundAge, err
	})
}

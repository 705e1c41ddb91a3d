// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package route53 is the only way to Amazon Route 53: it makes the records that prove to AWS Certificate Manager that a domain is ours.
package route53

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsroute53 "github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
)

// ttl of records, in seconds: the incumbent's.
const ttl = 60

// Client makes records in the public hosted zones of the program's own account. It is safe for concurrent use and holds no lock during a
// call.
type Client struct {
	calls accounts.Caller[awsroute53.Client]
}

// NewClient returns the client whose calls are charged to the class. No call is made.
func NewClient(a *accounts.Accounts, class budget.Class) *Client {
	return &Client{accounts.NewCaller(a, awsroute53.NewFromConfig(a.Config(budget.Route53)), class)}
}

// Zone is a public hosted zone.
type Zone struct{ ID, Name string } // its name without the final dot

// Zones are all public hosted zones of the account.
func (c *Client) Zones(ctx context.Context) (zones []Zone, err error) {
	err = accounts.Pages(ctx, c.calls, "listing hosted zones", (*awsroute53.Client).ListHostedZones, &awsroute53.ListHostedZonesInput{},
		func(in *awsroute53.ListHostedZonesInput, page *awsroute53.ListHostedZonesOutput) bool {
			for _, zone := range page.HostedZones {
				if zone.Config == nil || !zone.Config.PrivateZone {
					zones = append(zones, Zone{aws.ToString(zone.Id), strings.TrimSuffix(aws.ToString(zone.Name), ".")})
				}
			}
			return accounts.Follow(&in.Marker, page.NextMarker)
		})
	return zones, err
}

// Holds reports whether names like this one are in the zone, unless a zone with a longer name has them.
func (z Zone) Holds(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return name == z.Name || strings.HasSuffix(name, "."+z.Name)
}

// Create makes a CNAME record. One of that name that is there stays as it is, and is no error.
func (c *Client) Create(ctx context.Context, zone Zone, name, value string) error {
	doing := fmt.Sprintf("creating the record %s in the hosted zone %s", name, zone.Name)
	_, err := accounts.Call(ctx, c.calls, doing, (*awsroute53.Client).ChangeResourceRecordSets, &awsroute53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone.ID,
		ChangeBatch: &types.ChangeBatch{Changes: []types.Change{{
			Action: types.ChangeActionCreate,
			ResourceRecordSet: &types.ResourceRecordSet{
				Name: &name, Type: types.RRTypeCname, TTL: aws.Int64(ttl), ResourceRecords: []types.ResourceRecord{{Value: &value}},
			},
		}}},
	})
	if isThere(err) {
		return nil
	}
	return err
}

// isThere reports whether a record was not made because there is one. Route 53 has no code of its own for that.
func isThere(err error) bool {
	return awserr.HasCode(err, "InvalidChangeBatch") && strings.Contains(err.Error(), "already exists")
}

// ZoneOf is the zone with the longest name that holds a name like this one; false for none.
func ZoneOf(zones []Zone, name string) (Zone, bool) {
	zones = slices.DeleteFunc(slices.Clone(zones), func(z Zone) bool { return !z.Holds(name) })
	if len(zones) == 0 {
		return Zone{}, false
	}
	return slices.MaxFunc(zones, func(a, b Zone) int { return len(a.Name) - len(b.Name) }), true
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package route53 is the only way to Amazon Route 53: it makes the records by which AWS Certificate Manager knows whose a domain is.
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

// ServiceID is the SDK's name of the service.
const ServiceID = budget.Route53

// ttl of records, in seconds: the incumbent's.
const ttl = 60

// Client makes records in the public hosted zones of the program's own account. It is safe for concurrent use and holds no lock during a
// call.
type Client struct {
	api     *awsroute53.Client
	session *accounts.Session
	class   budget.Class
}

// NewClient returns the client whose calls are charged to the class. No call is made.
func NewClient(a *accounts.Accounts, class budget.Class) *Client {
	return &Client{api: awsroute53.NewFromConfig(a.Config(ServiceID)), session: a.Session(accounts.Role{}), class: class}
}

// Zone is a public hosted zone.
type Zone struct{ ID, Name string } // its name without the final dot

// Zones are all public hosted zones of the account.
func (c *Client) Zones(ctx context.Context) (zones []Zone, err error) {
	pages := awsroute53.NewListHostedZonesPaginator(c.api, &awsroute53.ListHostedZonesInput{})
	if ctx, err = c.session.Prepare(ctx, c.class, ""); err != nil {
		return nil, fmt.Errorf("listing hosted zones: %w", err)
	}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing hosted zones: %w", err)
		}
		for _, zone := range page.HostedZones {
			if zone.Config == nil || !zone.Config.PrivateZone {
				zones = append(zones, Zone{aws.ToString(zone.Id), strings.TrimSuffix(aws.ToString(zone.Name), ".")})
			}
		}
	}
	return zones, nil
}

// Holds reports whether names like this one are in the zone, unless a zone with a longer name has them.
func (z Zone) Holds(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return name == z.Name || strings.HasSuffix(name, "."+z.Name)
}

// Create makes a CNAME record. One of that name that is there stays as it is, and is no error.
func (c *Client) Create(ctx context.Context, zone Zone, name, value string) error {
	doing := fmt.Sprintf("creating the record %s in the hosted zone %s", name, zone.Name)
	ctx, err := c.session.Prepare(ctx, c.class, "")
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	_, err = c.api.ChangeResourceRecordSets(ctx, &awsroute53.ChangeResourceRecordSetsInput{
		HostedZoneId: &zone.ID,
		ChangeBatch: &types.ChangeBatch{Changes: []types.Change{{
			Action: types.ChangeActionCreate,
			ResourceRecordSet: &types.ResourceRecordSet{
				Name: &name, Type: types.RRTypeCname, TTL: aws.Int64(ttl), ResourceRecords: []types.ResourceRecord{{Value: &value}},
			},
		}}},
	})
	if err != nil && !isThere(err) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
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

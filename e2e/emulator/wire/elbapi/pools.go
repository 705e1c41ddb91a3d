// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type poolsXML struct {
	IPv4 string `xml:"Ipv4IpamPoolId"`
}

type poolsAnswerXML struct {
	IpamPools *poolsXML
}

// poolsAnswer is nothing for a load balancer without a pool of IPAM.
func poolsAnswer(pool string) *poolsXML {
	if pool == "" {
		return nil
	}
	return &poolsXML{pool}
}

func ipamPool(q *call.Request) string { return q.Text("IpamPools.Ipv4IpamPoolId") }

func modifyIPPools(q *call.Request) (any, error) {
	pool, removed := ipamPool(q), q.Texts("RemoveIpamPools.member")
	switch {
	case slices.ContainsFunc(removed, func(kind string) bool { return kind != "ipv4" }):
		return nil, refusal.Unfit("removeIpamPools", removed, "satisfy enum value set: [ipv4]")
	case (pool == "") == (len(removed) == 0):
		return nil, refusal.Invalid("Either an IPAM pool or those to remove must be specified")
	}
	b, err := setting(q, q.Cloud.ELB.SetIPAMPool(q.Text("LoadBalancerArn"), pool))
	return poolsAnswerXML{b.IpamPools}, err
}

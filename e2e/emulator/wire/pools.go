// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/state"
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

func (q *request) ipamPool() string { return q.text("IpamPools.Ipv4IpamPoolId") }

func modifyIPPools(s *Server, q *request) (any, error) {
	pool, removed := q.ipamPool(), q.texts("RemoveIpamPools.member")
	switch {
	case slices.ContainsFunc(removed, func(kind string) bool { return kind != "ipv4" }):
		return nil, state.Unfit("removeIpamPools", removed, "satisfy enum value set: [ipv4]")
	case (pool == "") == (len(removed) == 0):
		return nil, state.Invalid("Either an IPAM pool or those to remove must be specified")
	}
	b, err := setting(s, q, s.machine.SetIPAMPool(q.text("LoadBalancerArn"), pool))
	return poolsAnswerXML{b.IpamPools}, err
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloud puts the services of one region together.
package cloud

import (
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/route53"
	"github.com/targetgate/targetgate/e2e/emulator/shield"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/waf"
)

// Options configure a Cloud; the zero value is eu-west-1 in real time.
type Options struct {
	Region region.Options
	EC2    ec2.Options
	ELB    state.Options
	// CertificateDelay is how long ACM takes with a certificate, see acm.New; nil is up to 10 s.
	CertificateDelay *region.Range
}

// Cloud is the services. Where one calls another, it holds its own lock: WAF and Shield call ELB, ELB calls EC2 and ACM.
type Cloud struct {
	Region *region.Region
	EC2    *ec2.Network
	ACM    *acm.ACM
	ELB    *state.Machine
	WAF    *waf.WAF
	Shield *shield.Shield

	Route53 *route53.Server
}

// New makes a Cloud with the networks of Options and nothing else.
func New(opts Options) *Cloud {
	if opts.CertificateDelay == nil {
		opts.CertificateDelay = &region.Range{Min: time.Second, Max: 10 * time.Second}
	}
	c := &Cloud{Region: region.New(opts.Region)}
	c.EC2 = ec2.New(c.Region, opts.EC2)
	c.ACM = acm.New(c.Region, *opts.CertificateDelay)
	c.ELB = state.New(c.Region, c.EC2, c.ACM, opts.ELB)
	c.WAF = waf.New(c.Region, c.ELB)
	c.Shield = shield.New(c.Region, c.ELB)
	c.Route53 = route53.New(func(name string) (string, bool) {
		_, ok := c.ELB.BalancerNamed(name)
		return "Z32O12XQLNTSW2", ok // that of Application Load Balancers in eu-west-1
	})
	return c
}

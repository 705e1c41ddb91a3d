// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/e2e/emulator/iam"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

// Limit is a token bucket: Capacity calls at once, Refill calls a second. The zero value is no limit.
type Limit struct {
	Capacity int
	Refill   float64
}

// Limits are the token buckets of one account, by kind of call.
type Limits struct {
	// Describe is shared by all ELBv2 operations whose name begins so.
	Describe Limit
	// Register is shared by RegisterTargets and DeregisterTargets.
	Register Limit
	// Modify is shared by all ELBv2 operations whose name begins so.
	Modify Limit
	// Other is for all other ELBv2 operations, one for each first word of their names: Create, Delete, Set, Add and Remove. AWS does not
	// document these, the default is that of Modify. STS has no limit here.
	Other Limit
	// EC2 limits each of its operations by itself: Describe operations, of these DescribeInstances,
	// DescribeNetworkInterfaces and DescribeSecurityGroups without filters and pages, and all that change something.
	EC2Describe, EC2Unfiltered, EC2Change Limit
	// ACM and WAFRead limit each operation by itself. WAFAssociate is for AssociateWebACL and for DisassociateWebACL, WAFLookup for
	// GetWebACLForResource, WAFRead for the others of WAFv2; WAF Classic has the same beside.
	ACM, WAFAssociate, WAFLookup, WAFRead Limit
	// Route53 is shared by all of its operations.
	Route53 Limit
}

// DefaultLimits are those that AWS documents.
func DefaultLimits() Limits {
	return Limits{
		Describe: Limit{Capacity: 200, Refill: 50},
		Register: Limit{Capacity: 20, Refill: 4},
		Modify:   Limit{Capacity: 20, Refill: 3},
		Other:    Limit{Capacity: 20, Refill: 3},

		EC2Describe:   Limit{Capacity: 100, Refill: 20},
		EC2Unfiltered: Limit{Capacity: 50, Refill: 10},
		EC2Change:     Limit{Capacity: 50, Refill: 5},

		ACM:          Limit{Capacity: 10, Refill: 10},
		Route53:      Limit{Capacity: 5, Refill: 5},
		WAFAssociate: Limit{Capacity: 1, Refill: 0.5},
		WAFLookup:    Limit{Capacity: 1, Refill: 1},
		WAFRead:      Limit{Capacity: 5, Refill: 5},
	}
}

// byKind are the limits as services name them.
func (l Limits) byKind() map[call.Limit]Limit {
	return map[call.Limit]Limit{
		call.Describe: l.Describe, call.Register: l.Register, call.Modify: l.Modify, call.Other: l.Other,
		call.EC2Describe: l.EC2Describe, call.EC2Unfiltered: l.EC2Unfiltered, call.EC2Change: l.EC2Change,
		call.ACM: l.ACM, call.WAFAssociate: l.WAFAssociate, call.WAFLookup: l.WAFLookup, call.WAFRead: l.WAFRead,
		call.Route53: l.Route53,
	}
}

// Role is a role that AssumeRole may be called for.
type Role struct {
	// ARN is arn:aws:iam::<account>:role/<name>.
	ARN string
	// ExternalID must be given by the caller when it is not empty.
	ExternalID string
	// SessionName, when not empty, is what its trust policy asks of the session's name (StringLike): * stands for any text.
	SessionName string
	// TagSession says that its trust policy allows session tags.
	TagSession bool
	// Tags are those that its trust policy asks for, beside any others (StringEquals of aws:RequestTag).
	Tags map[string]string
	// Lifetime is how long its credentials last, whatever the caller asks for; 0 is what the caller asks for, or an
	// hour. Their Expiration tells the truth.
	Lifetime time.Duration
}

// Options configure a Server; the zero value has AWS's limits, no latency and no roles.
type Options struct {
	// Clock times latency, buckets and sessions; the real one when nil.
	Clock clock.Clock
	// Latency is added to every call.
	Latency time.Duration
	// Limits replace DefaultLimits as a whole.
	Limits *Limits
	Roles  []Role
	// AccessKeys maps the keys that are accepted to their account; nil accepts any key for the default account.
	AccessKeys map[string]string
	// Policies are those of principals, by access key or the ARN of a role. A principal without any may do everything.
	Policies map[string][]iam.Policy
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Limits == nil {
		limits := DefaultLimits()
		o.Limits = &limits
	}
	return o
}

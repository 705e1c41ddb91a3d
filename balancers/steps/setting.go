// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"strconv"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Setting is one of a load balancer that AWS takes in a call of its own. It is the name of the change in plans.
type Setting string

// The settings. What is wanted of a setting, or seen, is a text; of some "" says that there is none.
const (
	AddressType Setting = "SetAddressType" // the address families
	IPAMPool    Setting = "SetIPAMPool"    // the ID of the pool of public IPv4 addresses; "" for Amazon's
	WebACL      Setting = "SetWebACL"      // an ARN
	ClassicACL  Setting = "SetClassicACL"  // the ID of a web ACL of AWS WAF Classic
	Capacity    Setting = "SetCapacity"    // how many capacity units are reserved; "0" for none
)

// setting is what there is to say of one.
type setting struct {
	voter   string // the setting of members that decides it, as in Stack.Voters
	differs string // for users, when it does
	// get is its value, nil if that is not read, or what there is stays.
	get func(*stack.LoadBalancer) *string
	put func(b *stack.LoadBalancer, value string)
	// text says in a few words what the call does.
	text func(value, balancer string) string
	// guards says that what it sets keeps requests out.
	guards bool
}

var settings = map[Setting]setting{
	AddressType: {
		voter: stack.SettingAddressType, differs: "its address type differs",
		get:  func(b *stack.LoadBalancer) *string { return &b.AddressType },
		put:  func(b *stack.LoadBalancer, value string) { b.AddressType = value },
		text: func(value, balancer string) string { return "set address type " + value + " of " + balancer },
	},
	IPAMPool: {
		voter: stack.SettingIPAMPool, differs: "its pool of addresses differs",
		get: func(b *stack.LoadBalancer) *string { return &b.IPAMPool },
		put: func(b *stack.LoadBalancer, value string) { b.IPAMPool = value },
		text: func(value, balancer string) string {
			return "take public addresses of " + balancer + " from " + cmp.Or(value, "Amazon's pool")
		},
	},
	WebACL: {
		voter: stack.SettingWebACL, differs: "its web ACL differs", guards: true,
		get: func(b *stack.LoadBalancer) *string { return b.WebACL },
		put: func(b *stack.LoadBalancer, value string) {
			if b.WebACL = &value; value != "" { // AWS may take one of the other kind off
				b.ClassicACL = nil
			}
		},
		text: func(value, balancer string) string { return setOrRemove("web ACL", value, "", balancer) },
	},
	ClassicACL: {
		voter: stack.SettingClassicACL, differs: "its web ACL of AWS WAF Classic differs", guards: true,
		get: func(b *stack.LoadBalancer) *string { return b.ClassicACL },
		put: func(b *stack.LoadBalancer, value string) {
			if b.ClassicACL = &value; value != "" {
				b.WebACL = nil
			}
		},
		text: func(value, balancer string) string {
			return setOrRemove("web ACL", value, " of AWS WAF Classic", balancer)
		},
	},
	Capacity: {
		voter: stack.SettingCapacity, differs: "its capacity differs",
		get: func(b *stack.LoadBalancer) *string {
			if b.Capacity == nil {
				return nil
			}
			text := strconv.Itoa(int(*b.Capacity))
			return &text
		},
		put: func(b *stack.LoadBalancer, value string) {
			units, _ := strconv.ParseInt(value, 10, 32) // the value of get
			capacity := int32(units)
			b.Capacity = &capacity
		},
		text: func(value, balancer string) string { return "reserve " + value + " capacity units for " + balancer },
	},
}

func setOrRemove(what, value, kind, balancer string) string {
	if value == "" {
		return "remove the " + what + kind + " of " + balancer
	}
	return "set " + what + " " + value + kind + " of " + balancer
}

// Differs is what users are told when something else is wanted than is seen, or what is seen is not known; "" when nothing is to be done.
// The value is what is wanted.
func (s Setting) Differs(wanted, seen *stack.LoadBalancer) (why, value string) {
	to, now := settings[s].get(wanted), settings[s].get(seen)
	if to == nil || now != nil && *now == *to {
		return "", ""
	}
	return settings[s].differs, *to
}

// Voter is the name of the member whose word counts for the setting, "" for none.
func (s Setting) Voter(wanted stack.Stack) string { return wanted.Voters[settings[s].voter] }

// Set gives a setting of a load balancer a value.
type Set struct {
	LoadBalancer stack.Ref
	Setting      Setting
	Value        string
}

func (c Set) Text() string { return settings[c.Setting].text(c.Value, balancerText(c.LoadBalancer)) }
func (Set) Effect() Effect { return Sets }

func (c Set) guarded() (stack.Ref, bool) {
	return c.LoadBalancer, settings[c.Setting].guards && c.Value != ""
}

func (c Set) On(seen *stack.Stack, _ Made) {
	onBalancer(seen, c.LoadBalancer, func(b *stack.LoadBalancer) { settings[c.Setting].put(b, c.Value) })
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/dataplane"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
)

// options are the flags of the program.
type options struct {
	listen         string
	frontDoorHost  string
	region         string
	account        string
	scale          float64
	seed           uint64
	latency        time.Duration
	rejectDraining bool
	describe       string
	register       string
	modify         string
	other          string
	roles          []string
}

func (o *options) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.listen, "listen", "127.0.0.1:4566", "address of the AWS endpoint")
	fs.StringVar(&o.frontDoorHost, "front-door-host", "127.0.0.1", "address on which load balancers take traffic in")
	fs.StringVar(&o.region, "region", region.DefaultName, "region in ARNs")
	fs.StringVar(&o.account, "account", region.DefaultAccount, "account of callers that assumed no role")
	fs.Float64Var(&o.scale, "scale", 1, "factor on all times of the load balancers; 0.1 is ten times faster")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of all random times")
	fs.DurationVar(&o.latency, "latency", 40*time.Millisecond, "time added to each API call")
	fs.BoolVar(&o.rejectDraining, "reject-while-draining", false, "refuse to register a target that is still draining")
	fs.StringVar(&o.describe, "describe-limit", "200/50", "calls at once / a second for Describe*; 0/0 is no limit")
	fs.StringVar(&o.register, "register-limit", "20/4", "the same for RegisterTargets and DeregisterTargets together")
	fs.StringVar(&o.modify, "modify-limit", "20/3", "the same for Modify*")
	fs.StringVar(&o.other, "other-limit", "20/3", "the same for Create*, Delete*, Set*, Add* and Remove*, for each of these by itself")
	fs.StringArrayVar(&o.roles, "role", nil, "ARN of a role that may be assumed, with ,EXTERNAL-ID if one is asked for; may be repeated")
}

// build turns the flags into the emulator's options.
func (o *options) build() (emulator.Options, error) {
	if o.scale <= 0 {
		return emulator.Options{}, fmt.Errorf("reading --scale: %v is not positive", o.scale)
	}
	limits, err := o.limits()
	if err != nil {
		return emulator.Options{}, err
	}
	return emulator.Options{
		Listen: o.listen,
		Cloud: cloud.Options{
			Region: region.Options{Scale: o.scale, Seed: o.seed, Name: o.region, Account: o.account},
			ELB:    state.Options{RejectWhileDraining: o.rejectDraining},
		},
		Wire:      wire.Options{Latency: o.latency, Limits: &limits, Roles: o.parseRoles()},
		DataPlane: dataplane.Options{Host: o.frontDoorHost},
	}, nil
}

func (o *options) limits() (wire.Limits, error) {
	limits := wire.DefaultLimits()
	for _, flag := range []struct {
		name, text string
		limit      *wire.Limit
	}{
		{"--describe-limit", o.describe, &limits.Describe},
		{"--register-limit", o.register, &limits.Register},
		{"--modify-limit", o.modify, &limits.Modify},
		{"--other-limit", o.other, &limits.Other},
	} {
		limit, err := parseLimit(flag.text)
		if err != nil {
			return limits, fmt.Errorf("reading %s: %w", flag.name, err)
		}
		*flag.limit = limit
	}
	return limits, nil
}

func parseLimit(text string) (wire.Limit, error) {
	capacity, refill, ok := strings.Cut(text, "/")
	if !ok {
		return wire.Limit{}, fmt.Errorf("%q is not CAPACITY/REFILL", text)
	}
	calls, err := strconv.Atoi(capacity)
	if err != nil {
		return wire.Limit{}, fmt.Errorf("parsing capacity: %w", err)
	}
	rate, err := strconv.ParseFloat(refill, 64)
	if err != nil {
		return wire.Limit{}, fmt.Errorf("parsing refill: %w", err)
	}
	return wire.Limit{Capacity: calls, Refill: rate}, nil
}

func (o *options) parseRoles() []wire.Role {
	var roles []wire.Role
	for _, text := range o.roles {
		arn, externalID, _ := strings.Cut(text, ",")
		roles = append(roles, wire.Role{ARN: arn, ExternalID: externalID})
	}
	return roles
}

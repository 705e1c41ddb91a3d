// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

func code(err error) string {
	var refused *refusal.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return fmt.Sprint(err)
}

func TestCreateGroupRefuses(t *testing.T) {
	valid := GroupSpec{Name: "g", Protocol: ProtocolHTTP, Port: 80, VPC: ec2.DefaultVPCID, TargetType: TypeIP}
	cases := map[string]struct {
		change func(*GroupSpec)
		want   string
	}{
		"bad name":               {func(s *GroupSpec) { s.Name = "-g" }, "ValidationError"},
		"long name":              {func(s *GroupSpec) { s.Name = strings.Repeat("g", 33) }, "ValidationError"},
		"unknown type":           {func(s *GroupSpec) { s.TargetType = "pod" }, "ValidationError"},
		"unknown protocol":       {func(s *GroupSpec) { s.Protocol = "SCTP" }, "ValidationError"},
		"no port":                {func(s *GroupSpec) { s.Port = 0 }, "ValidationError"},
		"no VPC":                 {func(s *GroupSpec) { s.VPC = "" }, "ValidationError"},
		"unknown VPC":            {func(s *GroupSpec) { s.VPC = "vpc-0" }, "ValidationError"},
		"interval too short":     {func(s *GroupSpec) { s.HealthCheck.Interval = 4 }, "ValidationError"},
		"interval too long":      {func(s *GroupSpec) { s.HealthCheck.Interval = 301 }, "ValidationError"},
		"timeout over interval":  {func(s *GroupSpec) { s.HealthCheck.Timeout = 30 }, "ValidationError"},
		"timeout too short":      {func(s *GroupSpec) { s.HealthCheck.Timeout = 1 }, "ValidationError"},
		"threshold too low":      {func(s *GroupSpec) { s.HealthCheck.HealthyThreshold = 1 }, "ValidationError"},
		"threshold too high":     {func(s *GroupSpec) { s.HealthCheck.UnhealthyThreshold = 11 }, "ValidationError"},
		"matcher of an NLB":      {func(s *GroupSpec) { s.HealthCheck.Matcher = "200-599" }, "ValidationError"},
		"matcher not a number":   {func(s *GroupSpec) { s.HealthCheck.Matcher = "ok" }, "ValidationError"},
		"TCP check of an ALB":    {func(s *GroupSpec) { s.HealthCheck.Protocol = ProtocolTCP }, "ValidationError"},
		"check port":             {func(s *GroupSpec) { s.HealthCheck.Port = "http" }, "ValidationError"},
		"relative check path":    {func(s *GroupSpec) { s.HealthCheck.Path = "health" }, "ValidationError"},
		"long check path":        {func(s *GroupSpec) { s.HealthCheck.Path = "/" + strings.Repeat("a", 1024) }, "ValidationError"},
		"lambda with a port":     {func(s *GroupSpec) { s.TargetType = TypeLambda }, "InvalidConfigurationRequest"},
		"alb behind HTTP":        {func(s *GroupSpec) { s.TargetType = TypeALB }, "InvalidConfigurationRequest"},
		"matcher of a TCP check": {func(s *GroupSpec) { s.Protocol, s.HealthCheck.Matcher = ProtocolTCP, "200" }, "InvalidConfigurationRequest"},
		"name taken":             {func(s *GroupSpec) { s.Name, s.Port = "taken", 81 }, "DuplicateTargetGroupName"},
		"same again":             {func(s *GroupSpec) { s.Name = "taken" }, "<nil>"},
		"quota":                  {func(*GroupSpec) {}, "TooManyTargetGroups"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := in(region.Options{}, Options{Quotas: &Quotas{Groups: 1}})
			spec := valid
			spec.Name = "taken"
			if _, err := m.CreateGroup("", spec); err != nil {
				t.Fatal(err)
			}
			spec = valid
			tc.change(&spec)
			_, err := m.CreateGroup("", spec)
			if got := code(err); got != tc.want {
				t.Errorf("answer is %v, want %s", err, tc.want)
			}
		})
	}
}

// at is a target with a zone, ports several targets of one id.
func at(id, zone string) []Target { return []Target{{Key: Key{id, 80}, Zone: zone}} }

func ports(numbers ...int) []Target {
	var list []Target
	for _, n := range numbers {
		list = append(list, Target{Key: Key{"10.0.0.1", n}})
	}
	return list
}

func TestRegisterRefuses(t *testing.T) {
	const (
		validation = "ValidationError"
		tooMany    = "TooManyTargets"
		overridden = "cannot have its Availability Zone overridden to 'all' from 'eu-west-1a'"
		noZone     = "The Availability Zone is required for IP address '192.168.0.1' because it is not in the VPC"
		noSubnet   = "you must specify an Availability Zone"
		notAll     = "The Availability Zone for IP address '192.168.0.1' must be 'all' for Application Load Balancer target groups, " +
			"when not within the VPC"
		noValid = "You must specify a valid Availability Zone or select 'all'"
	)
	a, b2, c, d, e := "10.0.0.1", "10.64.0.1", "10.0.0.3", "10.64.0.4", "10.0.0.5"
	cases := map[string]struct {
		kind    string
		targets []Target
		want    string
		text    string
	}{
		"in the VPC":                {targets: targets(a), want: "<nil>"},
		"not an address":            {targets: targets("pod"), want: validation},
		"wrong family":              {targets: targets("2001:db8:1200::1"), want: validation},
		"public":                    {targets: targets("203.0.113.1"), want: "InvalidTarget"},
		"port":                      {targets: ports(70000), want: validation},
		"zone overridden":           {targets: at(a, "all"), want: validation, text: overridden},
		"in the VPC, in no subnet":  {targets: targets("100.64.0.1"), want: validation, text: noSubnet},
		"outside without zone":      {targets: targets("192.168.0.1"), want: validation, text: noZone},
		"outside with all":          {targets: at("192.168.0.1", "all"), want: "<nil>"},
		"outside with a zone, ALB":  {targets: at("192.168.0.1", "eu-west-1a"), want: validation, text: notAll},
		"outside, odd zone, NLB":    {kind: Network, targets: at("192.168.0.1", "moon-1a"), want: validation, text: noValid},
		"outside with a zone, NLB":  {kind: Network, targets: at("192.168.0.1", "eu-west-1a"), want: "<nil>"},
		"one bad fails all":         {targets: targets(a, "203.0.113.1"), want: "InvalidTarget"},
		"same id, other ports":      {targets: ports(1, 2), want: "<nil>"},
		"same id, too many ports":   {targets: ports(1, 2, 3), want: "TooManyRegistrationsForTargetId"},
		"over the group's quota":    {targets: targets(a, b2, c, d, e), want: tooMany},
		"over the ALB's quota":      {targets: targets(a, b2, c, d), want: tooMany},
		"within the zones' quota":   {kind: Network, targets: targets(a, b2, c, d), want: "<nil>"},
		"over the zone's quota":     {kind: Network, targets: targets(a, c, e), want: tooMany},
		"twice in one call is once": {targets: targets(a, a), want: "<nil>"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			kind := tc.kind
			if kind == "" {
				kind = Application
			}
			quotas := Quotas{Groups: 9, GroupsPerALB: 9, TargetsPerGroup: 4, TargetsPerALB: 3, TargetsPerNLBZone: 2, RegistrationsPerTarget: 2}
			b := newBed(t, Options{Quotas: &quotas}, kind)
			err := b.Register(b.group, tc.targets)
			if got := code(err); got != tc.want || tc.text != "" && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("answer is %v, want %s %q", err, tc.want, tc.text)
			}
			lines, _ := b.Describe(b.group, nil)
			if err != nil && len(lines) != 0 {
				t.Errorf("a refused call registered %v", lines)
			}
		})
	}
}

func TestRegisterOutsideWithCrossZoneOff(t *testing.T) {
	cases := map[string]struct {
		kind, zone string
		want       bool
	}{
		"ALB, no zone": {Application, "", false},
		"ALB, all":     {Application, "all", false},
		"ALB, a zone":  {Application, "eu-west-1a", true},
		"NLB, all":     {Network, "all", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Options{}, tc.kind)
			if _, err := b.ModifyAttributes(b.group, map[string]string{attrCrossZone: "false"}); err != nil {
				t.Fatal(err)
			}
			err := b.Register(b.group, at("192.168.0.1", tc.zone))
			if (err == nil) != tc.want || err != nil && !strings.Contains(err.Error(), "you must specify an Availability Zone for IP target") {
				t.Errorf("answer is %v", err)
			}
		})
	}
}

func TestRegisterFromAnotherVPC(t *testing.T) {
	b := newBed(t, Options{}, Application)
	g, err := b.CreateGroup("", GroupSpec{Name: "peered", Protocol: ProtocolHTTP, Port: 80, VPC: ec2.PeeredVPCID, TargetType: TypeIP})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		id, zone string
		want     bool
	}{{"10.0.0.1", "", false}, {"10.0.0.1", "all", true}, {"172.31.0.9", "", true}, {"172.31.0.10", "all", false}} {
		if err := b.Register(g.ARN, at(tc.id, tc.zone)); (err == nil) != tc.want {
			t.Errorf("%s in zone %q: %v", tc.id, tc.zone, err)
		}
	}
}

func TestGroupQuotas(t *testing.T) {
	cases := map[string]struct {
		quotas GroupQuotas
		next   []Target
		want   string
	}{
		"room":               {GroupQuotas{Targets: 3}, targets("10.0.0.3"), "<nil>"},
		"full":               {GroupQuotas{Targets: 2}, targets("10.0.0.3"), "TooManyTargets"},
		"full, nothing new":  {GroupQuotas{Targets: 1}, targets("10.0.0.1", "10.0.0.2"), "<nil>"},
		"the same id again":  {GroupQuotas{RegistrationsPerTarget: 1}, ports(9), "TooManyRegistrationsForTargetId"},
		"another id":         {GroupQuotas{RegistrationsPerTarget: 1}, targets("10.0.0.3"), "<nil>"},
		"no limits but ours": {GroupQuotas{}, ports(1, 2, 3), "<nil>"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Options{}, Application)
			b.register("10.0.0.1", "10.0.0.2")
			if err := b.SetGroupQuotas(b.group, tc.quotas); err != nil {
				t.Fatal(err)
			}
			if err := b.Register(b.group, tc.next); code(err) != tc.want {
				t.Errorf("answer is %v, want %s", err, tc.want)
			}
			other := b.addGroup(GroupSpec{Name: "other"}, 81)
			if err := b.Register(other, targets("10.0.0.3", "10.0.0.4", "10.0.0.5")); err != nil {
				t.Errorf("the next group is limited too: %v", err)
			}
		})
	}
	if err := newBed(t, Options{}, Application).SetGroupQuotas("arn:x:targetgroup/y", GroupQuotas{}); !refusal.Is(err, "TargetGroupNotFound") {
		t.Errorf("limits for no group: %v", err)
	}
}

// TestRegisterFillsTheDefaultQuotas goes up to what AWS allows and one further.
func TestRegisterFillsTheDefaultQuotas(t *testing.T) {
	cases := map[string]struct {
		kind      string
		crossZone bool
		host      string
		limit     int
	}{
		"targets of a group":       {Application, false, "10.%d.%d.%d", 1000},
		"targets of a zone, NLB":   {Network, false, "10.0.%[2]d.%[3]d", 500},
		"targets in all, NLB":      {Network, true, "10.%d.%d.%d", 500},
		"targets of two NLB zones": {Network, false, "10.%d.%d.%d", 1000},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, Options{}, tc.kind)
			b.balancers[b.lb].CrossZone = tc.crossZone
			var ids []string
			for i := range tc.limit {
				ids = append(ids, fmt.Sprintf(tc.host, i%2*64, i/250, i%250+1))
			}
			b.register(ids...)
			err := b.Register(b.group, []Target{ip("10.0.200.1")})
			if !refusal.Is(err, "TooManyTargets") {
				t.Errorf("target %d: %v", tc.limit+1, err)
			}
		})
	}
}

func TestRegisterIPv6(t *testing.T) {
	b := newBed(t, Options{}, Network)
	b.group = b.addGroup(GroupSpec{Name: "six", AddressType: IPv6}, 81)
	b.register("2001:db8:1200::1")
	if err := b.Register(b.group, []Target{ip("10.0.0.1")}); !refusal.Is(err, "ValidationError") {
		t.Errorf("an IPv4 target in an IPv6 group: %v", err)
	}
}

func TestDeregisterNeedsThePort(t *testing.T) {
	b := newBed(t, Options{}, Application)
	other := Target{Key: Key{ID: "10.0.0.1", Port: 9090}}
	if err := b.Register(b.group, []Target{other}); err != nil {
		t.Fatal(err)
	}
	if err := b.Deregister(b.group, []Target{{Key: Key{ID: "10.0.0.1"}}}); err != nil {
		t.Errorf("an unknown target is an error: %v", err)
	}
	lines, err := b.Describe(b.group, []Target{other})
	if err != nil || lines[0].Health != registering {
		t.Errorf("target is %v, want it still registered", lines)
	}
}

func TestDualstackNeedsSubnetsWithIPv6(t *testing.T) {
	b := newBed(t, Options{}, Application)
	spec := BalancerSpec{Name: "old", Subnets: []string{"subnet-0a000000000000011", "subnet-0b000000000000012"}}
	old, err := b.CreateBalancer("", spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"dualstack", "dualstack-without-public-ipv4"} {
		spec.Name, spec.AddressType = "new", kind
		_, err := b.CreateBalancer("", spec)
		for name, err := range map[string]error{"create": err, "set": b.SetAddressType(old.ARN, kind)} {
			if code(err) != "ValidationError" || !strings.Contains(err.Error(), "an associated IPv6 CIDR block") {
				t.Errorf("%s %s: %v", name, kind, err)
			}
		}
		if err := b.SetAddressType(b.lb, kind); err != nil {
			t.Errorf("%s in subnets with IPv6: %v", kind, err)
		}
	}
}

func TestCreateListenerRefuses(t *testing.T) {
	b := newBed(t, Options{Quotas: &Quotas{Groups: 9, GroupsPerALB: 2}}, Application)
	spare := b.addGroup(GroupSpec{Name: "spare"}, 0)
	second, err := b.CreateBalancer("", BalancerSpec{Name: "second", Subnets: bothZones})
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := b.CreateGroup("", GroupSpec{Name: "tcp", Protocol: ProtocolTCP, Port: 1, VPC: ec2.DefaultVPCID})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		spec ListenerSpec
		want string
	}{
		"unknown load balancer":  {ListenerSpec{LoadBalancer: "arn:x", Protocol: ProtocolHTTP, Port: 81, Group: spare}, "LoadBalancerNotFound"},
		"unknown group":          {ListenerSpec{LoadBalancer: b.lb, Protocol: ProtocolHTTP, Port: 81, Group: spare + "0"}, "TargetGroupNotFound"},
		"port taken":             {ListenerSpec{LoadBalancer: b.lb, Protocol: ProtocolHTTP, Port: 80, Group: spare}, "DuplicateListener"},
		"unsupported protocol":   {ListenerSpec{LoadBalancer: b.lb, Protocol: "TLS", Port: 81, Group: spare}, "UnsupportedProtocol"},
		"NLB group on an ALB":    {ListenerSpec{LoadBalancer: b.lb, Protocol: ProtocolHTTP, Port: 81, Group: tcp.ARN}, "IncompatibleProtocols"},
		"a second load balancer": {ListenerSpec{LoadBalancer: second.ARN, Protocol: ProtocolHTTP, Port: 80, Group: b.group}, "TargetGroupAssociationLimit"},
		"the same group again":   {ListenerSpec{LoadBalancer: b.lb, Protocol: ProtocolHTTP, Port: 91, Group: b.group}, "<nil>"},
		"bad port":               {ListenerSpec{LoadBalancer: b.lb, Protocol: ProtocolHTTP, Port: 0, Group: spare}, "ValidationError"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := b.CreateListener(tc.spec); code(err) != tc.want {
				t.Errorf("answer is %v, want %s", err, tc.want)
			}
		})
	}
	b.attach(spare, 82)
	third := b.addGroup(GroupSpec{Name: "third"}, 0)
	if _, err := b.CreateListener(ListenerSpec{LoadBalancer: b.lb, Protocol: ProtocolHTTP, Port: 83, Group: third}); code(err) != "TooManyUniqueTargetGroupsPerLoadBalancer" {
		t.Errorf("one group too many: %v", err)
	}
}

func TestDeleteGroupInUse(t *testing.T) {
	b := newBed(t, Options{}, Application)
	if err := b.DeleteGroup(b.group); !refusal.Is(err, "ResourceInUse") {
		t.Errorf("deleting a group in use: %v", err)
	}
	if err := b.DeleteBalancer(b.lb); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteGroup(b.group); !refusal.Is(err, "ResourceInUse") {
		t.Errorf("deleting a group that is not released yet: %v", err)
	}
	b.pass(DefaultDelays().Release.Max)
	for range 2 {
		if err := b.DeleteGroup(b.group); err != nil {
			t.Errorf("deleting a free group: %v", err)
		}
	}
	if err := b.DeleteGroup("web"); !refusal.Is(err, "ValidationError") {
		t.Errorf("deleting by name: %v", err)
	}
}

func TestModifyAttributesRefuses(t *testing.T) {
	b := newBed(t, Options{}, Application)
	for name, changes := range map[string]map[string]string{
		"unknown":        {"colour": "red"},
		"out of range":   {attrDelay: "3601"},
		"not a number":   {attrDelay: "long"},
		"not one of":     {"stickiness.enabled": "yes"},
		"only on an NLB": {attrCutLeaving: "true"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := b.ModifyAttributes(b.group, changes); !refusal.Is(err, "ValidationError") {
				t.Errorf("answer is %v", err)
			}
		})
	}
}

func TestAccountsAreApart(t *testing.T) {
	b := newBed(t, Options{}, Application)
	if _, err := b.Groups(GroupFilter{Account: "999999999999", ARNs: []string{b.group}}); !refusal.Is(err, "TargetGroupNotFound") {
		t.Errorf("another account's group: %v", err)
	}
	if _, err := b.Groups(GroupFilter{Account: "999999999999", Names: []string{"web"}}); !refusal.Is(err, "TargetGroupNotFound") {
		t.Errorf("another account's name: %v", err)
	}
}

func TestAttributesThatAreRefused(t *testing.T) {
	cases := map[string]struct {
		changes map[string]string
		want    string
	}{
		"slow start":                     {map[string]string{attrSlowStart: "30"}, "<nil>"},
		"slow start switched off":        {map[string]string{attrSlowStart: "0"}, "<nil>"},
		"slow start of 29 s":             {map[string]string{attrSlowStart: "29"}, "ValidationError"},
		"slow start, other algorithm":    {map[string]string{attrSlowStart: "30", attrAlgorithm: "weighted_random"}, "InvalidConfigurationRequest"},
		"mitigation":                     {map[string]string{attrAnomaly: "on", attrAlgorithm: "weighted_random"}, "<nil>"},
		"mitigation, other algorithm":    {map[string]string{attrAnomaly: "on"}, "InvalidConfigurationRequest"},
		"a cookie":                       {map[string]string{attrSticky: "true", attrStickyType: "app_cookie", attrCookie: "a"}, "<nil>"},
		"a cookie without a name":        {map[string]string{attrSticky: "true", attrStickyType: "app_cookie"}, "ValidationError"},
		"a cookie of the load balancer":  {map[string]string{attrCookie: "AWSALBTG"}, "ValidationError"},
		"a share of 101":                 {map[string]string{"target_group_health.dns_failover.minimum_healthy_targets.percentage": "101"}, "ValidationError"},
		"no minimum":                     {map[string]string{"target_group_health.dns_failover.minimum_healthy_targets.count": "off"}, "<nil>"},
		"no minimum where one is needed": {map[string]string{"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count": "off"}, "ValidationError"},
		"a key with a blank":             {map[string]string{"a b": "c"}, "ValidationError"},
		"a long value":                   {map[string]string{attrCookie: strings.Repeat("a", 1025)}, "ValidationError"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := in(region.Options{}, Options{})
			g, err := m.CreateGroup("", GroupSpec{Name: "g", Protocol: ProtocolHTTP, Port: 80, VPC: ec2.DefaultVPCID, TargetType: TypeIP})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.ModifyAttributes(g.ARN, tc.changes); code(err) != tc.want {
				t.Errorf("answer is %v, want %s", err, tc.want)
			}
		})
	}
}

func TestLogsNeedABucket(t *testing.T) {
	m := in(region.Options{}, Options{})
	b, err := m.CreateBalancer("", BalancerSpec{Name: "b", Subnets: []string{"subnet-0a000000000000001", "subnet-0b000000000000002"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.BalancerAttributes(b.ARN, map[string]string{"access_logs.s3.enabled": "true"}); code(err) != "InvalidConfigurationRequest" {
		t.Errorf("without a bucket: %v", err)
	}
	for _, changes := range []map[string]string{{"access_logs.s3.bucket": "logs"}, {"access_logs.s3.enabled": "true"}} {
		if _, err := m.BalancerAttributes(b.ARN, changes); err != nil {
			t.Errorf("with a bucket: %v", err)
		}
	}
}

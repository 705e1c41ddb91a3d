// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

func TestSubnets(t *testing.T) {
	change := func(id string, do func(*lookup.Subnet)) func(*input.Input) {
		return func(in *input.Input) { do(in.AWS.Subnet(id)) }
	}
	tag := func(key, value string) func(*lookup.Subnet) {
		return func(s *lookup.Subnet) { s.Tags = map[string]string{key: value} }
	}
	untag := func(in *input.Input) {
		for i := range in.AWS.Subnets {
			in.AWS.Subnets[i].Tags = nil
		}
	}
	add := func(s lookup.Subnet) func(*input.Input) {
		return func(in *input.Input) { in.AWS.Subnets = append(in.AWS.Subnets, s) }
	}
	const zone = "availability-zone"
	internalRole := "kubernetes.io/role/internal-elb"
	for name, tc := range map[string]struct {
		vote, scheme, addressType string
		present                   []string
		do                        func(*input.Input)
		want                      []string
		fault                     string
	}{
		"by the role of internal ones": {want: []string{"subnet-a2", "subnet-b2"}},
		"by the role of public ones":   {scheme: annotation.InternetFacing, want: []string{"subnet-a1", "subnet-b1"}},
		"a role with another value":    {do: change("subnet-a2", tag(internalRole, "0")), fault: "subnet subnet-b2 is the only one"},
		"by routes where none has a role": {
			do: untag, want: []string{"subnet-a2", "subnet-b2"},
		},
		"not by routes if that is switched off": {
			do: func(in *input.Input) { untag(in); in.Options.ByReachability = false }, fault: "no subnet of the VPC fits a load balancer that is internal and ipv4",
		},
		"the lowest ID of a zone": {do: add(lookup.Subnet{ID: "subnet-a0", Zone: "eu-west-1a", Locale: zone, Free: 8, Tags: map[string]string{internalRole: ""}}), want: []string{"subnet-a0", "subnet-b2"}},
		"one of the cluster before the lowest ID": {
			do:   add(lookup.Subnet{ID: "subnet-a9", Zone: "eu-west-1a", Locale: zone, Free: 8, Tags: map[string]string{internalRole: "", "kubernetes.io/cluster/prod-1": "shared"}}),
			want: []string{"subnet-a9", "subnet-b2"},
		},
		"not one of another cluster": {
			do: change("subnet-a2", func(s *lookup.Subnet) {
				s.Tags = map[string]string{internalRole: "", "kubernetes.io/cluster/other": "owned"}
			}),
			fault: "subnet subnet-b2 is the only one",
		},
		"one of another cluster if that is not checked": {
			do: func(in *input.Input) {
				in.Options.CheckClusterTag = false
				in.AWS.Subnet("subnet-a2").Tags = map[string]string{internalRole: "", "kubernetes.io/cluster/other": "owned"}
			},
			want: []string{"subnet-a2", "subnet-b2"},
		},
		"not one with 7 free addresses":            {do: change("subnet-a2", func(s *lookup.Subnet) { s.Free = 7 }), fault: "set subnets in at least 2 zones"},
		"one alone if that is allowed":             {do: func(in *input.Input) { in.AWS.Subnet("subnet-a2").Free, in.Options.SingleSubnet = 7, true }, want: []string{"subnet-b2"}},
		"one alone in an outpost":                  {vote: "subnet-a2", do: change("subnet-a2", func(s *lookup.Subnet) { s.Locale = "outpost" }), want: []string{"subnet-a2"}},
		"different locales":                        {do: change("subnet-a2", func(s *lookup.Subnet) { s.Locale = "local-zone" }), fault: "subnet subnet-a2 is in a zone of kind local-zone, subnet-b2 of kind availability-zone"},
		"without IPv6 for dualstack":               {addressType: "dualstack", fault: "internal and dualstack"},
		"present ones stay":                        {present: []string{"subnet-gone"}, want: []string{"subnet-gone"}},
		"named ones count before present ones":     {vote: "subnet-b1,subnet-a1", present: []string{"subnet-gone"}, want: []string{"subnet-a1", "subnet-b1"}},
		"named ones without IPv6 for dualstack":    {vote: "subnet-a1,subnet-b1", addressType: "dualstack", fault: "subnet-a1 has no IPv6 CIDR"},
		"present ones without IPv6":                {present: []string{"subnet-b1", "subnet-a1"}, addressType: "dualstack", fault: "subnet-b1 has no IPv6 CIDR"},
		"by tags":                                  {vote: `tags:{"kubernetes.io/role/elb":["0","1"]}`, want: []string{"subnet-a1", "subnet-b1"}},
		"by tags of which one is missing":          {vote: `tags:{"kubernetes.io/role/elb":["1"],"a":["b"]}`, fault: "no subnet of the VPC fits"},
		"by tags that count before present ones":   {vote: `tags:{"kubernetes.io/role/elb":["1"]}`, present: []string{"subnet-gone"}, want: []string{"subnet-a1", "subnet-b1"}},
		"by tags, not those with 7 free addresses": {vote: `tags:{"kubernetes.io/role/elb":["1"]}`, do: change("subnet-a1", func(s *lookup.Subnet) { s.Free = 7 }), fault: "subnet-b1 is the only one"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input.Input{AWS: lookup.Answers{Subnets: vpcSubnets()}, Options: input.DefaultOptions("prod-1", "vpc-1")}
			if tc.do != nil {
				tc.do(&in)
			}
			if tc.scheme == "" {
				tc.scheme = annotation.Internal
			}
			if tc.addressType == "" {
				tc.addressType = "ipv4"
			}
			got, err := in.Subnets().Choose(tc.vote, tc.scheme, tc.addressType, tc.present)
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("subnets (-want +got):\n%s", diff)
			}
			if (err != nil) != (tc.fault != "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("error %v, want %q", err, tc.fault)
			}
		})
	}
}

// The load balancer is in subnets without IPv6, and keeps them: the member that asks for IPv6 is told, and the others go on.
func TestDualstackInSubnetsThatAreKept(t *testing.T) {
	in := three(t)
	before, _ := Build(in)
	in.Seen = made(before)
	for i := range in.Members {
		annotate(&in, i, annotation.Prefix+"ip-address-type", "dualstack")
	}
	got, faults := Build(in)
	if len(faults) != 3 || !strings.Contains(faults[0].Error(), `ip-address-type, value "dualstack": subnet`) ||
		!strings.Contains(faults[0].Error(), "has no IPv6 CIDR, which a dualstack load balancer needs") {
		t.Errorf("faults %v", faults)
	}
	if !got.Members[0].Held {
		t.Errorf("members %+v", got.Members)
	}
	for i := range in.AWS.Subnets {
		in.AWS.Subnets[i].IPv6 = true
	}
	if got, faults := Build(in); len(faults) > 0 || got.LoadBalancers[0].AddressType != "dualstack" {
		t.Errorf("with IPv6: faults %v, %+v", faults, got.LoadBalancers)
	}
}

func TestSubnetIDs(t *testing.T) {
	aws := lookup.Answers{Subnets: vpcSubnets()}
	for i, name := range []string{"blue", "red", "blue", "green"} {
		aws.Subnets[i].Tags = map[string]string{"Name": name}
	}
	for entries, want := range map[string]string{
		"subnet-b1,subnet-a1": "subnet-b1,subnet-a1",
		"blue,blue,green":     "subnet-a1,subnet-a2,subnet-b2",
		"green,subnet-a1":     "subnet-b2,subnet-a1",
		"blue":                "subnet-a1",
		"green,blue":          "subnet-b2,subnet-a1",
		"red,red":             "1 subnets of the VPC have the tag Name=red: must be 2",
		"subnet-z":            "the VPC has no subnet subnet-z",
	} {
		got, err := aws.SubnetIDs(strings.Split(entries, ","))
		text := strings.Join(got, ",")
		if err != nil {
			text = err.Error()
		}
		if text != want {
			t.Errorf("%s: %s, want %s", entries, text, want)
		}
	}
}

// Subnets that are not known concern those who name some, of the load balancer or of what stands in front, and a load balancer that is not
// there.
func TestSubnetsThatAreNotKnown(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string // of the second member
		unseen      bool
		held        []bool
	}{
		"nobody names any":      {held: []bool{false, false, false}},
		"one names some":        {annotations: map[string]string{"subnets": "subnet-a1,subnet-b1"}, held: []bool{false, true, false}},
		"one names some by tag": {annotations: map[string]string{"subnets": "blue,red"}, held: []bool{false, true, false}},
		"one is in front":       {annotations: map[string]string{"enable-frontend-nlb": "true"}, held: []bool{false, false, false}},
		"one names some there":  {annotations: map[string]string{"enable-frontend-nlb": "true", "frontend-nlb-subnets": "subnet-a1"}, held: []bool{false, true, false}},
		"another scheme there": {
			annotations: map[string]string{"enable-frontend-nlb": "true", "frontend-nlb-scheme": annotation.InternetFacing}, held: []bool{false, true, false},
		},
		"no load balancer": {unseen: true, held: []bool{true, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			before, _ := Build(in)
			if in.Seen = made(before); tc.unseen {
				in.Seen = stack.Stack{}
			}
			for key, value := range tc.annotations {
				annotate(&in, 1, annotation.Prefix+key, value)
			}
			in.AWS.Subnets, in.AWS.NoSubnets = nil, "access denied"
			got, faults := Build(in)
			var held []bool
			for _, m := range got.Members {
				held = append(held, m.Held)
			}
			if !slices.Equal(held, tc.held) {
				t.Errorf("held %v, want %v: %v", held, tc.held, faults)
			}
			for _, fault := range faults {
				if !fault.IsWarning() && fault.Reason != "the subnets of the VPC could not be looked up: access denied" {
					t.Errorf("fault %v", fault)
				}
			}
			if len(got.LoadBalancers) > 0 && !slices.Equal(got.LoadBalancers[0].Subnets, before.LoadBalancers[0].Subnets) {
				t.Errorf("subnets %v, want them to stay", got.LoadBalancers[0].Subnets)
			}
		})
	}
}

// A member that names subnets in front is held while none are known. Another one that asks for the same is not.
func TestSubnetsInFrontThatAreNotKnown(t *testing.T) {
	in := three(t)
	for i := range 2 {
		annotate(&in, i, annotation.Prefix+"enable-frontend-nlb", "true")
	}
	annotate(&in, 1, annotation.Prefix+"frontend-nlb-subnets", "subnet-a2,subnet-b2")
	before, faults := Build(in)
	if before.Front == nil {
		t.Fatalf("nothing stands in front: %v", faults)
	}
	in.Seen = made(before)
	in.AWS.Subnets, in.AWS.NoSubnets = nil, "access denied"
	got, faults := Build(in)
	if got.Members[0].Held || !got.Members[1].Held || got.Front == nil || !slices.Equal(got.Front.LoadBalancers[0].Subnets, []string{"subnet-a2", "subnet-b2"}) {
		t.Errorf("members %+v, in front %+v, faults %v", got.Members, got.Front, faults)
	}
}

// TestZones: of subnets in further zones the first member is told, or the load balancer gets them. None goes.
func TestZones(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(*input.Input)
		want []string // of the load balancer
		told bool
	}{
		"told":                   {want: []string{"subnet-a2", "subnet-gone"}, told: true},
		"added":                  {do: func(in *input.Input) { in.Options.AddZones = true }, want: []string{"subnet-a2", "subnet-b2", "subnet-gone"}},
		"not looked for":         {do: func(in *input.Input) { in.Rediscover, in.Options.AddZones = false, true }, want: []string{"subnet-a2", "subnet-gone"}},
		"not of another scheme":  {do: func(in *input.Input) { annotate(in, 0, annotation.Prefix+"scheme", annotation.InternetFacing) }, want: []string{"subnet-a1", "subnet-b1"}},
		"not where all are told": {do: func(in *input.Input) { annotate(in, 1, annotation.Prefix+"subnets", "subnet-a2,subnet-b2") }, want: []string{"subnet-a2", "subnet-b2"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := three(t)
			built, _ := Build(in)
			in.Seen, in.Rediscover = stack.Stack{LoadBalancers: built.LoadBalancers}, true
			in.Seen.LoadBalancers[0].ARN, in.Seen.LoadBalancers[0].Subnets = "arn", []string{"subnet-a2", "subnet-gone"}
			if tc.do != nil {
				tc.do(&in)
			}
			if !input.NeedsOf(in).Subnets && (in.Rediscover || name == "not of another scheme") {
				t.Error("subnets are not asked for")
			}
			built, faults := Build(in)
			if diff := cmp.Diff(tc.want, built.LoadBalancers[0].Subnets); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			told := slices.ContainsFunc(faults, func(f fault.Fault) bool {
				return f.IsWarning() && f.Member == "shop/a" && strings.Contains(f.Reason, "by subnet-b2: ")
			})
			if told != tc.told {
				t.Errorf("faults are %v", faults)
			}
		})
	}
}

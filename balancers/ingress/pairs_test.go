// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// pairing is what TestElasticAddressesPairWithSubnetsAsWritten writes: subnets by ID or name, and the address of each.
type pairing struct{ subnets, addresses []string }

// eachPairing calls do with all orders of four subnets with their addresses, each subnet by its ID or its name. Two of them have the same
// name: by that they are taken in the order of their IDs. Want is the address of each subnet.
func eachPairing(do func(written pairing, want map[string]string)) {
	names := map[string]string{"subnet-a1": "red", "subnet-b1": "twin", "subnet-c1": "twin", "subnet-d1": "blue"}
	address := func(id string) string {
		return "eipalloc-0" + strings.TrimSuffix(strings.TrimPrefix(id, "subnet-"), "1")
	}
	permutations(slices.Sorted(maps.Keys(names)), func(ids []string) {
		for forms := range 1 << len(ids) {
			byName := func(id string) bool { return forms&(1<<slices.Index(ids, id)) != 0 }
			if byName("subnet-b1") != byName("subnet-c1") { // by the name of two, that of the lowest ID is meant
				continue
			}
			written, want, twins := pairing{}, map[string]string{}, []string{"subnet-b1", "subnet-c1"}
			for _, id := range ids {
				entry, meant := id, id
				if byName(id) {
					if entry = names[id]; entry == "twin" {
						meant, twins = twins[0], twins[1:]
					}
				}
				written.subnets, written.addresses = append(written.subnets, entry), append(written.addresses, address(id))
				want[meant] = address(id)
			}
			do(written, want)
		}
	})
}

func permutations(items []string, do func([]string)) {
	var from func(int)
	from = func(at int) {
		if at == len(items) {
			do(slices.Clone(items))
		}
		for i := at; i < len(items); i++ {
			items[at], items[i] = items[i], items[at]
			from(at + 1)
			items[at], items[i] = items[i], items[at]
		}
	}
	from(0)
}

// Lists that pair keep their order as written, in whatever form, by whomever, and whatever was seen before.
func TestElasticAddressesPairWithSubnetsAsWritten(t *testing.T) {
	subnets, addresses := annotation.FrontSubnets.FullName(), annotation.FrontAllocations.FullName()
	internal := &stack.Stack{LoadBalancers: []stack.LoadBalancer{{
		Network: true, Active: true, Scheme: annotation.Internal, Subnets: []string{"subnet-a1", "subnet-b1", "subnet-c1", "subnet-d1"},
	}}}
	for name, write := range map[string]func(*input.Input, pairing){
		"by one member": func(in *input.Input, written pairing) {
			annotate(in, 0, subnets, strings.Join(written.subnets, ","))
			annotate(in, 0, addresses, strings.Join(written.addresses, ","))
		},
		"by two members, each a list": func(in *input.Input, written pairing) {
			annotate(in, 1, subnets, strings.Join(written.subnets, ", "))
			annotate(in, 2, addresses, strings.Join(written.addresses, " ,"))
		},
		"by one, and the subnets in another order by one before": func(in *input.Input, written pairing) {
			annotate(in, 0, subnets, "subnet-d1,subnet-a1,subnet-c1,subnet-b1")
			annotate(in, 2, subnets, strings.Join(written.subnets, ","))
			annotate(in, 2, addresses, strings.Join(written.addresses, ","))
		},
		"in the load balancer's own list": func(in *input.Input, written pairing) {
			annotate(in, 0, annotation.Scheme.FullName(), annotation.InternetFacing)
			annotate(in, 0, annotation.Subnets.FullName(), strings.Join(written.subnets, ","))
			annotate(in, 1, addresses, strings.Join(written.addresses, ","))
		},
		"in place of one that is seen with another scheme": func(in *input.Input, written pairing) {
			in.Seen.Front, in.Seen.LoadBalancers = internal, []stack.LoadBalancer{{
				Active: true, Scheme: annotation.Internal, Subnets: internal.LoadBalancers[0].Subnets,
			}}
			annotate(in, 0, subnets, strings.Join(written.subnets, ","))
			annotate(in, 0, addresses, strings.Join(written.addresses, ","))
		},
		"in place of half of one that is seen": func(in *input.Input, written pairing) {
			in.Seen.Front = &stack.Stack{LoadBalancers: []stack.LoadBalancer{{
				Network: true, Active: true, Scheme: annotation.InternetFacing, Subnets: []string{"subnet-a1", "subnet-d1"},
				Allocations: []string{"eipalloc-0a", "eipalloc-0d"},
			}}}
			annotate(in, 0, subnets, strings.Join(written.subnets, ","))
			annotate(in, 0, addresses, strings.Join(written.addresses, ","))
		},
	} {
		t.Run(name, func(t *testing.T) {
			tried := 0
			eachPairing(func(written pairing, want map[string]string) {
				in := paired(t)
				write(&in, written)
				if diff := cmp.Diff(want, pairsOf(t, in)); diff != "" && !t.Failed() {
					t.Errorf("subnets %q, addresses %q pair (-want +got):\n%s", written.subnets, written.addresses, diff)
				}
				tried++
			})
			if tried != 24*8 {
				t.Errorf("%d orders were tried, want %d", tried, 24*8)
			}
		})
	}
}

// Params have IDs alone.
func TestElasticAddressesPairWithSubnetsOfParams(t *testing.T) {
	permutations([]string{"a", "b", "c", "d"}, func(zones []string) {
		in, want := paired(t), map[string]string{}
		params := &v1beta1.IngressClassParams{}
		params.Spec.Subnets = &v1beta1.Subnets{}
		var addresses []string
		for _, zone := range zones {
			params.Spec.Subnets.IDs = append(params.Spec.Subnets.IDs, v1beta1.SubnetID("subnet-"+zone+"1"))
			addresses, want["subnet-"+zone+"1"] = append(addresses, "eipalloc-0"+zone), "eipalloc-0"+zone
		}
		for i := range in.Members {
			in.Members[i].Params = params
		}
		annotate(&in, 0, annotation.Scheme.FullName(), annotation.InternetFacing)
		annotate(&in, 0, annotation.FrontAllocations.FullName(), strings.Join(addresses, ","))
		if diff := cmp.Diff(want, pairsOf(t, in)); diff != "" {
			t.Errorf("zones %q pair (-want +got):\n%s", zones, diff)
		}
	})
}

// paired are three Ingresses with a Network Load Balancer in front that has public addresses, and a subnet in each of four zones.
func paired(t *testing.T) input.Input {
	in := three(t)
	in.AWS.Subnets = nil
	for zone, name := range map[string]string{"a": "red", "b": "twin", "c": "twin", "d": "blue"} {
		in.AWS.Subnets = append(in.AWS.Subnets, lookup.Subnet{
			ID: fmt.Sprintf("subnet-%s1", zone), Zone: "eu-west-1" + zone, Locale: "availability-zone", Free: 100, Public: true,
			Tags: map[string]string{"Name": name, "kubernetes.io/role/elb": "1", "kubernetes.io/role/internal-elb": "1"},
		})
	}
	annotate(&in, 0, annotation.EnableFront.FullName(), "true")
	annotate(&in, 0, annotation.FrontScheme.FullName(), annotation.InternetFacing)
	return in
}

// pairsOf are the Elastic IP addresses by their subnets.
func pairsOf(t *testing.T, in input.Input) map[string]string {
	t.Helper()
	built, faults := Build(in)
	if built.Front == nil {
		t.Fatalf("nothing in front: %v", faults)
	}
	lb, pairs := built.Front.LoadBalancers[0], map[string]string{}
	for i, subnet := range lb.Subnets {
		if len(lb.Allocations) != len(lb.Subnets) {
			t.Fatalf("addresses %q for subnets %q: %v", lb.Allocations, lb.Subnets, faults)
		}
		pairs[subnet] = lb.Allocations[i]
	}
	return pairs
}

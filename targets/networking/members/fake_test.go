// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/aws/smithy-go"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
)

// fakeEC2 is EC2 in memory.
type fakeEC2 struct {
	instances  map[string]ec2.Instance
	interfaces []ec2.Interface
	calls      []string
	err        error // of all calls
}

func apiError(code string) error { return &smithy.GenericAPIError{Code: code, Message: "said EC2"} }

func inVPC(context.Context) (string, error) { return "vpc-1", nil }

// node adds an instance with one network interface of these groups, which has all addresses of 10.0.N.0/24.
func (f *fakeEC2) node(n int, groups ...string) {
	if f.instances == nil {
		f.instances = map[string]ec2.Instance{}
	}
	id := fmt.Sprintf("i-%02x", n)
	f.instances[id] = ec2.Instance{ID: id, Interfaces: []ec2.Interface{{
		ID: fmt.Sprintf("eni-%02x", n), Groups: groups, Prefixes: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n), 0}), 24)},
	}}}
}

// podOn is a pod on the node of that number.
func podOn(node int, name string) Member {
	return Member{
		Name: "shop/" + name, UID: types.UID(name), Pod: true, Class: ClassEC2, Instance: fmt.Sprintf("i-%02x", node),
		Address: netip.AddrFrom4([4]byte{10, 0, byte(node), 7}),
	}
}

// count is how often the operation was called.
func (f *fakeEC2) count(op string) (n int) {
	for _, call := range f.calls {
		if call == op {
			n++
		}
	}
	return n
}

func (f *fakeEC2) Interfaces(_ context.Context, _ budget.Class, ids []string) ([]ec2.Interface, error) {
	f.calls = append(f.calls, "Interfaces")
	return slices.DeleteFunc(slices.Clone(f.interfaces), func(eni ec2.Interface) bool { return !slices.Contains(ids, eni.ID) }), f.err
}

func (f *fakeEC2) InterfacesByAddress(_ context.Context, _ budget.Class, _ string, addresses []netip.Addr) ([]ec2.Interface, error) {
	f.calls = append(f.calls, "InterfacesByAddress")
	return slices.DeleteFunc(slices.Clone(f.interfaces), func(eni ec2.Interface) bool {
		return !slices.ContainsFunc(eni.Addresses, func(a netip.Addr) bool { return slices.Contains(addresses, a) })
	}), f.err
}

func (f *fakeEC2) Instances(_ context.Context, _ budget.Class, ids []string) (found []ec2.Instance, err error) {
	f.calls = append(f.calls, "Instances")
	for _, id := range ids {
		if instance, ok := f.instances[id]; ok {
			found = append(found, instance)
		}
	}
	return found, f.err
}

func (f *fakeEC2) SecurityGroups(context.Context, budget.Class, []string) ([]ec2.SecurityGroup, error) {
	f.calls = append(f.calls, "SecurityGroups")
	return nil, f.err
}

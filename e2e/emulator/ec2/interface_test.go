// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/region"
)

const (
	machine1 = "i-0123456789abc0001"
	machine2 = "i-0123456789abc0002"
)

func eni(id, address string, groups ...string) Interface {
	return Interface{ID: id, Addresses: []netip.Addr{netip.MustParseAddr(address)}, Groups: groups}
}

func TestPutInterfaceRefuses(t *testing.T) {
	b := newBed(t, region.Range{})
	b.SetInstance(machine1, Instance{Running: true})
	first := eni("eni-00000001", "10.1.0.1", b.group)
	first.Instance = machine1
	first.Prefixes = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/24")}
	wantRefusal(t, b.PutInterface(first), "")
	six := []string{b.group}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		six = append(six, b.create(SecurityGroupSpec{Name: name}))
	}
	for name, tc := range map[string]struct {
		change func(*Interface)
		code   string
	}{
		"a malformed id":         {func(i *Interface) { i.ID = "eni-x" }, "InvalidNetworkInterfaceId.Malformed"},
		"an unknown VPC":         {func(i *Interface) { i.VPC = "vpc-0" }, "InvalidVpcID.NotFound"},
		"no address":             {func(i *Interface) { i.Addresses = nil }, "MissingParameter"},
		"an address outside":     {func(i *Interface) { i.Addresses[0] = netip.MustParseAddr("172.31.0.1") }, "InvalidParameterValue"},
		"a prefix outside":       {func(i *Interface) { i.Prefixes = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/7")} }, "InvalidParameterValue"},
		"an address in use":      {func(i *Interface) { i.Addresses[0] = netip.MustParseAddr("10.1.0.7") }, "InvalidIPAddress.InUse"},
		"an unknown instance":    {func(i *Interface) { i.Instance = machine2 }, "InvalidInstanceID.NotFound"},
		"a device index in use":  {func(i *Interface) { i.Instance = machine1 }, "InvalidParameterCombination"},
		"an unknown group":       {func(i *Interface) { i.Groups = []string{"sg-00000000000000000"} }, "InvalidGroup.NotFound"},
		"a group of another VPC": {func(i *Interface) { i.Groups = []string{b.peer} }, "InvalidParameterValue"},
		"a group twice":          {func(i *Interface) { i.Groups = []string{b.group, b.group} }, "InvalidParameterValue"},
		"six groups":             {func(i *Interface) { i.Groups = six }, "SecurityGroupsPerInterfaceLimitExceeded"},
		"five groups":            {func(i *Interface) { i.Groups = six[:5] }, ""},
		"a second device":        {func(i *Interface) { i.Instance, i.DeviceIndex = machine1, 1 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			second := eni("eni-00000002", "10.2.0.1")
			tc.change(&second)
			wantRefusal(t, b.PutInterface(second), tc.code)
		})
	}
	wantRefusal(t, b.SetInterfaceGroups("eni-00000001", b.peer), "InvalidParameterValue")
	wantRefusal(t, b.SetInterfaceGroups("eni-00000009", b.group), "InvalidNetworkInterfaceID.NotFound")
	wantRefusal(t, b.DeleteInterface("eni-00000009"), "InvalidNetworkInterfaceID.NotFound")
}

func TestDescribeInterfacesLags(t *testing.T) {
	b := newBed(t, region.Range{Min: time.Second, Max: time.Second})
	const id = "eni-00000001"
	wantRefusal(t, b.PutInterface(eni(id, "10.0.0.1", b.group)), "")
	wantGroups := func(want ...string) {
		t.Helper()
		interfaces, err := b.DescribeInterfaces("", id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, interfaces[0].Groups); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}
	}
	_, err := b.DescribeInterfaces("", id)
	wantRefusal(t, err, "InvalidNetworkInterfaceID.NotFound")
	b.clock.Step(time.Second)
	other := b.create(SecurityGroupSpec{Name: "other"})
	wantRefusal(t, b.SetInterfaceGroups(id, other), "")
	wantGroups(b.group)
	b.clock.Step(time.Second)
	wantGroups(other)
	wantRefusal(t, b.DeleteInterface(id), "")
	wantGroups(other)
	b.clock.Step(time.Second)
	_, err = b.DescribeInterfaces("", id)
	wantRefusal(t, err, "InvalidNetworkInterfaceID.NotFound")
}

func TestDescribeInstances(t *testing.T) {
	b := newBed(t, region.Range{})
	for _, id := range []string{machine1, machine2} {
		b.SetInstance(id, Instance{Address: "10.1.0.1", Running: true})
	}
	b.SetInstance("i-0123456789abc0003", Instance{Account: "210987654321"})
	for index, id := range []string{"eni-00000002", "eni-00000001"} {
		i := eni(id, []string{"10.1.0.1", "10.1.0.2"}[index])
		i.Instance, i.DeviceIndex = machine1, index
		wantRefusal(t, b.PutInterface(i), "")
	}
	found, err := b.DescribeInstances("")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, instance := range found {
		got[instance.ID] = []string{}
		for _, i := range instance.Interfaces {
			got[instance.ID] = append(got[instance.ID], i.ID)
		}
	}
	if diff := cmp.Diff(map[string][]string{machine1: {"eni-00000002", "eni-00000001"}, machine2: {}}, got); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
	for id, code := range map[string]string{
		machine1: "", "i-x": "InvalidInstanceID.Malformed", "i-0123456789abc0003": "InvalidInstanceID.NotFound",
	} {
		_, err := b.DescribeInstances("", machine2, id)
		wantRefusal(t, err, code)
	}
	_, err = b.DescribeInstances("", "i-0123456789abc0004", machine1, "i-0123456789abc0003")
	if want := "The instance IDs 'i-0123456789abc0004, i-0123456789abc0003' do not exist"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %s", err, want)
	}
	b.ForgetInstance(machine1)
	_, err = b.DescribeInstances("", machine1)
	wantRefusal(t, err, "InvalidInstanceID.NotFound")
	if interfaces, err := b.DescribeInterfaces(""); err != nil || len(interfaces) != 0 {
		t.Errorf("interfaces are %v, %v, want none", interfaces, err)
	}
}

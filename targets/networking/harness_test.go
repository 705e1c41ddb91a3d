// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/fixture"
	"github.com/targetgate/targetgate/targets/networking/members"
	"github.com/targetgate/targetgate/targets/networking/ruleset"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	testCluster = "shop"
	clusterTag  = "kubernetes.io/cluster/" + testCluster
	otherTag    = "kubernetes.io/cluster/till"
)

// bed is a Manager with EC2, records and a registrar that hands all bindings over.
type bed struct {
	*testing.T
	ec2     *fakeEC2
	records *fakeRecords
	manager *Manager
	setting Settings
	stop    func()

	listing sync.Mutex
	listed  map[types.NamespacedName]Binding // by the list of all bindings
	noList  error                            // why that fails
}

// inBed runs a test on a virtual clock. Group sg-node is on i-01, sg-lb the load balancer's.
func inBed(t *testing.T, test func(b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.ec2.group("sg-node", clusterTag, "owned")
		b.ec2.group("sg-lb")
		b.ec2.node(1, "sg-node")
		test(b)
		b.kill()
	})
}

func newBed(t *testing.T) *bed {
	b := &bed{T: t, ec2: newFakeEC2(), records: &fakeRecords{texts: map[string]string{}}, listed: map[types.NamespacedName]Binding{}}
	b.setting = Settings{
		ClusterName: testCluster, VPC: inVPC, Restricted: true, RuleQuota: 60, DriftInterval: 5 * time.Minute,
		ReleaseTimeout: 2 * time.Minute, Clock: clock.RealClock{}, EC2: b.ec2, Records: b.records,
		List: func(context.Context) ([]Binding, error) {
			b.listing.Lock()
			defer b.listing.Unlock()
			return slices.Collect(maps.Values(b.listed)), b.noList
		},
		Wake: func(types.NamespacedName) {},
	}
	return b
}

func inVPC(context.Context) (string, error) { return "vpc-1", nil }

// start starts a Manager; the last one was killed.
func (b *bed) start() {
	ctx, cancel := context.WithCancel(b.Context())
	b.manager = New(b.setting)
	done := make(chan struct{})
	go func(m *Manager) {
		defer close(done)
		if err := m.Start(ctx); err != nil {
			b.Error(err)
		}
	}(b.manager)
	b.stop = func() { cancel(); <-done }
}

func (b *bed) kill() {
	if b.stop != nil {
		b.stop()
		b.stop = nil
	}
	synctest.Wait()
}

// list changes what is listed.
func (b *bed) list(change func()) {
	b.listing.Lock()
	defer b.listing.Unlock()
	change()
}

// want lists the binding and hands it over.
func (b *bed) want(bindings ...Binding) {
	for _, binding := range bindings {
		b.list(func() { b.listed[binding.Key] = binding })
		b.manager.Want(binding)
	}
}

// settle lets what is due happen.
func (b *bed) settle() {
	time.Sleep(3 * time.Second)
	synctest.Wait()
}

func (b *bed) wantRules(group string, want ...string) {
	b.Helper()
	if got := b.ec2.texts(group); !slices.Equal(got, want) {
		b.Errorf("rules of %s:\n got %q\nwant %q", group, got, want)
	}
}

func (b *bed) wantState(name string, progress Progress, reason, message string) {
	b.Helper()
	if got, want := b.manager.State(keyOf(name)), (State{progress, reason, message}); got != want {
		b.Errorf("state of %s:\n got %+v\nwant %+v", name, got, want)
	}
}

func keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "shop", Name: name}
}

// asking is a binding with one pod on i-01.
func asking(name string, rules ...v1beta1.NetworkingIngressRule) Binding {
	return Binding{Key: keyOf(name), UID: types.UID(name), Members: []members.Member{podOn(1, name)}, Networking: spec(rules...)}
}

func spec(rules ...v1beta1.NetworkingIngressRule) *v1beta1.TargetGroupBindingNetworking {
	return &v1beta1.TargetGroupBindingNetworking{Ingress: rules}
}

// podOn is a pod on the node of that number. Pods of one node have one address here.
func podOn(node int, name string) members.Member {
	return members.Member{
		Name: "shop/" + name, UID: types.UID(fmt.Sprintf("%s-%d", name, node)), Pod: true, Class: members.ClassEC2, Instance: fmt.Sprintf("i-%02x", node),
		Address: netip.AddrFrom4([4]byte{10, 0, byte(node), 7}),
	}
}

// What tests write most.
var (
	from = fixture.From
	tcp  = fixture.TCP
	rule = fixture.Rule
)

// labelled are rules with the label.
func labelled(rules ...ec2.Rule) []ec2.Permission {
	var out []ec2.Permission
	for _, r := range rules {
		out = append(out, ec2.Permission{Rule: r, Description: ruleset.Description})
	}
	return out
}

// others adds rules to a group with the label, by somebody else.
func (b *bed) others(group string, rules ...ec2.Rule) {
	b.Helper()
	if err := b.ec2.authorize(group, labelled(rules...), false); err != nil {
		b.Fatal(err)
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/aws/smithy-go"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/networking/ruleset"
)

// fakeEC2 is EC2 in memory. Calls take or refuse all rules; reads are up to lag behind; hooks look at calls and let them fail.
type fakeEC2 struct {
	mu         sync.Mutex
	random     *rand.Rand // nil: no lag, and calls take no time
	lag        time.Duration
	latency    time.Duration
	quota      int
	groups     map[string]*fakeGroup
	instances  map[string]ec2.Instance
	interfaces []ec2.Interface
	calls      []string
	// fail is asked before a call has its effect, and after it, with the operation.
	fail func(ctx context.Context, op string, done bool) error
	// revoking is told of rules that are about to be removed, with the lock held.
	revoking func(group string, rules []ec2.Permission)
}

type fakeGroup struct {
	tags     map[string]string
	rules    map[ec2.Rule]string // descriptions
	byUs     ruleset.Rules
	versions []fakeVersion
}

type fakeVersion struct {
	at    time.Time
	rules map[ec2.Rule]string
}

func newFakeEC2() *fakeEC2 {
	return &fakeEC2{quota: 60, groups: map[string]*fakeGroup{}, instances: map[string]ec2.Instance{}}
}

func apiError(code string) error {
	return &smithy.GenericAPIError{Code: code, Message: "said EC2"}
}

// group adds a security group with tags, given as key, value, key, value, and the label's rules.
func (f *fakeEC2) group(id string, tags ...string) *fakeGroup {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.addGroup(id, tags...)
}

// addGroup is group with the lock held.
func (f *fakeEC2) addGroup(id string, tags ...string) *fakeGroup {
	g := &fakeGroup{tags: map[string]string{}, rules: map[ec2.Rule]string{}, byUs: ruleset.Rules{}}
	for i := 0; i+1 < len(tags); i += 2 {
		g.tags[tags[i]] = tags[i+1]
	}
	f.groups[id] = g
	return g
}

// failWith has calls ask fail from now on.
func (f *fakeEC2) failWith(fail func(ctx context.Context, op string, done bool) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *fakeEC2) asked(ctx context.Context, op string, done bool) error {
	f.mu.Lock()
	fail := f.fail
	f.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(ctx, op, done)
}

// node adds an instance with one network interface of these groups, which has all addresses of 10.0.N.0/24.
func (f *fakeEC2) node(n int, groups ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addNode(n, groups...)
}

// addNode is node with the lock held.
func (f *fakeEC2) addNode(n int, groups ...string) {
	id := fmt.Sprintf("i-%02x", n)
	f.instances[id] = ec2.Instance{ID: id, Interfaces: []ec2.Interface{{
		ID: fmt.Sprintf("eni-%02x", n), Groups: groups, Prefixes: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(n), 0}), 24)},
	}}}
}

func (f *fakeEC2) begin(ctx context.Context, op string) error {
	if f.random != nil {
		f.mu.Lock()
		pause := time.Duration(f.random.Int64N(int64(f.latency) + 1))
		f.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	f.calls = append(f.calls, op)
	f.mu.Unlock()
	return f.asked(ctx, op, false)
}

func (f *fakeEC2) end(ctx context.Context, op string) error { return f.asked(ctx, op, true) }

func (f *fakeEC2) Interfaces(ctx context.Context, _ budget.Class, ids []string) ([]ec2.Interface, error) {
	if err := f.begin(ctx, "Interfaces"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.interfaces), func(eni ec2.Interface) bool { return !slices.Contains(ids, eni.ID) }), nil
}

func (f *fakeEC2) InterfacesByAddress(ctx context.Context, _ budget.Class, _ string, addresses []netip.Addr) ([]ec2.Interface, error) {
	if err := f.begin(ctx, "InterfacesByAddress"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.interfaces), func(eni ec2.Interface) bool {
		return !slices.ContainsFunc(eni.Addresses, func(a netip.Addr) bool { return slices.Contains(addresses, a) })
	}), nil
}

func (f *fakeEC2) Instances(ctx context.Context, _ budget.Class, ids []string) ([]ec2.Instance, error) {
	if err := f.begin(ctx, "Instances"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []ec2.Instance
	for _, id := range ids {
		if instance, ok := f.instances[id]; ok {
			found = append(found, instance)
		}
	}
	return found, nil
}

func (f *fakeEC2) SecurityGroups(ctx context.Context, _ budget.Class, ids []string) ([]ec2.SecurityGroup, error) {
	if err := f.begin(ctx, "SecurityGroups"); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []ec2.SecurityGroup
	for _, id := range ids {
		group, ok := f.groups[id]
		if !ok {
			continue
		}
		rules := group.rules
		if f.random != nil && len(group.versions) > 0 {
			rules = group.seenAt(time.Now().Add(-time.Duration(f.random.Int64N(int64(f.lag) + 1))))
		}
		described := ec2.SecurityGroup{ID: id, Tags: maps.Clone(group.tags)}
		for rule, text := range rules {
			described.Ingress = append(described.Ingress, ec2.Permission{Rule: rule, Description: text})
		}
		found = append(found, described)
	}
	return found, nil
}

// seenAt are the rules as they were then.
func (g *fakeGroup) seenAt(then time.Time) map[ec2.Rule]string {
	for _, version := range slices.Backward(g.versions) {
		if !version.at.After(then) {
			return version.rules
		}
	}
	return g.versions[0].rules
}

// changed keeps the present rules as a version. The first one is from before all changes.
func (g *fakeGroup) change(change func()) {
	if len(g.versions) == 0 {
		g.versions = append(g.versions, fakeVersion{rules: maps.Clone(g.rules)})
	}
	change()
	g.versions = append(g.versions, fakeVersion{at: time.Now(), rules: maps.Clone(g.rules)})
}

func (f *fakeEC2) Authorize(ctx context.Context, _ budget.Class, id string, rules []ec2.Permission) error {
	if err := f.begin(ctx, "Authorize"); err != nil {
		return err
	}
	if err := f.authorize(id, rules, true); err != nil {
		return err
	}
	return f.end(ctx, "Authorize")
}

func (f *fakeEC2) authorize(id string, rules []ec2.Permission, byUs bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	group, ok := f.groups[id]
	if !ok {
		return apiError("InvalidGroup.NotFound")
	}
	var v4, v6 int
	count := func(rule ec2.Rule) {
		if cidr := rule.Source.CIDR; !cidr.IsValid() || cidr.Addr().Is4() {
			v4++
		}
		if cidr := rule.Source.CIDR; !cidr.IsValid() || cidr.Addr().Is6() {
			v6++
		}
	}
	for rule := range group.rules {
		count(rule)
	}
	for _, permission := range rules {
		if _, ok := group.rules[permission.Rule]; ok {
			return apiError("InvalidPermission.Duplicate")
		}
		if source := permission.Source.Group; source != "" && f.groups[source] == nil {
			return apiError("InvalidGroup.NotFound")
		}
		count(permission.Rule)
	}
	if v4 > f.quota || v6 > f.quota {
		return apiError("RulesPerSecurityGroupLimitExceeded")
	}
	group.change(func() {
		for _, permission := range rules {
			group.rules[permission.Rule] = permission.Description
			if byUs {
				group.byUs.Insert(permission.Rule)
			}
		}
	})
	return nil
}

func (f *fakeEC2) Revoke(ctx context.Context, _ budget.Class, id string, rules []ec2.Permission) error {
	if err := f.begin(ctx, "Revoke"); err != nil {
		return err
	}
	if err := f.revoke(id, rules); err != nil {
		return err
	}
	return f.end(ctx, "Revoke")
}

func (f *fakeEC2) revoke(id string, rules []ec2.Permission) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	group, ok := f.groups[id]
	if !ok {
		return apiError("InvalidGroup.NotFound")
	}
	for _, permission := range rules {
		if _, ok := group.rules[permission.Rule]; !ok {
			return apiError("InvalidPermission.NotFound")
		}
	}
	if f.revoking != nil {
		f.revoking(id, rules)
	}
	group.change(func() {
		for _, permission := range rules {
			delete(group.rules, permission.Rule)
			group.byUs.Delete(permission.Rule)
		}
	})
	return nil
}

// count is how often the operations were called.
func (f *fakeEC2) count(ops ...string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, op := range f.calls {
		if slices.Contains(ops, op) {
			n++
		}
	}
	return n
}

// texts are the rules of a group, sorted.
func (f *fakeEC2) texts(id string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for rule := range f.groups[id].rules {
		out = append(out, rule.String())
	}
	slices.Sort(out)
	return out
}

// fakeRecords are Records as text in memory, which outlive a Manager.
type fakeRecords struct {
	mu    sync.Mutex
	texts map[string]string
	load  error // of Load
	fail  func(ctx context.Context, op string, done bool) error
}

func (f *fakeRecords) Load(ctx context.Context) (map[string]Stored, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.load != nil {
		return nil, f.load
	}
	out := map[string]Stored{}
	for id, text := range f.texts {
		record, err := ruleset.ParseRecord(text)
		out[id] = Stored{Record: record, Err: err}
	}
	return out, ctx.Err()
}

func (f *fakeRecords) Save(ctx context.Context, id string, record ruleset.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := f.asked(ctx, false); err != nil {
		return err
	}
	f.mu.Lock()
	if f.texts[id] = record.String(); len(record) == 0 {
		delete(f.texts, id)
	}
	f.mu.Unlock()
	return f.asked(ctx, true)
}

// failLoad has reads fail from now on, or not.
func (f *fakeRecords) failLoad(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.load = err
}

// lose forgets what was written.
func (f *fakeRecords) lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.texts)
}

// failWith has writes ask fail from now on.
func (f *fakeRecords) failWith(fail func(ctx context.Context, op string, done bool) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *fakeRecords) asked(ctx context.Context, done bool) error {
	f.mu.Lock()
	fail := f.fail
	f.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(ctx, "Save", done)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/networking/ruleset"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

var (
	histories   = flag.Int("networking.histories", 200, "number of generated histories")
	historySeed = flag.Uint64("networking.seed", 0, "run only the history of this seed")
)

// The bindings, members and other owners of a generated history change while reads lag, calls are throttled or refused, and the
// process is killed after any call. Rules that are wished all the time are never absent, those of the other cluster are never
// revoked, and in the end exactly what is wished is left.
func TestHistoriesKeepWishedAndForeignRulesAndLeaveNoOthers(t *testing.T) {
	if *historySeed != 0 {
		runHistory(t, *historySeed)
		return
	}
	for n := range *histories {
		seed := uint64(n + 1)
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { runHistory(t, seed) })
	}
}

func runHistory(t *testing.T, seed uint64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHistory(t, seed)
		for range 25 {
			h.step()
		}
		h.finish()
		h.kill()
		if t.Failed() {
			t.Logf("seed %d, events:\n%s", seed, h.log)
		}
	})
}

// history is a bed whose bindings and EC2 change at random.
type history struct {
	*bed
	random *rand.Rand // of the driver

	mu        sync.Mutex // below: also used in calls
	faults    *rand.Rand
	die       int // calls until the process is killed, 0 for not
	dead      bool
	cancel    func()
	throttled bool
	calm      bool
	wished    map[string]map[ec2.Rule]time.Time // by group: wishes of living bindings, since
	other     map[ec2.Rule]bool                 // what the other cluster wishes on sg-both
	deleted   map[types.NamespacedName]Binding
	handed    map[types.NamespacedName]time.Time // when the newest version of a binding was first handed over
	log       string
}

// sources of rules: our load balancer's, one without tags, and two CIDRs. sg-gone does not exist: it is refused.
var historySources = []string{"sg-ours", "sg-ours", "sg-any", "10.1.0.0/16", "2001:db8::/32", "sg-gone"}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{
		bed: newBed(t), random: rand.New(rand.NewPCG(seed, 1)), faults: rand.New(rand.NewPCG(seed, 2)),
		wished: map[string]map[ec2.Rule]time.Time{}, other: map[ec2.Rule]bool{}, deleted: map[types.NamespacedName]Binding{},
		handed: map[types.NamespacedName]time.Time{},
	}
	h.ec2.random, h.ec2.lag, h.ec2.latency = rand.New(rand.NewPCG(seed, 3)), 2*time.Second, 150*time.Millisecond
	h.ec2.group("sg-own", clusterTag, "owned")
	h.ec2.group("sg-both", clusterTag, "owned", otherTag, "owned")
	h.ec2.group("sg-ours", ruleset.OwnerTag, testCluster)
	h.ec2.group("sg-any")
	h.ec2.node(1, "sg-own")
	h.ec2.node(2, "sg-both")
	h.setting.Restricted = h.random.IntN(4) > 0
	h.setting.DriftInterval = 2 * time.Minute
	h.setting.ReleaseTimeout = 30 * time.Second
	h.setting.List = func(context.Context) ([]Binding, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return append(slices.Collect(maps.Values(h.listed)), slices.Collect(maps.Values(h.deleted))...), nil
	}
	h.ec2.fail, h.records.fail, h.ec2.revoking = h.fault, h.fault, h.checkRevoke
	h.launch()
	return h
}

var errKilled = errors.New("killed")

// fault throttles, loses the answer of, or kills the process at a call.
func (h *history) fault(_ context.Context, op string, done bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead {
		return errKilled
	}
	if h.die > 0 {
		if h.die--; h.die == 0 {
			h.dead = true
			h.note("killed at %s, done %v", op, done)
			h.cancel()
			return errKilled
		}
	}
	switch {
	case op == "Save":
		return nil
	case !done && h.throttled && h.faults.IntN(2) == 0:
		return apiError("RequestLimitExceeded")
	case done && !h.calm && h.faults.IntN(40) == 0:
		return errors.New("no answer")
	}
	return nil
}

// note writes the log; the lock is held, or only the driver runs.
func (h *history) note(format string, args ...any) {
	h.log += time.Now().Format("04:05.000 ") + fmt.Sprintf(format, args...) + "\n"
}

func (h *history) launch() {
	ctx, cancel := context.WithCancel(h.Context())
	h.mu.Lock()
	h.dead, h.die, h.cancel = false, 0, cancel
	h.mu.Unlock()
	h.manager = New(h.setting)
	done := make(chan struct{})
	go func(m *Manager) {
		defer close(done)
		_ = m.Start(ctx)
	}(h.manager)
	h.stop = func() { cancel(); <-done }
}

// checkRevoke is told of rules that we are about to remove.
func (h *history) checkRevoke(group string, rules []ec2.Permission) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := maps.Clone(h.ec2.groups[group].rules)
	for _, permission := range rules {
		h.note("revoke %s %s", group, permission.Rule)
		delete(left, permission.Rule)
		if group == "sg-both" && h.other[permission.Rule] {
			h.Errorf("revoked %s that the other cluster wishes", permission.Rule)
		}
	}
	for wish, since := range h.wished[group] {
		if time.Since(since) > 2*time.Second && coveredBy(wish, h.ec2.groups[group].rules) && !coveredBy(wish, left) {
			h.Errorf("revoked %v from %s: %s is wished since %s", rules, group, wish, since.Format("04:05.000"))
		}
	}
}

func coveredBy(wish ec2.Rule, rules map[ec2.Rule]string) bool {
	for have := range rules {
		if have.Protocol == wish.Protocol && have.Source == wish.Source && have.From <= wish.From && have.To >= wish.To {
			return true
		}
	}
	return false
}

// step changes something, and lets time pass.
func (h *history) step() {
	switch n := h.random.IntN(12); {
	case n < 5:
		h.change()
	case n == 5:
		h.delete()
	case n == 6:
		h.mu.Lock()
		h.die = 1 + h.random.IntN(6)
		h.mu.Unlock()
	case n == 7:
		h.mu.Lock()
		h.throttled = !h.throttled
		h.mu.Unlock()
	case n == 8:
		h.toggleInstance()
	case n < 11:
		h.otherCluster()
	}
	h.pass(time.Duration(h.random.IntN(4000)) * time.Millisecond)
}

func (h *history) toggleInstance() {
	h.ec2.mu.Lock()
	defer h.ec2.mu.Unlock()
	if _, there := h.ec2.instances["i-02"]; there {
		delete(h.ec2.instances, "i-02")
		return
	}
	h.ec2.addNode(2, "sg-both")
}

// change makes a binding, or changes its spec or its members.
func (h *history) change() {
	key := keyOf(fmt.Sprintf("b%d", h.random.IntN(5)))
	if _, going := h.deleted[key]; going {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	binding, known := h.listed[key]
	if !known {
		binding = Binding{Key: key, UID: types.UID(fmt.Sprintf("%s-%d", key.Name, time.Now().UnixNano()))}
	}
	if !known || h.random.IntN(2) == 0 {
		binding.Networking = h.anySpec()
	}
	binding.Members = nil
	for n := range h.random.IntN(3) {
		binding.Members = append(binding.Members, podOn(1+h.random.IntN(2), fmt.Sprintf("%s-%d", key.Name, n)))
	}
	h.listed[key] = binding
	delete(h.handed, key)
	asks, _ := ruleset.Compile(binding.Networking, false)
	h.note("binding %s: %d members, %v", key.Name, len(binding.Members), asks)
	h.rewish()
}

func (h *history) anySpec() *v1beta1.TargetGroupBindingNetworking {
	out := &v1beta1.TargetGroupBindingNetworking{}
	for range 1 + h.random.IntN(2) {
		source := historySources[h.random.IntN(len(historySources))]
		var ports []any
		for range 1 + h.random.IntN(2) {
			ports = append(ports, []any{80, 443, 8080, 30000, nil}[h.random.IntN(5)])
		}
		out.Ingress = append(out.Ingress, from(source, ports...))
	}
	return out
}

// rewish computes what all bindings wish now. The lock is held.
func (h *history) rewish() {
	now := map[string]map[ec2.Rule]time.Time{}
	for _, binding := range h.listed {
		for group, rules := range wishesOf(h.T, binding) {
			for wish := range rules {
				if now[group] == nil {
					now[group] = map[ec2.Rule]time.Time{}
				}
				since, known := h.wished[group][wish]
				if !known {
					since = time.Now()
				}
				now[group][wish] = since
			}
		}
	}
	h.wished = now
}

func (h *history) delete() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range slices.SortedFunc(maps.Keys(h.listed), func(a, b types.NamespacedName) int { return compareNames(a.Name, b.Name) }) {
		h.note("delete %s", key.Name)
		h.deleted[key] = h.listed[key]
		delete(h.listed, key)
		h.rewish()
		return
	}
}

func compareNames(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

// otherCluster has the other cluster wish for a rule of sg-both, or drop a wish. It adds no rule that is there already, and as it is
// careful, it removes only what it wishes no more and has added.
func (h *history) otherCluster() {
	h.mu.Lock()
	defer h.mu.Unlock()
	source := []string{"sg-any", "10.1.0.0/16", "sg-theirs"}[h.random.IntN(3)]
	h.ec2.mu.Lock()
	if h.ec2.groups["sg-theirs"] == nil {
		h.ec2.addGroup("sg-theirs")
	}
	h.ec2.mu.Unlock()
	r := rule(80, 80, source)
	if h.other[r] {
		return
	}
	h.other[r] = true
	err := h.ec2.authorize("sg-both", labelled(r), false)
	h.note("the other cluster wishes %s: %v", r, err)
}

// pass lets time pass; the registrar hands bindings over, and a killed process starts again.
func (h *history) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		h.mu.Lock()
		dead := h.dead
		h.mu.Unlock()
		if dead {
			h.kill()
			h.launch()
		}
		h.handOver()
	}
}

func (h *history) handOver() {
	for _, binding := range h.listed {
		if h.random.IntN(3) > 0 {
			h.manager.Want(binding)
			if _, before := h.handed[binding.Key]; !before {
				h.handed[binding.Key] = time.Now()
			}
		}
		h.checkReady(binding)
	}
	for key, binding := range h.deleted {
		if h.manager.Release(key, binding.UID, binding.Networking) {
			h.mu.Lock()
			delete(h.deleted, key)
			h.note("released %s", key.Name)
			h.mu.Unlock()
			h.manager.Forget(key)
		}
	}
}

// checkReady compares what a State says with what is in the groups.
func (h *history) checkReady(binding Binding) {
	state := h.manager.State(binding.Key)
	handed, is := h.handed[binding.Key]
	if state.Progress != Ready || !is || time.Since(handed) < 2*time.Second {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ec2.mu.Lock()
	defer h.ec2.mu.Unlock()
	for group, rules := range wishesOf(h.T, binding) {
		for wish := range rules {
			if !coveredBy(wish, h.ec2.groups[group].rules) {
				h.Errorf("%s is Ready (%s), and %s lacks %s", binding.Key.Name, state.Message, group, wish)
			}
		}
	}
}

// wishesOf is what a binding wishes by its spec and members, by group.
func wishesOf(t *testing.T, binding Binding) map[string]ruleset.Rules {
	asks, err := ruleset.Compile(binding.Networking, false)
	if err != nil {
		t.Error(err)
	}
	wishes := map[string]ruleset.Rules{}
	for _, member := range binding.Members {
		group := map[string]string{"i-01": "sg-own", "i-02": "sg-both"}[member.Instance]
		rules, _ := asks.For(member.Ports)
		wishes[group] = rules.Union(wishes[group])
	}
	return wishes
}

// finish ends all faults, waits, and compares.
func (h *history) finish() {
	h.mu.Lock()
	h.throttled, h.die = false, 0
	h.calm = true
	h.mu.Unlock()
	h.ec2.node(2, "sg-both")
	h.pass(2 * time.Second)
	for range 36 {
		h.handOver()
		time.Sleep(10 * time.Second)
	}
	synctest.Wait()
	for _, group := range []string{"sg-own", "sg-both"} {
		h.compare(group)
	}
}

// compare checks that all wishes are met, and that what we have added is wished, exactly or merged.
func (h *history) compare(group string) {
	g := h.ec2.groups[group]
	right := ruleset.Rules{}
	flows := map[ruleset.Flow]ruleset.Wanted{}
	for wish := range h.wished[group] {
		if wish.Source.Group == "sg-gone" {
			continue
		}
		if !coveredBy(wish, g.rules) {
			h.Errorf("%s lacks %s", group, wish)
		}
		right.Insert(wish)
		if flows[ruleset.FlowOf(wish)] == nil {
			flows[ruleset.FlowOf(wish)] = ruleset.Wanted{}
		}
		flows[ruleset.FlowOf(wish)].Add(wish, nil)
	}
	for _, wishes := range flows {
		if merged := merge(wishes); merged.Source.Group != "" && h.setting.Restricted {
			right.Insert(merged)
		}
	}
	recorded, _ := ruleset.ParseRecord(h.records.texts[group])
	for have := range g.byUs {
		if group == "sg-both" && (have.Source.Group != "sg-ours" || !recorded.Ours(have)) {
			continue // another owner is evident, and a lost answer may leave a rule that looks like theirs
		}
		if !right.Has(have) {
			h.Errorf("%s still has %s", group, have)
		}
	}
}

// Whatever bindings there are, a take-over from the incumbent makes no call that changes a group, in whatever order the bindings are handed
// over, and through restarts.
func TestTakeOversChangeNothing(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHistory(t, seed+1)
				h.kill()
				h.calm = true
				h.ec2.group("sg-gone")
				for range 12 {
					h.change()
				}
				for group := range h.wished {
					h.others(group, h.incumbents(group)...)
				}
				time.Sleep(time.Minute) // reads have caught up
				h.launch()
				h.pass(time.Duration(h.random.IntN(1500)) * time.Millisecond)
				h.kill()
				h.launch()
				h.pass(3 * time.Minute)
				if n := h.ec2.count("Authorize", "Revoke"); n != 0 {
					t.Errorf("%d calls", n)
				}
				h.kill()
				if t.Failed() {
					t.Logf("events:\n%s", h.log)
				}
			})
		})
	}
}

// incumbents are the rules of a group as the incumbent has made them.
func (h *history) incumbents(group string) []ec2.Rule {
	flows, rules := map[ruleset.Flow]ruleset.Wanted{}, ruleset.Rules{}
	for wish := range h.wished[group] {
		if wish.Source.Group == "" || !h.setting.Restricted {
			rules.Insert(wish)
			continue
		}
		if flows[ruleset.FlowOf(wish)] == nil {
			flows[ruleset.FlowOf(wish)] = ruleset.Wanted{}
		}
		flows[ruleset.FlowOf(wish)].Add(wish, nil)
	}
	for _, wishes := range flows {
		rules.Insert(merge(wishes))
	}
	return rules.UnsortedList()
}

// merge is the rule from the lowest to the highest port of rules of one flow.
func merge(wishes ruleset.Wanted) (merged ec2.Rule) {
	first := true
	for wish := range wishes {
		if first {
			merged, first = wish, false
		}
		merged.From, merged.To = min(merged.From, wish.From), max(merged.To, wish.To)
	}
	return merged
}

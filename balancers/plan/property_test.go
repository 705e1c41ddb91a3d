// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// pairs are more before a change of the planner is committed: go test ./balancers/plan -pairs 20000
var pairs = flag.Uint64("pairs", defaultPairs, "how many pairs of stacks, and as many histories in proportion, are planned")

// TestEachPrefixOfAPlanKeepsEachRoute is the promise of the package, over pairs of stacks.
func TestEachPrefixOfAPlanKeepsEachRoute(t *testing.T) {
	const shards = 4
	for shard := range uint64(shards) {
		t.Run(fmt.Sprint("shard ", shard), func(t *testing.T) {
			t.Parallel()
			for seed := shard; seed < *pairs && !t.Failed(); seed += shards {
				checkSeed(t, seed, 1)
			}
		})
	}
}

// TestAChangeOfMindKeepsEachRoute is that promise when another stack was wanted before, and its plan was done in part.
func TestAChangeOfMindKeepsEachRoute(t *testing.T) {
	t.Parallel()
	for seed := range *pairs / 4 {
		checkTurn(t, seed, 9)
	}
}

// TestRewritesAndLoginsKeepEachRoute is that promise where requests are rewritten for Services, and users log in.
func TestRewritesAndLoginsKeepEachRoute(t *testing.T) {
	t.Parallel()
	for seed := range *pairs / 4 {
		r := rand.New(rand.NewPCG(seed, 23))
		from := generate(r)
		to := change(r, from)
		from.Rewritten, from.Login, to.Login = r.IntN(8), true, true
		to.Rewritten = pick(r, from.Rewritten, from.Rewritten, r.IntN(8))
		check(t, way{stacks: []genStack{from, to}, room: 100})
	}
}

// A load balancer was to be replaced, and another target group serves on the new one by now, which is to be replaced as well.
func TestWhatServesOnANewLoadBalancerIsAwaited(t *testing.T) { checkTurn(t, 19429, 9) }

// A load balancer is replaced, and a rule of a pass that ended midway, whose target group has no targets, answers a path there that nobody
// serves; a new rule overlaps it.
func TestNoRuleIsLateOnANewLoadBalancer(t *testing.T) { checkTurn(t, 7330, 33) }

// Two load balancers in front have the two names of a target group.
func TestATargetGroupFindsAThirdName(t *testing.T) { checkTurn(t, 12821, 9) }

// A pass ends midway, and another target group of the Service has come meanwhile that is as new.
func TestAnAwaitedTargetGroupIsAwaitedAgain(t *testing.T) { checkSeed(t, 14068, 7) }

// A pass ends midway, between a rule that sends to a new target group and its binding.
func TestATargetGroupWithoutTargetsServesNobody(t *testing.T) { checkSeed(t, 23859, 1) }

// A target group has weight 0 as its member asked for that, and serves in its stead what another rule sends to its Service.
func TestAWeightOfZeroIsNoSignOfAPass(t *testing.T) { checkSeed(t, 32092, 1) }

// A pass ends midway, and a rule names a target group with weight 0 beside others that have to wait, while a rule sends to the Service.
func TestAServiceThatAnswersIsNotAwaited(t *testing.T) { checkSeed(t, 77830, 1) }

// A pass ends midway, before its new rules are moved up.
func TestATargetGroupOfARuleBehindAllIsAwaitedAgain(t *testing.T) { checkSeed(t, 92411, 1) }

// A target group is to send to the same Service for a while, and waits for a fresh one beside it before it can.
func TestWhatIsYetToServeIsNotDeleted(t *testing.T) { checkSeed(t, 67667, 1) }

// A rule without a login, which is to have one, stands behind one with a login.
func TestAnOpenRuleIsNotMovedBeforeAGuardedOne(t *testing.T) { checkSeed(t, 55607, 1) }

// A pass ends midway. One of its rules overlaps a new one, but a wanted rule before both takes all that it answers.
func TestARuleWithoutRequestsIsNoOverlap(t *testing.T) { checkSeed(t, 5276, 2) }

func checkSeed(t *testing.T, seed, stream uint64) {
	r := rand.New(rand.NewPCG(seed, stream))
	a := generate(r)
	b := change(r, a)
	if r.IntN(4) == 0 {
		b = generate(r)
	}
	if len(b.Members) > 0 && r.IntN(4) == 0 {
		b.Members = slices.Clone(b.Members)
		b.Members[r.IntN(len(b.Members))].Held = true
	}
	room := pick(r, 100, 100, 2, 1, 0)
	check(t, way{stacks: []genStack{a, b}, room: room})
}

func checkTurn(t *testing.T, seed, stream uint64) {
	check(t, aTurn(rand.New(rand.NewPCG(seed, stream))))
}

// aTurn is a way by a stack midway, whose plan is done in part.
func aTurn(r *rand.Rand) way {
	from := generate(r)
	midway := change(r, from)
	to := change(r, midway)
	if r.IntN(3) == 0 {
		to = change(r, from)
	}
	return way{stacks: []genStack{from, midway, to}, share: r.Float64(), room: 100}
}

func check(t *testing.T, w way) {
	t.Helper()
	if err := w.check(); err != nil {
		w, err = shrink(w, err)
		t.Fatalf("room for %d: %v\nthe stacks, of the plan to one midway %v:\n%s", w.room, err, w.share, w)
	}
}

func newWorld() *world {
	return &world{limit: 1000, made: map[string]string{}, healthy: map[string]bool{}, letIn: map[string]string{}}
}

// run does all steps, each twice, and calls check after each.
func (w *world) run(plan steps.Plan, check func() error) error {
	w.made, w.removed = steps.Refs{}, map[string]bool{}
	for i, step := range plan {
		if err := w.await(step.Wait); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		for range 2 {
			if err := w.do(step.Change); err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
		}
		if err := check(); err != nil {
			return fmt.Errorf("after step %d, %T: %w", i, step.Change, err)
		}
	}
	return nil
}

// rest is some time later: all targets are healthy, and all rules are there.
func (w *world) rest() {
	w.grant()
	for _, g := range w.TargetGroups {
		w.healthy[g.ARN] = true
	}
}

func (w *world) rules() int {
	n := 0
	for _, b := range w.LoadBalancers {
		for _, l := range b.Listeners {
			n += len(l.Rules)
		}
	}
	return n
}

func nothing() error { return nil }

// way goes from the first of some stacks to the last. Of the plan to each between them that share is done. The quota leaves room for that
// many rules.
type way struct {
	stacks []genStack
	share  float64
	room   int
}

// settled is a world that has had a stack for a while.
func settled(s genStack) (*world, error) {
	w := newWorld()
	if s.Backend == "" {
		w.letIn = nil
	}
	plan, _ := Make(s.want(), w.seen(), Options{Rules: 1000})
	if err := w.run(plan, nothing); err != nil {
		return nil, fmt.Errorf("the first stack: %w", err)
	}
	w.rest()
	gaps(w)
	return w, nil
}

// begin is a world that has gone the way to the last stack.
func (y way) begin() (*world, error) {
	w, err := settled(y.stacks[0])
	if err != nil {
		return nil, err
	}
	for _, midway := range y.stacks[1:y.last()] {
		plan, _ := Make(midway.want(), w.seen(), Options{Rules: 1000})
		if err := w.run(plan[:int(y.share*float64(len(plan)))], nothing); err != nil {
			return nil, fmt.Errorf("a stack midway: %w", err)
		}
	}
	w.limit = max(1, w.rules()+y.room)
	return w, nil
}

func (y way) last() int { return len(y.stacks) - 1 }

// check says what promise is broken on the way to the last stack.
func (y way) check() error {
	w, err := y.begin()
	if err != nil {
		return err
	}
	wanted, before := y.stacks[y.last()].want(), w.answers()
	w.lenient = slices.ContainsFunc(wanted.Members, func(m stack.Member) bool { return m.Held })
	options := Options{Rules: w.limit}
	plan, over := Make(wanted, w.seen(), options)
	end := w.clone()
	if err := end.run(plan, nothing); err != nil {
		return err
	}
	end.rest()
	after := end.answers()
	if err := verify(end, wanted, over, options); err != nil {
		return fmt.Errorf("in the end: %w", err)
	}
	same := agreed(before, after)
	passed := w.passed(end, before, after)
	guarded := slices.DeleteFunc(slices.Clone(universe), func(r request) bool { return !isGuarded(before[r]) || !isGuarded(after[r]) })
	if y.room < 100 {
		same, passed, guarded = nil, nil, nil // at the quota not all can be kept
	}
	// What a plan that was not finished has made may get requests before it is healthy.
	if w.lenient || y.last() > 1 || !stays(y.stacks[0], y.stacks[1]) || sharesService(wanted, w.seen()) {
		passed = nil
	}
	open, targets := w.opened(), w.open()
	maps.DeleteFunc(open, func(port int32, _ bool) bool { return !end.opened()[port] })
	maps.DeleteFunc(targets, func(group string, _ bool) bool { _, serves := end.open()[group]; return !serves })
	n := 0
	return w.run(plan, func() error {
		if err := errors.Join(w.keeps(before, same), w.serves(before, after, passed), w.guards(guarded), w.lets(open), w.staysOpen(targets)); err != nil {
			return err
		}
		again := w.clone()
		rest, over := Make(wanted, again.seen(), options)
		check := nothing
		if n++; n%4 == 0 {
			check = func() error {
				return errors.Join(again.keeps(before, same), again.serves(before, after, passed), again.guards(guarded), again.lets(open), again.staysOpen(targets))
			}
		}
		if err := again.run(rest, check); err != nil {
			return fmt.Errorf("and planned again: %w\n%s", err, lines(rest))
		}
		again.rest()
		if err := verify(again, wanted, over, options); err != nil {
			return fmt.Errorf("and planned again, in the end: %w", err)
		}
		return nil
	})
}

// gaps leaves gaps between the priorities of rules on port 80, as others may have.
func gaps(w *world) {
	for i := range w.LoadBalancers {
		for j := range w.LoadBalancers[i].Listeners {
			l := &w.LoadBalancers[i].Listeners[j]
			for k := range l.Rules {
				if len(l.Rules)%3 == 2 {
					l.Rules[k].Priority = 3*l.Rules[k].Priority - 2
				}
			}
		}
	}
}

// agreed are the requests that get the same answer before and after.
func agreed(before, after map[request]string) []request {
	return slices.DeleteFunc(slices.Clone(universe), func(r request) bool { return before[r] != after[r] || before[r] == "" })
}

// keeps says which request gets another answer than before.
func (w *world) keeps(before map[request]string, requests []request) error {
	for _, r := range requests {
		if now := w.answer(r); now != before[r] {
			return fmt.Errorf("%+v: %s before and after, but now %q", r, before[r], now)
		}
	}
	return nil
}

// serves says which request is not served as before or after, whoever may pass.
func (w *world) serves(before, after map[request]string, requests []request) error {
	for _, r := range requests {
		if now := w.answer(r); unguarded(now) != unguarded(before[r]) && unguarded(now) != unguarded(after[r]) {
			return fmt.Errorf("%+v: served by %q before, by %q after, but now %q", r, before[r], after[r], now)
		}
	}
	return nil
}

// guards says which request a Service answers without asking who it is from.
func (w *world) guards(requests []request) error {
	for _, r := range requests {
		if now := w.answer(r); isServed(now) && !isGuarded(now) {
			return fmt.Errorf("%+v: guarded before and after, but now %q", r, now)
		}
	}
	return nil
}

// lets says which port of the Network Load Balancer leads nowhere.
func (w *world) lets(open map[int32]bool) error {
	now := w.opened()
	for port := range open {
		if !now[port] {
			return fmt.Errorf("port %d in front leads somewhere before and after, but not now", port)
		}
	}
	return nil
}

// stays reports whether each member stays.
func stays(from, to genStack) bool {
	return !slices.ContainsFunc(from.Members, func(m genMember) bool {
		return !slices.ContainsFunc(to.Members, func(other genMember) bool { return other.Name == m.Name })
	})
}

// sharesService reports whether a Service that is new has two target groups. The one that is healthy first may serve for the other, which
// is not found out.
func sharesService(wanted, seen stack.Stack) bool {
	n := map[string]int{}
	for _, b := range wanted.Bindings {
		n[b.Spec.Service]++
	}
	for _, b := range seen.Bindings {
		n[b.Spec.Service] = 0
	}
	return slices.Max(append(slices.Collect(maps.Values(n)), 0)) > 1
}

// verify says what differs from what is wanted when all is done.
func verify(w *world, wanted stack.Stack, over []Overflow, options Options) error {
	if len(over) > 0 { // what went with a load balancer in front may have left room
		var room steps.Plan
		if room, over = Make(wanted, w.seen(), options); w.run(room, nothing) != nil {
			return fmt.Errorf("planned again: %+v", room)
		}
		w.rest()
	}
	if again, _ := Make(wanted, w.seen(), options); len(again) > 0 {
		return fmt.Errorf("planned again: %+v", again)
	}
	n := len(wanted.LoadBalancers)
	if wanted.Front != nil {
		n++
	}
	if held := slices.ContainsFunc(wanted.Members, func(m stack.Member) bool { return m.Held }); len(w.LoadBalancers) != n && !held {
		return fmt.Errorf("%d load balancers", len(w.LoadBalancers))
	}
	if len(wanted.Members) == 0 {
		if n := len(w.TargetGroups) + len(w.Bindings) + len(w.SecurityGroups); n > 0 {
			return fmt.Errorf("%d parts are left", n)
		}
		return nil
	}
	if len(over) > 0 {
		return nil
	}
	if slices.ContainsFunc(wanted.Members, func(m stack.Member) bool { return m.Held }) {
		return w.verifyGood(wanted)
	}
	if diff := gocmp.Diff(outline(wanted, wanted), outline(w.seen(), wanted)); diff != "" {
		return fmt.Errorf("wanted, seen:\n%s", diff)
	}
	return nil
}

// verifyGood says which rules good members do not have beside held ones, and which target groups they have left.
func (w *world) verifyGood(wanted stack.Stack) error {
	part := func(ref stack.Ref) string {
		if g := w.group(ref.ID); g != nil {
			return g.Part
		}
		return cmp.Or(ref.Part, ref.ID)
	}
	rules := func(s stack.Stack) map[string]bool {
		keys := map[string]bool{}
		for _, b := range s.LoadBalancers {
			for _, l := range b.Listeners {
				for _, r := range l.Rules {
					keys[fmt.Sprint(l.Port, " ", actions.RuleKey(r, part))] = true
				}
			}
		}
		return keys
	}
	has := rules(w.Stack)
	for key := range rules(wanted) {
		if !has[key] {
			return fmt.Errorf("a rule is missing: %s", key)
		}
	}
	if len(w.LoadBalancers) > 1 { // others stay, also in front, with what they need
		return nil
	}
	for _, b := range w.Bindings {
		name := strings.TrimSuffix(part(b.Group), "-"+b.Spec.Service+":"+b.Spec.Port.String())
		isHeld := func(m stack.Member) bool { return m.Held && m.Name == name }
		isWanted := func(g stack.TargetGroup) bool { return g.Part == part(b.Group) }
		if !slices.ContainsFunc(wanted.Members, isHeld) && !slices.ContainsFunc(wanted.TargetGroups, isWanted) {
			return fmt.Errorf("left of %s: target group %s", name, part(b.Group))
		}
	}
	return nil
}

// outline is what can be compared of a stack: without IDs and names.
func outline(s, wanted stack.Stack) []string {
	part := func(ref stack.Ref) string {
		for _, g := range s.TargetGroups {
			if g.ARN != "" && g.ARN == ref.ID {
				return "part " + g.Part
			}
		}
		return actions.ID(ref)
	}
	var list []string
	for _, g := range s.TargetGroups {
		list = append(list, fmt.Sprint("group ", g.Part, g.TargetType, g.ControlPort, g.Attributes, g.Tags))
	}
	for _, b := range s.Bindings {
		list = append(list, fmt.Sprint("binding ", part(b.Group), b.Spec))
	}
	for _, g := range s.SecurityGroups {
		list = append(list, fmt.Sprint("security group ", len(g.Inbound), len(without(g.Inbound, wanted.SecurityGroups[0].Inbound)), g.Tags))
	}
	for _, b := range s.LoadBalancers {
		slices.Sort(b.Subnets)
		list = append(list, fmt.Sprint("balancer ", b.Scheme, b.AddressType, b.Subnets, b.Attributes, len(b.SecurityGroups), b.Tags))
		for _, l := range b.Listeners {
			certificates := slices.Sorted(slices.Values(l.Certificates))
			if l.ARN != "" { // it is seen: its default one has to be in the list for SNI, too
				certificates = slices.Sorted(slices.Values(l.SNI()))
			}
			list = append(list, fmt.Sprint("listener ", l.Port, l.Protocol, l.SSLPolicy, first(l.Certificates), certificates, l.Tags, actions.Key(l.Default, part)))
			for i, r := range l.Rules {
				at, tags := max(int(r.Priority), 1), r.Tags
				if r.Priority == 0 {
					at, tags = i+1, maps.Clone(r.Tags)
					tags["ingress.k8s.aws/resource"] = fmt.Sprint(l.Port, ":", at)
				}
				list = append(list, fmt.Sprint("rule ", l.Port, ":", at, actions.RuleKey(r, part), tags))
			}
		}
	}
	if s.Front != nil {
		for _, line := range outline(*s.Front, wanted) {
			list = append(list, "in front "+line)
		}
	}
	slices.Sort(list)
	return list
}

// shrinkable is what can be checked, and tried with one thing less.
type shrinkable[T any] interface {
	check() error
	smaller() []T
}

// shrink leaves out what the failure does not need.
func shrink[T shrinkable[T]](failing T, err error) (T, error) {
	for again := true; again; {
		again = false
		for _, small := range failing.smaller() {
			if failed := small.check(); failed != nil {
				failing, err, again = small, failed, true
				break
			}
		}
	}
	return failing, err
}

// smaller are ways with one thing less in one stack.
func (y way) smaller() []way {
	var all []way
	for i := range y.stacks {
		for _, s := range simpler(y.stacks[i]) {
			small := y
			small.stacks = slices.Clone(y.stacks)
			small.stacks[i] = s
			all = append(all, small)
		}
	}
	return all
}

// simpler are stacks with one thing less.
func simpler(s genStack) []genStack {
	var all []genStack
	if s.Internal || s.Dual || s.Given {
		plain := s
		plain.Internal, plain.Dual, plain.Given = false, false, false
		all = append(all, plain)
	}
	if s.Front > 0 {
		plain := s
		plain.Front = 0
		all = append(all, plain)
	}
	if s.Rewritten > 0 {
		plain := s
		plain.Rewritten = 0
		all = append(all, plain)
	}
	for i, m := range s.Members {
		less := s
		less.Members = slices.Delete(slices.Clone(s.Members), i, i+1)
		all = append(all, less)
		for j := range m.Rules {
			fewer := s
			fewer.Members = slices.Clone(s.Members)
			fewer.Members[i].Rules = slices.Delete(slices.Clone(m.Rules), j, j+1)
			all = append(all, fewer)
		}
	}
	return all
}

// String has the stacks, and the plan of a failure.
func (y way) String() string {
	var out strings.Builder
	for _, s := range y.stacks {
		fmt.Fprintf(&out, "%+v\n", s)
	}
	if w, err := y.begin(); err == nil {
		plan, _ := Make(y.stacks[y.last()].want(), w.seen(), Options{Rules: w.limit})
		out.WriteString(lines(plan))
	}
	return out.String()
}

func lines(plan steps.Plan) string {
	var out strings.Builder
	for i, step := range plan {
		fmt.Fprintf(&out, "%d %s\n", i, step)
	}
	return out.String()
}

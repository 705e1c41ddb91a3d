// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Applier does the steps of plans. It is safe for concurrent use, as long as no stack is in two passes at once.
type Applier struct {
	// Calls are those of steps that requests depend on, Late those of the others.
	Calls, Late Calls
	// Bindings reads and writes TargetGroupBindings.
	Bindings client.Client
	// View is told what was done.
	View View
	// VPC is the one that parts are made in.
	VPC string
}

// View is what is known to be in AWS.
type View interface {
	// Note takes in a change that was made, with the IDs of all its references, and what it has made.
	Note(id stack.ID, change steps.Change, made steps.Made)
	// Exists reports whether a load balancer or target group of whatever owner is known to be there.
	Exists(arn string) bool
	// IsNew reports whether we have made something so short a time ago that AWS may not find it yet.
	IsNew(id string) bool
	// IsGone reports whether we have deleted something so short a time ago that AWS may show it still.
	IsGone(id string) bool
	// Await reports whether AWS may soon show what it says has a name: it has not been awaited for long.
	Await(name string) bool
	// Forget has the stack read again, as it is no longer certain what there is.
	Forget(id stack.ID)
}

// Pass is one pass over a stack.
type Pass struct {
	ID   stack.ID
	Plan steps.Plan
	// Unsettled is for how long a load balancer must still be kept for clients that know its addresses, 0 for no longer; by its ARN.
	Unsettled func(arn string) time.Duration
	// Closed is for how long security groups must still be kept because targets may not let in those that replace them, 0 for no longer.
	Closed time.Duration
	// Kept is for how long target groups and their targets must still be kept, as load balancers may follow the rules of an earlier pass.
	Kept time.Duration
	// Late is for how long late steps must still wait, as other steps were done by an earlier pass.
	Late time.Duration
	// MayLookAgain has the stack read again when a policy refuses a removal: what is gone is refused, too.
	MayLookAgain bool
	// Interrupted is asked before each step but the first that was tried, with whether one has changed something. When it is true, the rest
	// is left to the next pass; nil is never.
	Interrupted func(changed bool) bool
	// Free is the name of what a step creates if the holder, somebody else's, has the wanted one; "" if that fails then, nil for always.
	Free func(change steps.Change, holder steps.Made) string
}

// RuleLag is for how long load balancers may follow rules that have been changed. AWS states no bound; users have seen some 10 s.
const RuleLag = 20 * time.Second

// Result is what came of a pass.
type Result struct {
	// Done are the steps that were done.
	Done []steps.Step
	// Failures are the steps that were tried and failed.
	Failures []Failure
	// Later are the removals that AWS refuses for as long as something else is not gone, and what it refuses while it does the same thing;
	// they are no failures.
	Later []Failure
	// LeftOut are the steps that were not tried because of failures, or because the pass was interrupted, and those that need what AWS does
	// not show yet.
	LeftOut []steps.Step
	// Interrupted says that the pass was. The next one goes on at once, or later if this one has changed nothing.
	Interrupted bool
	// Rerouted says that load balancers may follow former rules for RuleLag.
	Rerouted bool
	// LookedAgain says that a removal was refused and the stack is to be read again.
	LookedAgain bool
	// Waits are those that do not hold. Behind them are the waits of steps that did not have their turn.
	Waits, Behind []steps.Wait
	// Again is when the next pass may do more, apart from what failed, and from what is in Later without being kept; 0 when there is nothing
	// more to do.
	Again time.Duration
}

// Failure is a step with its error.
type Failure struct {
	Step steps.Step
	Err  error
}

// IsKept reports whether we have refused to remove what load balancers may still send requests to: Again says when that is over.
func (f Failure) IsKept() bool { return errors.Is(f.Err, errKept) }

// Pauses until something that is waited for may have happened.
const (
	idlePause    = 10 * time.Second // of a pass that has changed nothing before it gave way
	latePause    = time.Second
	unshownPause = 2 * time.Second
)

// maxLate is how many late steps a pass does: other groups wait for its worker.
const maxLate = 20

// doing is a pass in progress.
type doing struct {
	*Applier
	Calls
	pass      Pass
	refs      steps.Refs
	blocked   blocked
	result    Result
	waiting   bool // a wait does not hold; steps that begin anew do not care
	awaits    bool // a wait does not hold, of the whole pass
	changed   bool // something, as opposed to steps that are there for their wait
	ending    bool // the rest is left to the next pass
	exchanged exchanged
	// unshown are the IDs of parts that AWS does not find yet.
	unshown []string
	// uncertain says that what there is may not be what the view says.
	uncertain bool
}

// LateDelay is for how long nothing else must have been done before late steps are: one rule that is inserted or deleted has the tags of
// all behind it changed, and the next one again.
const LateDelay = 30 * time.Second

// Run does the steps in their order, the late ones after all others, once none of those was done for LateDelay. What depends on a wait is
// not done, nor what must not be done because of a failure, nor tags of what was to be written and is not; the rest is. It ends early when
// nobody knows what came of a call, when it is interrupted, or when ctx ends.
func (a *Applier) Run(ctx context.Context, pass Pass) Result {
	d := &doing{Applier: a, Calls: a.Calls, pass: pass, refs: steps.Refs{}}
	isLate := func(s steps.Step) bool { return s.Late && !d.blocked.isTagOfUnwritten(s.Change) }
	if d.steps(ctx, func(s steps.Step) bool { return !s.Late }, len(pass.Plan)) && slices.ContainsFunc(pass.Plan, isLate) {
		switch {
		case d.changed:
			d.again(LateDelay)
		case pass.Late > 0:
			d.again(pass.Late)
		default:
			d.Calls = a.Late
			d.steps(ctx, isLate, maxLate)
		}
	}
	if d.uncertain {
		a.View.Forget(pass.ID)
	}
	return d.result
}

// steps does at most so many of these steps. It reports whether others may follow.
func (d *doing) steps(ctx context.Context, these func(steps.Step) bool, most int) bool {
	for i, step := range d.pass.Plan {
		if !these(step) || d.isBehind(step) || d.exchanged.has(step.Change) {
			continue
		}
		if most == 0 || step.Late && d.isToEnd() {
			d.again(latePause)
			return false
		}
		most--
		if d.isToEnd() {
			d.interrupt(step)
			continue
		}
		if ctx.Err() != nil || !d.step(ctx, step) {
			d.leaveRest(d.pass.Plan[i+1:], these)
			return false
		}
	}
	return !d.result.Interrupted
}

// isBehind reports whether a step depends on a wait that does not hold.
func (d *doing) isBehind(step steps.Step) bool {
	d.waiting = d.waiting && !step.Anew && !step.Late || d.awaits && step.AfterAll
	if d.waiting && step.Wait != nil {
		d.result.Behind = append(d.result.Behind, *step.Wait)
	}
	return d.waiting
}

// step does one step, unless it must wait or is left out. It reports whether others may follow.
func (d *doing) step(ctx context.Context, step steps.Step) bool {
	kind, known := kinds[reflect.TypeOf(step.Change)]
	if !known {
		return d.fail(steps.Step{Change: step.Change}, fmt.Errorf("a step of type %T is not known", step.Change))
	}
	change, leftOut := d.resolve(step)
	if leftOut {
		d.leaveOut(step, change)
		return true
	}
	if pause, err := d.wait(ctx, step.Wait); err != nil {
		d.waiting, d.awaits = true, true // whether it holds is not known
		return d.fail(step, err)
	} else if pause > 0 {
		d.result.Waits = append(d.result.Waits, *step.Wait)
		d.waiting, d.awaits = true, true
		d.again(pause)
		return true
	}
	made, err := d.do(ctx, kind, change)
	switch removing := step.Change.Effect() == steps.Removes; {
	case errors.Is(err, errUnshown):
		d.leaveOut(step, change)
		d.again(unshownPause)
	case err == nil, removing && isGone(err):
		d.done(step, change, made)
	case removing && isLater(err), isPending(err):
		d.later(step, err)
	default:
		return d.fail(step, err)
	}
	return true
}

// do makes the change. Of what is adopted the view does not know all.
func (d *doing) do(ctx context.Context, kind kind, change steps.Change) (steps.Made, error) {
	if d.mustKeep(change) {
		return steps.Made{}, errKept
	}
	made, err := kind.do(d, ctx, change)
	if d.View.IsGone(made.ID) || err != nil && d.isUnshown(err, steps.IDsIn(change)...) {
		return steps.Made{}, errUnshown
	}
	d.uncertain = d.uncertain || made.Adopted
	if err == nil {
		logChange(ctx, change, made)
	}
	return made, err
}

// resolve is the step's change with IDs, and whether it is left out because of steps that failed or were left out.
func (d *doing) resolve(step steps.Step) (change steps.Change, leftOut bool) {
	change, missing := d.refs.Resolve(step.Change)
	return change, len(missing) > 0 || !d.isWaitable(step.Wait) || d.namesUnshown(change) || d.blocked.isLeftOut(change)
}

func (d *doing) leaveOut(step steps.Step, change steps.Change) {
	d.blocked.failed(change)
	d.result.LeftOut = append(d.result.LeftOut, step)
}

func (d *doing) done(step steps.Step, change steps.Change, made steps.Made) {
	if part, _ := steps.Created(change); part != "" {
		d.refs[part] = made.ID
	}
	d.noteRerouted(change)
	d.View.Note(d.pass.ID, change, made)
	d.changed = d.changed || change != steps.Nothing{}
	d.result.Done = append(d.result.Done, step)
}

func (d *doing) later(step steps.Step, err error) {
	if _, ok := step.Change.(steps.DeleteBinding); ok {
		d.blocked.lingering = true
	}
	failure := Failure{step, err}
	d.result.Later = append(d.result.Later, failure)
	if failure.IsKept() {
		d.again(d.pass.Kept)
	}
}

// fail takes in a failure. Others may follow if AWS has refused this step and would not refuse any.
func (d *doing) fail(step steps.Step, err error) bool {
	change, _ := d.refs.Resolve(step.Change)
	d.blocked.failed(change)
	d.result.Failures = append(d.result.Failures, Failure{step, err})
	switch {
	case !isCertain(err):
		d.uncertain = true
		d.noteRerouted(change) // the answer may be all that is lost
	case change.Effect() == steps.Removes && awserr.IsPermission(err) && d.pass.MayLookAgain:
		// Policies allow a removal by the tags that something has, and what is gone has none.
		d.uncertain, d.result.LookedAgain = true, true
	}
	return isAlone(err)
}

// again has the next pass come within the pause.
func (d *doing) again(pause time.Duration) {
	if d.result.Again == 0 || pause < d.result.Again {
		d.result.Again = pause
	}
}

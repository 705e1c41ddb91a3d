// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/run"
)

// counted does something, waits until AWS is not called any more, and counts targetgate's calls.
func (e *estate) counted(ctx context.Context, name string, do func() error) error {
	before := len(e.bed.AWS.Calls(0))
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	err := e.settle(ctx)
	calls := e.callsSince(before)
	e.result.count(name+": AWS calls", len(calls))
	e.note(name, calls)
	return err
}

func (e *estate) callsSince(before int) []wire.Call {
	return slices.DeleteFunc(slices.Clone(e.bed.AWS.Calls(before)), func(c wire.Call) bool { return c.Principal != e.bed.AccessKey() })
}

// note says what calls were made, for those who look for needless ones.
func (e *estate) note(name string, calls []wire.Call) {
	calls = slices.Clone(calls)
	for i := range calls {
		if isRefused(calls[i]) {
			calls[i].Operation += " refused with " + calls[i].Code
		}
	}
	e.Say("  %s: %s", name, operations(byOperation(calls)))
}

// restarted kills targetgate, has it come back, and measures the calls until it is quiet.
func (e *estate) restarted(ctx context.Context) error {
	before, begin := len(e.bed.AWS.Calls(0)), time.Now()
	e.bed.Targetgate.Kill()
	if err := errors.Join(e.bed.Targetgate.Restart(ctx), run.Pause(ctx, watched)); err != nil {
		return err
	}
	err := e.settle(ctx)
	calls := e.callsSince(before)
	quiet, writes := time.Duration(0), 0
	for _, c := range calls {
		quiet = max(quiet, c.Answered.Sub(begin))
		if isWrite(c) {
			writes++
		}
	}
	e.result.time(restartQuiet, quiet)
	e.result.count(restartCalls, len(calls))
	e.result.count(restartWrites, writes)
	e.note("restart", calls)
	return err
}

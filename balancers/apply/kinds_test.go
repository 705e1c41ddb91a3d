// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Each change is in the log, without secrets; not what was refused, or was gone already.
func TestRunLogsWhatItChanges(t *testing.T) {
	f := good()
	gone, kept := deleteRule(listenerARN, "gone"), deleteRule(listenerARN, "kept")
	f.errs["DeleteRule "+gone.Rule.ID], f.errs["DeleteRule "+kept.Rule.ID] = refusal("RuleNotFound"), refusal("OperationNotPermitted")
	rule := newRule(listenerARN, 7, "a")
	rule.Rule.Conditions = []stack.Condition{{Field: "http-header", Header: "X-Caller", Values: []string{"s3cret"}}}
	tag := steps.Tag{Of: stack.Ref{ID: "rule-9"}, Tags: map[string]string{stack.SecretTag: "uid/1", "team": "shop"}}
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{Verbosity: 1}))
	a := &Applier{Calls: f.clients(), Late: f.clients(), View: &noted{}, VPC: "vpc-1"}
	a.Run(ctx, Pass{
		ID: shop, Plan: do(newGroup("a"), rule, tag, gone, kept, steps.Nothing{}), Unsettled: func(string) time.Duration { return 0 },
	})
	want := []string{
		`"level"=0 "msg"="Changed AWS" "id"="tg-a" "step"="create target group a named a"`,
		`"level"=0 "msg"="Changed AWS" "id"="rule-7" "step"="create rule rule7: header X-Caller (not shown) to target group a"`,
		`"level"=1 "msg"="Changed AWS" "step"="tag rule-9 with targetgate.dev/secret-version=(not shown), team=shop"`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

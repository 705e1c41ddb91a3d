// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/ec2"
)

// The log has what was changed, and not what EC2 refused or held already.
func TestSenderLogsTheRulesThatWereTaken(t *testing.T) {
	var rules []ec2.Permission
	for port := range int32(4) {
		rules = append(rules, ec2.Permission{Rule: ec2.Rule{Protocol: "tcp", From: port + 80, To: port + 80, Source: ec2.Source{Group: "sg-lb"}}})
	}
	errs := map[int32]error{81: apiError("InvalidPermission.Duplicate"), 83: apiError("InvalidGroup.NotFound")}
	sent := send(t.Context(), rules, func(_ context.Context, rules []ec2.Permission) error {
		for _, rule := range rules {
			if err := errs[rule.From]; err != nil {
				return err
			}
		}
		return nil
	})
	var lines []string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	sent.log(ctx, "Added", "sg-node")
	(&sender{}).log(ctx, "Added", "sg-node")
	want := []string{`"level"=0 "msg"="Added" "rules"="sg-node: tcp 80 from sg-lb, tcp 82 from sg-lb"`}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

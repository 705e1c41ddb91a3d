// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/ec2"
)

// maxCalls is how many calls of one kind a pass makes for one security group. The rules that are left have their turn in the next.
const maxCalls = 24

// errNotTried is of rules that were not sent.
var errNotTried = errors.New("not tried yet")

// sender sends rules with as few calls as it can. EC2 takes or refuses a call as a whole: one that it refuses is sent again in
// halves, down to single rules, so that a bad rule fails alone.
type sender struct {
	call func(ctx context.Context, rules []ec2.Permission) error
	// results has an entry for each rule, nil once EC2 has taken it.
	results map[ec2.Rule]error
	calls   int
	// stop is the error after which no other call is of use now: EC2 throttles, does not answer, or forbids the call.
	stop error
}

// send sends the rules, each at most once by itself.
func send(ctx context.Context, rules []ec2.Permission, call func(context.Context, []ec2.Permission) error) *sender {
	s := &sender{call: call, results: map[ec2.Rule]error{}}
	s.part(ctx, rules)
	return s
}

func (s *sender) part(ctx context.Context, rules []ec2.Permission) {
	switch {
	case len(rules) == 0:
		return
	case s.stop != nil || s.calls == maxCalls:
		s.set(rules, errNotTried)
		return
	}
	s.calls++
	err := s.call(ctx, rules)
	switch {
	case err != nil && (!awserr.IsDefinite(err) || awserr.IsPermission(err)):
		s.stop = err
		s.set(rules, err)
	case err != nil && len(rules) > 1:
		s.part(ctx, rules[:len(rules)/2])
		s.part(ctx, rules[len(rules)/2:])
	default:
		s.set(rules, err)
	}
}

func (s *sender) set(rules []ec2.Permission, err error) {
	for _, permission := range rules {
		s.results[permission.Rule] = err
	}
}

// log tells which rules EC2 has taken, if any. What it had taken before, or lacked already, is no change.
func (s *sender) log(ctx context.Context, message, securityGroup string) {
	var rules []ec2.Rule
	for rule, err := range s.results {
		if err == nil {
			rules = append(rules, rule)
		}
	}
	if len(rules) > 0 {
		ctrl.LoggerFrom(ctx).Info(message, "rules", leftText(map[string][]ec2.Rule{securityGroup: rules}))
	}
}

// untried reports whether rules are left for another pass.
func (s *sender) untried() bool {
	for _, err := range s.results {
		if errors.Is(err, errNotTried) {
			return true
		}
	}
	return false
}

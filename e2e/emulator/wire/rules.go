// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strconv"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type ruleXML struct {
	RuleArn    string
	Priority   string
	Conditions members[conditionXML]
	Actions    members[actionXML]
	Transforms *members[transformXML] `xml:",omitempty"`
	IsDefault  bool
}

type rulesXML struct {
	Rules      members[ruleXML]
	NextMarker string `xml:",omitempty"`
}

func rulesAnswer(rules []state.ListenerRule, next string) rulesXML {
	answer := rulesXML{NextMarker: next}
	for _, r := range rules {
		priority := "default"
		if !r.IsDefault() {
			priority = strconv.Itoa(r.Priority)
		}
		answer.Rules.Members = append(answer.Rules.Members, ruleXML{
			RuleArn: r.ARN, Priority: priority, IsDefault: r.IsDefault(),
			Conditions: conditionsAnswer(r.Conditions), Actions: actionsAnswer(r.Action), Transforms: transformsAnswer(r.Transforms),
		})
	}
	return answer
}

func oneRule(r state.ListenerRule, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return rulesAnswer([]state.ListenerRule{r}, ""), nil
}

func createRule(s *Server, q *request) (any, error) {
	priority, err := q.number("Priority")
	if err != nil {
		return nil, err
	}
	action, err := q.actions("Actions.member")
	if err != nil {
		return nil, err
	}
	conditions, err := q.conditions()
	if err != nil {
		return nil, err
	}
	tags, err := q.tagParams()
	if err != nil {
		return nil, err
	}
	transforms, err := q.transforms()
	if err != nil {
		return nil, err
	}
	return oneRule(s.machine.CreateRule(state.ListenerRule{
		Listener: q.text("ListenerArn"), Priority: priority, Conditions: conditions, Action: action, Transforms: transforms,
	}, tags))
}

func modifyRule(s *Server, q *request) (any, error) {
	action, err := q.actions("Actions.member")
	if err != nil {
		return nil, err
	}
	conditions, err := q.conditions()
	if err != nil {
		return nil, err
	}
	transforms, err := q.transforms()
	if err != nil {
		return nil, err
	}
	to := state.ListenerRule{Conditions: conditions, Action: action, Transforms: transforms}
	return oneRule(s.machine.ModifyRule(q.text("RuleArn"), to, q.text("ResetTransforms") == "true"))
}

func deleteRule(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.DeleteRule(q.text("RuleArn"))
}

func setRulePriorities(s *Server, q *request) (any, error) {
	var moves []state.RulePriority
	for _, entry := range q.list("RulePriorities.member") {
		priority, err := entry.number("Priority")
		if err != nil {
			return nil, err
		}
		moves = append(moves, state.RulePriority{Rule: entry.text("RuleArn"), Priority: priority})
	}
	rules, err := s.machine.SetRulePriorities(moves)
	if err != nil {
		return nil, err
	}
	return rulesAnswer(rules, ""), nil
}

func describeRules(s *Server, q *request) (any, error) {
	listener, arns := q.text("ListenerArn"), q.texts("RuleArns.member")
	if (listener == "") == (len(arns) == 0) {
		return nil, state.Invalid("Either rule ARNs or a listener ARN must be specified")
	}
	rules, err := s.machine.Rules(listener, arns...)
	if err != nil {
		return nil, err
	}
	rules, next, err := page(q, rules)
	if err != nil {
		return nil, err
	}
	return rulesAnswer(rules, next), nil
}

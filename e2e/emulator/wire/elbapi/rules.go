// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"strconv"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type ruleXML struct {
	RuleArn    string
	Priority   string
	Conditions call.Members[conditionXML]
	Actions    call.Members[actionXML]
	Transforms *call.Members[transformXML] `xml:",omitempty"`
	IsDefault  bool
}

type rulesXML struct {
	Rules      call.Members[ruleXML]
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

func createRule(q *call.Request) (any, error) {
	priority, err := q.Number("Priority")
	if err != nil {
		return nil, err
	}
	action, err := actions(q, "Actions.member")
	if err != nil {
		return nil, err
	}
	conditions, err := conditions(q)
	if err != nil {
		return nil, err
	}
	tags, err := call.Tags(q)
	if err != nil {
		return nil, err
	}
	transforms, err := transforms(q)
	if err != nil {
		return nil, err
	}
	return oneRule(q.Cloud.ELB.CreateRule(state.ListenerRule{
		Listener: q.Text("ListenerArn"), Priority: priority, Conditions: conditions, Action: action, Transforms: transforms,
	}, tags))
}

func modifyRule(q *call.Request) (any, error) {
	action, err := actions(q, "Actions.member")
	if err != nil {
		return nil, err
	}
	conditions, err := conditions(q)
	if err != nil {
		return nil, err
	}
	transforms, err := transforms(q)
	if err != nil {
		return nil, err
	}
	to := state.ListenerRule{Conditions: conditions, Action: action, Transforms: transforms}
	return oneRule(q.Cloud.ELB.ModifyRule(q.Text("RuleArn"), to, q.Text("ResetTransforms") == "true"))
}

func deleteRule(q *call.Request) (any, error) {
	return struct{}{}, q.Cloud.ELB.DeleteRule(q.Text("RuleArn"))
}

func setRulePriorities(q *call.Request) (any, error) {
	var moves []state.RulePriority
	for _, entry := range q.List("RulePriorities.member") {
		priority, err := entry.Number("Priority")
		if err != nil {
			return nil, err
		}
		moves = append(moves, state.RulePriority{Rule: entry.Text("RuleArn"), Priority: priority})
	}
	rules, err := q.Cloud.ELB.SetRulePriorities(moves)
	if err != nil {
		return nil, err
	}
	return rulesAnswer(rules, ""), nil
}

func describeRules(q *call.Request) (any, error) {
	listener, arns := q.Text("ListenerArn"), q.Texts("RuleArns.member")
	if (listener == "") == (len(arns) == 0) {
		return nil, refusal.Invalid("Either rule ARNs or a listener ARN must be specified")
	}
	rules, err := q.Cloud.ELB.Rules(listener, arns...)
	if err != nil {
		return nil, err
	}
	if rules, err = listed(q, rules, func(one state.ListenerRule) string { return one.ARN }); err != nil {
		return nil, err
	}
	rules, next, err := page(q, rules)
	if err != nil {
		return nil, err
	}
	return rulesAnswer(rules, next), nil
}

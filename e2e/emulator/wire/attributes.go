// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"maps"
	"slices"
)

type attributeXML struct {
	Key   string
	Value string
}

type attributesXML struct {
	Attributes members[attributeXML]
}

func attributesAnswer(attributes map[string]string, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	var answer attributesXML
	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		answer.Attributes.Members = append(answer.Attributes.Members, attributeXML{key, attributes[key]})
	}
	return answer, nil
}

func describeTargetGroupAttributes(s *Server, q *request) (any, error) {
	return attributesAnswer(s.machine.Attributes(q.text("TargetGroupArn")))
}

func modifyTargetGroupAttributes(s *Server, q *request) (any, error) {
	return attributesAnswer(s.machine.ModifyAttributes(q.text("TargetGroupArn"), q.attributes()))
}

func (q *request) attributes() map[string]string {
	changes := map[string]string{}
	for _, a := range q.list("Attributes.member") {
		changes[a.text("Key")] = a.text("Value")
	}
	return changes
}

func describeLoadBalancerAttributes(s *Server, q *request) (any, error) {
	return attributesAnswer(s.machine.BalancerAttributes(q.text("LoadBalancerArn"), nil))
}

func modifyLoadBalancerAttributes(s *Server, q *request) (any, error) {
	return attributesAnswer(s.machine.BalancerAttributes(q.text("LoadBalancerArn"), q.attributes()))
}

func describeListenerAttributes(s *Server, q *request) (any, error) {
	return attributesAnswer(s.machine.ListenerAttributes(q.text("ListenerArn"), nil))
}

func modifyListenerAttributes(s *Server, q *request) (any, error) {
	return attributesAnswer(s.machine.ListenerAttributes(q.text("ListenerArn"), q.attributes()))
}

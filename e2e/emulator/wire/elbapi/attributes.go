// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"maps"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type attributeXML struct {
	Key   string
	Value string
}

type attributesXML struct {
	Attributes call.Members[attributeXML]
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

func describeTargetGroupAttributes(q *call.Request) (any, error) {
	return attributesAnswer(q.Cloud.ELB.Attributes(q.Text("TargetGroupArn")))
}

func modifyTargetGroupAttributes(q *call.Request) (any, error) {
	return attributesAnswer(q.Cloud.ELB.ModifyAttributes(q.Text("TargetGroupArn"), attributes(q)))
}

func attributes(q *call.Request) map[string]string {
	changes := map[string]string{}
	for _, a := range q.List("Attributes.member") {
		changes[a.Text("Key")] = a.Text("Value")
	}
	return changes
}

func describeLoadBalancerAttributes(q *call.Request) (any, error) {
	return attributesAnswer(q.Cloud.ELB.BalancerAttributes(q.Text("LoadBalancerArn"), nil))
}

func modifyLoadBalancerAttributes(q *call.Request) (any, error) {
	return attributesAnswer(q.Cloud.ELB.BalancerAttributes(q.Text("LoadBalancerArn"), attributes(q)))
}

func describeListenerAttributes(q *call.Request) (any, error) {
	return attributesAnswer(q.Cloud.ELB.ListenerAttributes(q.Text("ListenerArn"), nil))
}

func modifyListenerAttributes(q *call.Request) (any, error) {
	return attributesAnswer(q.Cloud.ELB.ListenerAttributes(q.Text("ListenerArn"), attributes(q)))
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package guards

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/readiness"
)

func TestAnswer(t *testing.T) {
	const long = settleTime
	drained := readiness.Health{Status: corev1.ConditionTrue, Reason: readiness.ReasonNodeDrained}
	waits := readiness.Health{Status: corev1.ConditionFalse, Reason: readiness.ReasonTargetsLeft}
	tests := map[string]struct {
		question question
		asked    time.Duration
		left     string
		said     readiness.Health
		want     string // status and reason
	}{
		"idle":                                   {asked: long},
		"leaves, with targets":                   {question: question{leaves: true}, left: "shop/web", want: "False TargetsLeft"},
		"leaves and is deleted, with targets":    {question: question{leaves: true, deleted: true}, asked: long, left: "shop/web", want: "False TargetsLeft"},
		"leaves, without targets":                {question: question{leaves: true}, asked: long, want: "True NodeDrained"},
		"has just begun to leave":                {question: question{leaves: true}, asked: long - 1},
		"leaves and is deleted, without targets": {question: question{leaves: true, deleted: true}, asked: long, want: "True NodeDrained"},
		"drained":                                {question: question{leaves: true, deleted: true}, asked: long, said: waits, want: "True NodeDrained"},
		"deleted on a node that stays":           {question: question{deleted: true}, asked: long, want: "True NodeStays"},
		"has just been deleted":                  {question: question{deleted: true}, asked: long - 1},
		"departure called off":                   {said: drained, want: "False NodeStays"},
		"departure called off before":            {said: readiness.Health{Status: corev1.ConditionFalse, Reason: readiness.ReasonNodeStays}, want: "False NodeStays"},
		"called off while it is deleted":         {question: question{deleted: true}, asked: long, said: waits, want: "True NodeStays"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := answer(tc.question, tc.asked, tc.left, tc.said)
			words := string(got.Status) + " " + got.Reason
			if words == " " {
				words = ""
			}
			if words != tc.want {
				t.Errorf("answer %q, want %q", words, tc.want)
			}
		})
	}
}

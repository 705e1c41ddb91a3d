// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"fmt"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/balancers/stack"
)

// Logs have neither what load balancers may know their callers by, nor versions of secrets.
func TestLogTextHidesSecrets(t *testing.T) {
	rule := stack.Rule{Conditions: []stack.Condition{
		{Field: "http-header", Header: "X-Caller", Values: []string{"s3cret"}},
		{Field: "http-header", Header: "X-Other", Regex: []string{"s3cret.*"}},
		{Field: "query-string", Query: []stack.Parameter{{Key: "token", Value: "s3cret"}}},
		{Field: "path-pattern", Values: []string{"/shown"}},
	}}
	for name, change := range map[string]Change{
		"create": CreateRule{Rule: rule}, "modify": ModifyRule{To: rule},
		"tag": Tag{Tags: map[string]string{stack.SecretTag: "s3cret", "team": "/shown"}},
	} {
		text := LogText(change)
		if strings.Contains(text, "s3cret") || !strings.Contains(text, "/shown") {
			t.Errorf("%s: %s", name, text)
		}
		if full := (Step{Change: change}).String(); !strings.Contains(full, "s3cret") {
			t.Errorf("%s: the step itself has changed: %s", name, full)
		}
	}
}

func TestLogTextIsBounded(t *testing.T) {
	var rules []stack.Inbound
	for port := range int32(1000) {
		rules = append(rules, stack.Inbound{Source: fmt.Sprintf("10.0.%d.0/24", port%256), From: port, To: port})
	}
	if text := LogText(Authorize{Rules: rules}); len(text) > 1100 || !strings.HasSuffix(text, "...") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingresses

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/consent"
)

// Whoever sends requests to a target group without its owner's consent is warned at once where AWS answers; nothing is refused, and AWS is
// asked once a second at most.
func TestMissingConsentIsWarnedOfEarly(t *testing.T) {
	const arn = "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/theirs/1"
	for name, tc := range map[string]struct {
		mode  consent.Mode
		tags  map[string]string
		err   error
		want  string
		calls int
	}{
		"require":               {mode: consent.Require, want: "targetgate.dev/bind=prod/shop", calls: 1},
		"require, with consent": {mode: consent.Require, tags: map[string]string{consent.TagKey: "prod/shop"}, calls: 1},
		"require, no answer":    {mode: consent.Require, err: errors.New("throttled"), calls: 1},
		"warn":                  {mode: consent.Warn, want: "; --target-group-consent=require would", calls: 1},
		"off":                   {mode: consent.Off},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			options := Options{Class: "alb"}
			options.Build.Consent = tc.mode
			if tc.mode.Asks() {
				options.Tags = func(_ context.Context, arns []string) (map[string]map[string]string, error) {
					if calls++; len(arns) != 1 || arns[0] != arn {
						t.Errorf("asked for %q", arns)
					}
					return map[string]map[string]string{arn: tc.tags}, tc.err
				}
			}
			server := newServer(t, options, client.Object(class("alb", ours, false)))
			now := newIngress("alb", `actions.web={"type":"forward","targetGroupARN":"`+arn+`"}`)
			now.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port.Name, now.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port.Number = "use-annotation", 0
			check(t, ask(t, server, Path, now, nil), "", tc.want)
			if again := ask(t, server, Path, now, nil); !again.Allowed || calls != tc.calls || strings.Contains(strings.Join(again.Warnings, ""), consent.TagKey) && calls > 1 {
				t.Errorf("%d calls, then %+v", calls, again)
			}
		})
	}
}

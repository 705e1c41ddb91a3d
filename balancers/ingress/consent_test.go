// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/targets/consent"
)

func groupARN(name string) string {
	return "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/" + name + "/1"
}

// sending has member b send its requests by that action.
func sending(t *testing.T, mode consent.Mode, targets ...string) input.Input {
	t.Helper()
	in, b := withPaths(t, 1, "act", input.UseAnnotation)
	b.Annotations[annotation.Actions.Member("act").FullName()] = `{"type":"forward","forwardConfig":{"targetGroups":[` + strings.Join(targets, ",") + `]}}`
	in.Options.Consent = mode
	in.AWS.TargetGroups = map[string]lookup.Named{"theirs": {ARN: groupARN("theirs")}}
	return in
}

// However an action names a target group, alone or beside others, its owner must have consented where that is asked for.
func TestRequestsAreSentWithTheOwnersConsent(t *testing.T) {
	byARN, byName := `{"targetGroupARN":"`+groupARN("theirs")+`","weight":1}`, `{"targetGroupName":"theirs","weight":1}`
	own := `{"serviceName":"b","servicePort":80,"weight":1}`
	given, none := lookup.Owned{Tags: map[string]string{consent.TagKey: "prod/shop"}}, lookup.Owned{}
	for name, tc := range map[string]struct {
		mode    consent.Mode
		targets []string
		owned   *lookup.Owned
		fault   string
		warned  bool
	}{
		"by its ARN":              {consent.Require, []string{byARN}, &none, "targetgate.dev/bind=prod/shop", false},
		"by its name":             {consent.Require, []string{byName}, &none, "targetgate.dev/bind=prod/shop", false},
		"beside a Service":        {consent.Require, []string{own, byARN}, &none, "targetgate.dev/bind=prod/shop", false},
		"before a Service":        {consent.Require, []string{byName, own}, &none, "targetgate.dev/bind=prod/shop", false},
		"without weight":          {consent.Require, []string{own, strings.Replace(byARN, ":1}", ":0}", 1)}, &none, "targetgate.dev/bind=prod/shop", false},
		"tags that are not known": {consent.Require, []string{byARN}, &lookup.Owned{Reason: "AccessDenied: not you"}, "AccessDenied: not you", false},
		"tags that are not asked": {consent.Require, []string{byARN}, nil, "names more than 100", false},
		"with consent":            {consent.Require, []string{byARN}, &given, "", false},
		"with consent, by name":   {consent.Require, []string{own, byName}, &given, "", false},
		"a Service alone":         {consent.Require, []string{own}, nil, "", false},
		"a warning":               {consent.Warn, []string{byARN}, &none, "--target-group-consent=require would hold this Ingress", true},
		"a warning, with consent": {consent.Warn, []string{byARN}, &given, "", false},
		"off":                     {consent.Off, []string{byARN, own}, nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			in := sending(t, tc.mode, tc.targets...)
			in.Options.Cluster = "prod"
			in.AWS.Owned = map[string]lookup.Owned{}
			if tc.owned != nil {
				in.AWS.Owned[groupARN("theirs")] = *tc.owned
			}
			needs := input.NeedsOf(in)
			asks := slices.Contains(needs.Owned, groupARN("theirs")) || needs.Owners && slices.Contains(needs.TargetGroups, "theirs")
			if names := strings.Contains(fmt.Sprint(tc.targets), "theirs"); asks != (names && tc.mode != consent.Off) {
				t.Errorf("the owner is asked: %v", asks)
			}
			got, faults := Build(in)
			isIt := func(f fault.Fault) bool {
				return f.IsWarning() == tc.warned && strings.Contains(f.Reason, tc.fault) && f.Annotation == annotation.Actions.Member("act").FullName()
			}
			if (tc.fault != "") != slices.ContainsFunc(faults, isIt) || tc.fault == "" && len(faults) > 0 {
				t.Errorf("faults %v, want %q", faults, tc.fault)
			}
			if held := tc.fault != "" && !tc.warned; got.Members[1].Held != held || got.Members[0].Held {
				t.Errorf("members %+v, want b held: %v", got.Members, held)
			}
			alone := CheckAlone(in.Group, in.Members[1], in.Services, in.Options)
			known := CheckWithTags(in.Group, in.Members[1], in.Services, map[string]map[string]string{groupARN("theirs"): nil}, in.Options)
			if len(alone) > 0 || slices.ContainsFunc(known, func(f fault.Fault) bool { return strings.Contains(f.Reason, consent.TagKey) }) !=
				(tc.mode.Asks() && strings.Contains(fmt.Sprint(tc.targets), "ARN")) {
				t.Errorf("alone %v, with tags %v", alone, known)
			}
		})
	}
}

// For an Ingress the owners of no more target groups are looked up than a load balancer may have, by ARN and by name together.
func TestTooManyOwners(t *testing.T) {
	in, b := withPaths(t, 1, "act", input.UseAnnotation)
	in.Options.Consent = consent.Require
	for i := range 3 * input.MostTargetGroups {
		name := fmt.Sprintf("act-%d", i)
		path := b.Spec.Rules[0].HTTP.Paths[0]
		path.Backend.Service = &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Name: input.UseAnnotation}}
		b.Spec.Rules[0].HTTP.Paths = append(b.Spec.Rules[0].HTTP.Paths, path)
		value := fmt.Sprintf(`{"type":"forward","targetGroupARN":"%s"}`, groupARN(name))
		if i%2 > 0 {
			value = fmt.Sprintf(`{"type":"forward","targetGroupName":"%s"}`, name)
		}
		b.Annotations[annotation.Actions.Member(name).FullName()] = value
	}
	if needs := input.NeedsOf(in); len(needs.Owned)+len(needs.TargetGroups) != input.MostTargetGroups {
		t.Errorf("%d ARNs and %d names are looked up", len(needs.Owned), len(needs.TargetGroups))
	}
}

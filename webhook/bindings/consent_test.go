// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"strings"
	"testing"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

const (
	testRole    = "arn:aws:iam::210987654321:role/shared"
	wantConsent = "there is no consent for this binding: the target group's owner can give it with the tag targetgate.dev/bind=prod/shop/web"
)

func withRole(role string) change {
	return func(b *v1beta1.TargetGroupBinding) { b.Spec.IamRoleArnToAssume = role }
}

func allow(t *testing.T, list string) func() *consent.Roles {
	t.Helper()
	roles, err := consent.ParseRoles([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	return func() *consent.Roles { return roles }
}

// failTags has AWS refuse to tell tags.
func failTags(api *fakeelbv2.API) {
	api.Before = func(_ context.Context, call fakeelbv2.Call) error {
		if call.Operation == "DescribeTags" {
			return &smithy.GenericAPIError{Code: "AccessDenied", Message: "not you"}
		}
		return nil
	}
}

func TestBindingValidatorAsksForConsentAtCreation(t *testing.T) {
	tests := map[string]struct {
		mode      consent.Mode
		tag       string // none when empty
		madeFor   string // the namespace of the Ingress of which the group was made
		denied    bool
		wantFault string
		wantWarn  string
		wantError bool // that is no refusal
		wantCalls int  // for tags
	}{
		"off":               {mode: consent.Off, wantCalls: 1}, // for the name of another cluster
		"warn":              {mode: consent.Warn, wantWarn: "--target-group-consent=require would reject this binding: " + wantConsent, wantCalls: 1},
		"warn, consent":     {mode: consent.Warn, tag: "prod/shop", wantCalls: 1},
		"warn, denied":      {mode: consent.Warn, denied: true, wantWarn: "cannot tell whether --target-group-consent=require would reject this binding: AccessDenied: not you"},
		"require":           {mode: consent.Require, wantFault: "spec.targetGroupARN: Forbidden: " + wantConsent, wantCalls: 1},
		"require, consent":  {mode: consent.Require, tag: "+/shop", wantCalls: 1},
		"require, another":  {mode: consent.Require, tag: "prod/till", wantFault: "spec.targetGroupARN: Forbidden: the target group's tag targetgate.dev/bind does not name this binding: its owner can add prod/shop/web to it, after a space", wantCalls: 1},
		"require, denied":   {mode: consent.Require, denied: true, wantError: true},
		"require, its own":  {mode: consent.Require, madeFor: "shop", wantCalls: 1},
		"require, not own":  {mode: consent.Require, madeFor: "till", wantFault: "spec.targetGroupARN: Forbidden: " + wantConsent, wantCalls: 1},
		"require, too wide": {mode: consent.Require, tag: "prod", wantFault: "(1 of its 1 entries are not of the form", wantCalls: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			validator, api := newValidator(t, webService())
			validator.facts.policy = consent.Policy{Mode: tc.mode, Cluster: "prod"}
			if tc.tag != "" {
				api.SetTags(webhooktest.ARN, map[string]string{consent.TagKey: tc.tag})
			}
			if tc.madeFor != "" {
				api.SetTags(webhooktest.ARN, map[string]string{
					"elbv2.k8s.aws/cluster": "prod", "ingress.k8s.aws/resource": tc.madeFor + "/edge-web:80",
				})
			}
			if tc.denied {
				failTags(api)
			}
			warnings, err := validator.create(t.Context(), creation(webhooktest.NewBinding("web")))
			if tc.wantError {
				if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "AccessDenied") {
					t.Errorf("error %v, want an internal one", err)
				}
				return
			}
			if got := strings.Join(faultsIn(t, err), "; "); (got == "") != (tc.wantFault == "") || !strings.Contains(got, tc.wantFault) {
				t.Errorf("faults %q, want %q", got, tc.wantFault)
			}
			if got := strings.Join(warnings, "; "); got != tc.wantWarn {
				t.Errorf("warnings %q, want %q", got, tc.wantWarn)
			}
			if got := len(api.Calls("DescribeTags")); got != tc.wantCalls {
				t.Errorf("tags are read %d times, want %d", got, tc.wantCalls)
			}
		})
	}
}

// Whoever may not bind a group learns nothing of it. A name that is to be generated may be any.
func TestBindingDefaulterTellsNothingWithoutConsent(t *testing.T) {
	named := func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupName = "web" }
	for tag, want := range map[string][]string{
		"prod/till":     {"spec.targetGroupName: Forbidden: the target group's tag targetgate.dev/bind does not name this binding: its owner can add prod/shop to it, after a space"},
		"prod/shop/web": nil,
	} {
		facts, _, api := testFacts(elbv2types.TargetTypeEnumIp)
		facts.policy = consent.Policy{Mode: consent.Require, Cluster: "prod"}
		api.SetTags(webhooktest.ARN, map[string]string{consent.TagKey: tag})
		binding := bare(named)
		binding.Namespace = "shop"
		err := (&defaulter{facts: facts}).fill(t.Context(), creation(binding))
		if diff := cmp.Diff(want, faultsIn(t, err)); diff != "" {
			t.Errorf("faults with tag %s (-want +got):\n%s", tag, diff)
		}
		if filled := binding.Spec.VpcID != ""; filled != (want == nil) {
			t.Errorf("with tag %s the spec is %+v", tag, binding.Spec)
		}
	}
}

// A role that is not allowed is never used, not even to find out about the group.
func TestBindingWebhooksRefuseForbiddenRole(t *testing.T) {
	const want = "spec.iamRoleArnToAssume: Forbidden: role " + testRole + " may not be assumed for bindings of namespace shop: --role-allowlist allows them none"
	forbid := func(t *testing.T) (*validator, *fakeelbv2.API) {
		validator, api := newValidator(t, webService())
		validator.facts.policy = consent.Policy{Roles: allow(t, "till: ['arn:aws:iam::*:role/*']")}
		return validator, api
	}
	update := func(old, binding *v1beta1.TargetGroupBinding) func(context.Context, *validator) (admission.Warnings, error) {
		return func(ctx context.Context, v *validator) (admission.Warnings, error) {
			return v.update(ctx, changed(old, binding))
		}
	}
	tests := map[string]struct {
		do       func(context.Context, *validator) (admission.Warnings, error)
		want     []string
		wantWarn admission.Warnings
	}{
		"at creation": {do: func(ctx context.Context, v *validator) (admission.Warnings, error) {
			return v.create(ctx, creation(webhooktest.NewBinding("web", withRole(testRole))))
		}, want: []string{want}},
		"before creation": {do: func(ctx context.Context, v *validator) (admission.Warnings, error) {
			binding := bare(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupName, s.IamRoleArnToAssume = "web", testRole })
			binding.Namespace = "shop"
			return nil, (&defaulter{facts: v.facts}).fill(ctx, creation(binding))
		}, want: []string{want}},
		"set by an update": {do: update(webhooktest.NewBinding("web"), webhooktest.NewBinding("web", withRole(testRole))), want: []string{want}},
		"there before":     {do: update(webhooktest.NewBinding("web", withRole(testRole)), webhooktest.NewBinding("web", withRole(testRole), shared)), wantWarn: admission.Warnings{"existing problem, not rejected: " + want}},
		"taken away":       {do: update(webhooktest.NewBinding("web", withRole(testRole)), webhooktest.NewBinding("web"))},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			validator, api := forbid(t)
			warnings, err := tc.do(t.Context(), validator)
			if diff := cmp.Diff(tc.want, faultsIn(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantWarn, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if calls := api.Calls(""); len(calls) > 0 && name != "taken away" {
				t.Errorf("AWS calls %v, want none", calls)
			}
		})
	}
}

func TestBindingValidatorAdmitsAllowedRole(t *testing.T) {
	validator, _ := newValidator(t, webService())
	validator.facts.policy = consent.Policy{Roles: allow(t, "shop: ['arn:aws:iam::210987654321:role/sh*']")}
	if _, err := validator.create(t.Context(), creation(webhooktest.NewBinding("web", withRole(testRole)))); err != nil {
		t.Error(err)
	}
}

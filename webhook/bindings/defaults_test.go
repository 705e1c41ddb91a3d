// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// bare is what a user writes: a group and a Service.
func bare(change func(*v1beta1.TargetGroupBindingSpec)) *v1beta1.TargetGroupBinding {
	b := &v1beta1.TargetGroupBinding{Spec: v1beta1.TargetGroupBindingSpec{
		ServiceRef: v1beta1.ServiceReference{Name: "web", Port: intstr.FromInt32(80)},
	}}
	change(&b.Spec)
	return b
}

func TestBindingDefaulterFillsInFromTargetGroup(t *testing.T) {
	complete := webhooktest.NewBinding("").Spec
	byName := complete
	byName.TargetGroupName = "web"
	tests := map[string]struct {
		binding   *v1beta1.TargetGroupBinding
		want      v1beta1.TargetGroupBindingSpec
		wantCalls int
	}{
		"from the ARN":             {binding: bare(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupARN = webhooktest.ARN }), want: complete, wantCalls: 1},
		"from the name":            {binding: bare(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupName = "web" }), want: byName, wantCalls: 1},
		"a complete spec is free":  {binding: webhooktest.NewBinding(""), want: complete},
		"neither is left as it is": {binding: bare(func(*v1beta1.TargetGroupBindingSpec) {}), want: bare(func(*v1beta1.TargetGroupBindingSpec) {}).Spec},
		"what the user wrote stays": {
			binding: webhooktest.NewBinding("", func(b *v1beta1.TargetGroupBinding) {
				b.Spec.TargetType, b.Spec.VpcID = nil, "vpc-11111111"
			}),
			want: webhooktest.NewBinding("", func(b *v1beta1.TargetGroupBinding) { b.Spec.VpcID = "vpc-11111111" }).Spec, wantCalls: 1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			facts, _, api := testFacts(elbv2types.TargetTypeEnumIp)
			err := (&defaulter{facts: facts}).fill(t.Context(), creation(tc.binding))
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(tc.want, tc.binding.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if calls := len(api.Calls("")); calls != tc.wantCalls {
				t.Errorf("%d AWS calls, want %d", calls, tc.wantCalls)
			}
		})
	}
}

func TestBindingDefaulterAssumesRole(t *testing.T) {
	facts, clients, _ := testFacts(elbv2types.TargetTypeEnumIp)
	binding := bare(func(s *v1beta1.TargetGroupBindingSpec) {
		s.TargetGroupName, s.IamRoleArnToAssume, s.AssumeRoleExternalId = "web", "arn:aws:iam::210987654321:role/shared", "handshake"
	})
	if err := (&defaulter{facts: facts}).fill(t.Context(), creation(binding)); err != nil {
		t.Fatal(err)
	}
	want := []accounts.Role{{
		ARN: "arn:aws:iam::210987654321:role/shared", ExternalID: "handshake", Namespace: binding.Namespace, Binding: binding.Name,
	}}
	if diff := gocmp.Diff(want, clients.roles); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
}

func TestBindingDefaulterRefuses(t *testing.T) {
	byName := func(name string, change ...func(*v1beta1.TargetGroupBindingSpec)) *v1beta1.TargetGroupBinding {
		return bare(func(s *v1beta1.TargetGroupBindingSpec) {
			s.TargetGroupName = name
			for _, c := range change {
				c(s)
			}
		})
	}
	const other = "arn:aws:iam::210987654321:role/shared"
	denied := &smithy.GenericAPIError{Code: "AccessDenied", Message: "not you"}
	tests := map[string]struct {
		targetType elbv2types.TargetTypeEnum
		binding    *v1beta1.TargetGroupBinding
		awsError   error
		want       []string
		wantError  string // that is no refusal
	}{
		"no such group, and what else is wrong": {
			binding: byName("wbe", func(s *v1beta1.TargetGroupBindingSpec) { s.VpcID = "vpc-1" }),
			want: []string{
				`spec.vpcID: Invalid value: "vpc-1": must be vpc- followed by 8, 17 or 32 characters 0-9 or a-f`,
				`spec.targetGroupName: Not found: "wbe": TargetGroupNotFound: Target groups 'wbe' not found`,
			},
		},
		"lambda": {
			targetType: elbv2types.TargetTypeEnumLambda, binding: byName("web"),
			want: []string{`spec.targetGroupName: Invalid value: "web": the target group has target type "lambda", which cannot be bound: only instance and ip can`},
		},
		"role that may not describe": {
			binding:  byName("web", func(s *v1beta1.TargetGroupBindingSpec) { s.IamRoleArnToAssume = other }),
			awsError: denied, wantError: "AccessDenied: not you",
		},
		"AWS in trouble": {binding: byName("web"), awsError: errors.New("no route"), wantError: "describing target group web: no route"},
		"malformed, which the CRD refuses, with the validator's other faults": {
			binding: bare(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupARN = "arn:aws:web" }),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			facts, _, api := testFacts(cmp.Or(tc.targetType, elbv2types.TargetTypeEnumIp))
			api.Before = func(context.Context, fakeelbv2.Call) error { return tc.awsError }
			err := (&defaulter{facts: facts}).fill(t.Context(), creation(tc.binding))
			if tc.wantError != "" {
				if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), tc.wantError) {
					t.Errorf("error %v, want an internal one that says %q", err, tc.wantError)
				}
				return
			}
			if diff := gocmp.Diff(tc.want, faultsIn(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// refusingRoles are clients whose roles cannot be assumed.
func refusingRoles(t *testing.T, code, message string) *elbv2.Clients {
	t.Helper()
	sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, "<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>", code, message)
	}))
	t.Cleanup(sts.Close)
	config := aws.Config{Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("key", "secret", "")}
	return elbv2.NewClients(accounts.New(config, accounts.Settings{Endpoints: map[string]string{"STS": sts.URL}}))
}

// What is wrong with the role is told with the role, in AWS's words, but without the external ID, which STS repeats.
func TestBindingDefaulterNamesRoleThatCannotBeAssumed(t *testing.T) {
	const role, externalID = "arn:aws:iam::210987654321:role/shared", "hand-shake"
	tests := map[string]struct {
		code, message string
		want          []string
		wantError     string // that is no refusal
	}{
		"not ours": {
			code: "AccessDenied", message: "not you",
			want: []string{`spec.iamRoleArnToAssume: Invalid value: "` + role + `": assuming role ` + role + `: AccessDenied: not you: its trust policy ` +
				`does not allow targetgate, or targetgate's own IAM role may not assume it`},
		},
		"malformed": {
			code: "ValidationError", message: "Value 'hand-shake' at 'externalId' failed to satisfy constraint",
			want: []string{`spec.iamRoleArnToAssume: Invalid value: "` + role + `": assuming role ` + role +
				`: ValidationError: Value '(external ID)' at 'externalId' failed to satisfy constraint`},
		},
		"our own credentials are too old": {code: "ExpiredToken", message: "hand-shake", wantError: "api error ExpiredToken: (external ID)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			defaulter := &defaulter{facts: newFacts(refusingRoles(t, tc.code, tc.message), clock.RealClock{})}
			err := defaulter.fill(t.Context(), creation(bare(func(s *v1beta1.TargetGroupBindingSpec) {
				s.TargetGroupName, s.IamRoleArnToAssume, s.AssumeRoleExternalId = "web", role, externalID
			})))
			if err == nil || strings.Contains(err.Error(), externalID) {
				t.Fatalf("error %v, want one without the external ID", err)
			}
			if tc.wantError != "" {
				if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), tc.wantError) {
					t.Errorf("error %v, want an internal one that says %q", err, tc.wantError)
				}
				return
			}
			if diff := gocmp.Diff(tc.want, faultsIn(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBindingDefaulterLeavesUpdatesAlone(t *testing.T) {
	facts, _, api := testFacts(elbv2types.TargetTypeEnumIp)
	binding := bare(func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupARN = webhooktest.ARN })
	if err := (&defaulter{facts: facts}).fill(t.Context(), changed(binding, binding)); err != nil {
		t.Fatal(err)
	}
	if binding.Spec.TargetType != nil || len(api.Calls("")) != 0 {
		t.Errorf("an update was filled in: %+v", binding.Spec)
	}
}

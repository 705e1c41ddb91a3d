// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

const ownVPCID = "vpc-0123456789abcdef0"

// newValidator is of a replica whose caches hold objects, and of an AWS that knows the target group "web" of type ip.
func newValidator(t testing.TB, objects ...client.Object) (*validator, *fakeelbv2.API) {
	t.Helper()
	facts, _, api := testFacts(elbv2types.TargetTypeEnumIp)
	return &validator{
		reader: webhooktest.NewReader(t, objects...), ownVPC: func(context.Context) (string, error) { return ownVPCID, nil },
		facts: facts, claims: newClaims(clock.RealClock{}),
	}, api
}

type change = func(*v1beta1.TargetGroupBinding)

func elsewhere(b *v1beta1.TargetGroupBinding) { b.Namespace = "other" }
func instance(b *v1beta1.TargetGroupBinding)  { b.Spec.TargetType = ptr.To(v1beta1.TargetTypeInstance) }
func shared(b *v1beta1.TargetGroupBinding)    { b.Spec.MultiClusterTargetGroup = true }
func noType(b *v1beta1.TargetGroupBinding)    { b.Spec.TargetType = nil }
func selecting(b *v1beta1.TargetGroupBinding) { b.Spec.NodeSelector = &metav1.LabelSelector{} }

func speaking(protocol v1beta1.Protocol) change {
	return func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupProtocol = &protocol }
}

func leaving(b *v1beta1.TargetGroupBinding) {
	b.DeletionTimestamp, b.Finalizers = ptr.To(metav1.Now()), []string{v1beta1.Finalizer}
}

func toService(name string) change {
	return func(b *v1beta1.TargetGroupBinding) { b.Spec.ServiceRef.Name = name }
}

func inVPC(id string) change { return func(b *v1beta1.TargetGroupBinding) { b.Spec.VpcID = id } }

func ofFamily(family *v1beta1.IPAddressType) change {
	return func(b *v1beta1.TargetGroupBinding) { b.Spec.IPAddressType = family }
}

const (
	wantTakenByFirst = `spec.targetGroupARN: Invalid value: "` + webhooktest.ARN + `": TargetGroupBinding other/first has this target group already`
	missing          = `TargetGroupNotFound: Target groups '` + webhooktest.ARN + `0' not found`
	noSuchGroup      = `spec.targetGroupARN: Not found: "` + webhooktest.ARN + `0": ` + missing
	wantSelectorOff  = "spec.nodeSelector: Forbidden: is for targetType instance only"
	wantTypeSet      = "spec.targetType: Required value: set instance or ip: it is filled in from the target group only at creation"
)

func TestBindingValidatorOnCreate(t *testing.T) {
	tests := map[string]struct {
		others  []client.Object
		binding *v1beta1.TargetGroupBinding
		want    []string
	}{
		"good": {binding: webhooktest.NewBinding("web")},
		"every fault at once": {
			others: []client.Object{webhooktest.NewBinding("first", elsewhere)},
			binding: webhooktest.NewBinding("web", instance, shared, speaking("QUIC"), inVPC("vpc-11111111"), func(b *v1beta1.TargetGroupBinding) {
				b.Spec.TargetGroupName = "api"
			}),
			want: []string{
				`spec.targetGroupName: Invalid value: "api": targetGroupARN is the ARN of web: remove one of the two fields`,
				`spec.targetGroupProtocol: Invalid value: "QUIC": is for targetType ip only`,
				wantTakenByFirst,
				`spec.targetType: Invalid value: "instance": the target group has target type "ip"`,
				`spec.vpcID: Invalid value: "vpc-11111111": the target group has VPC "vpc-0123456789abcdef0"`,
				`spec.targetGroupProtocol: Invalid value: "QUIC": the target group has protocol "HTTP"`,
			},
		},
		"nothing was filled in": {
			binding: webhooktest.NewBinding("web", noType, func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupARN = "" }),
			want:    []string{"spec.targetGroupARN: Required value: set targetGroupARN or targetGroupName", wantTypeSet},
		},
		"no such group": {
			binding: webhooktest.NewBinding("web", selecting, func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupARN += "0" }),
			want: []string{
				wantSelectorOff,
				noSuchGroup,
			},
		},
		"group taken in another namespace": {
			others: []client.Object{webhooktest.NewBinding("first", elsewhere)}, binding: webhooktest.NewBinding("web"), want: []string{wantTakenByFirst},
		},
		"group shared by all":      {others: []client.Object{webhooktest.NewBinding("first", elsewhere, shared)}, binding: webhooktest.NewBinding("web", shared)},
		"group shared by one only": {others: []client.Object{webhooktest.NewBinding("first", elsewhere)}, binding: webhooktest.NewBinding("web", shared), want: []string{wantTakenByFirst}},
		"group of a binding that is being deleted": {
			others: []client.Object{webhooktest.NewBinding("first", elsewhere, leaving)}, binding: webhooktest.NewBinding("web"),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			validator, _ := newValidator(t, tc.others...)
			_, err := validator.create(t.Context(), creation(tc.binding))
			if diff := cmp.Diff(tc.want, faultsIn(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// from is one rule for each range of addresses.
func from(ranges ...string) change {
	return func(b *v1beta1.TargetGroupBinding) {
		b.Spec.Networking = &v1beta1.TargetGroupBindingNetworking{}
		for _, cidr := range ranges {
			b.Spec.Networking.Ingress = append(b.Spec.Networking.Ingress, v1beta1.NetworkingIngressRule{
				From: []v1beta1.NetworkingPeer{{IPBlock: &v1beta1.IPBlock{CIDR: cidr}}},
			})
		}
	}
}

// toRules asks for 4 rules for each of the peers.
func toRules(peers int) change {
	return func(b *v1beta1.TargetGroupBinding) { b.Spec.Networking = asking(peers, 4) }
}

func badCIDR(rule int, cidr string) string {
	return fmt.Sprintf("spec.networking.ingress[%d].from[0].ipBlock.cidr: Invalid value: %q: "+
		"must be a CIDR block, such as 192.168.1.0/24 or 2001:db8::/64", rule, cidr)
}

func fixed(name, was, is string) string {
	if is == "" {
		return "spec." + name + `: Required value: was "` + was + `", and cannot be taken away`
	}
	return "spec." + name + `: Invalid value: "` + is + `": cannot be changed in place, and was "` + was + `": delete and re-create the binding`
}

func TestBindingValidatorOnUpdate(t *testing.T) {
	ipv4, ipv6 := ptr.To(v1beta1.IPAddressTypeIPv4), ptr.To(v1beta1.IPAddressTypeIPv6)
	first := webhooktest.NewBinding("first", elsewhere)
	tests := map[string]struct {
		old, new []change
		others   []client.Object
		want     []string
	}{
		"Service may change":                     {new: []change{toService("api")}},
		"ARN":                                    {new: []change{func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupARN += "0" }}, want: []string{fixed("targetGroupARN", webhooktest.ARN, webhooktest.ARN+"0") + "; AWS does not have the new one: " + missing}},
		"target type set later":                  {old: []change{noType}, want: []string{fixed("targetType", "", "ip")}},
		"target type unset":                      {new: []change{noType}, want: []string{wantTypeSet}},
		"address type unset":                     {new: []change{ofFamily(nil)}, want: []string{fixed("ipAddressType", "ipv4", "")}},
		"unset address type written out as ipv4": {old: []change{ofFamily(nil)}, new: []change{ofFamily(ipv4)}},
		"unset address type written out as ipv6": {old: []change{ofFamily(nil)}, new: []change{ofFamily(ipv6)}, want: []string{
			`spec.ipAddressType: Invalid value: "ipv6": the target group has address type "ipv4"`, fixed("ipAddressType", "", "ipv6"),
		}},
		"VPC unset":                        {new: []change{inVPC("")}, want: []string{fixed("vpcID", ownVPCID, "")}},
		"unset VPC written out as the own": {old: []change{inVPC("")}},
		"unset VPC written out as another": {old: []change{inVPC("")}, new: []change{inVPC("vpc-11111111")}, want: []string{
			`spec.vpcID: Invalid value: "vpc-11111111": the target group has VPC "vpc-0123456789abcdef0"`,
			`spec.vpcID: Unsupported value: "vpc-11111111": supported values: "vpc-0123456789abcdef0"`,
		}},
		"several at once": {new: []change{inVPC("vpc-1"), selecting, speaking("TCP")}, want: []string{
			`spec.vpcID: Invalid value: "vpc-1": must be vpc- followed by 8, 17 or 32 characters 0-9 or a-f`, wantSelectorOff,
			`spec.vpcID: Invalid value: "vpc-1": the target group has VPC "vpc-0123456789abcdef0"`,
			`spec.targetGroupProtocol: Invalid value: "TCP": the target group has protocol "HTTP"`,
			fixed("vpcID", ownVPCID, "vpc-1"),
		}},
		"protocol unset":                  {new: []change{func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupProtocol = nil }}},
		"metadata of a bad binding":       {old: []change{noType}, new: []change{noType, func(b *v1beta1.TargetGroupBinding) { b.Finalizers = nil }}},
		"another field of a bad binding":  {old: []change{noType, selecting, speaking("TCP")}, new: []change{noType, selecting, speaking("TCP"), toService("api")}},
		"a rule before a bad one":         {old: []change{from("bad")}, new: []change{from("192.0.2.0/24", "bad")}},
		"another bad rule":                {old: []change{from("bad")}, new: []change{from("worse", "bad")}, want: []string{badCIDR(0, "worse")}},
		"the same bad rule once more":     {old: []change{from("bad")}, new: []change{from("bad", "bad")}, want: []string{badCIDR(1, "bad")}},
		"a bad field, made worse":         {old: []change{speaking("TCP")}, new: []change{speaking("UDP")}, want: []string{`spec.targetGroupProtocol: Invalid value: "UDP": the target group has protocol "HTTP"`}},
		"as many rules as AWS has":        {old: []change{toRules(1)}, new: []change{toRules(250)}},
		"more rules than AWS has":         {old: []change{toRules(250)}, new: []change{toRules(251)}, want: []string{tooManyRules(1004).Error()}},
		"another field with too many":     {old: []change{toRules(251)}, new: []change{toRules(251), toService("api")}},
		"fewer of too many rules":         {old: []change{toRules(252)}, new: []change{toRules(251)}},
		"more of too many rules":          {old: []change{toRules(251)}, new: []change{toRules(252)}, want: []string{tooManyRules(1008).Error()}},
		"another field of a second one":   {others: []client.Object{first}, new: []change{toService("api")}},
		"a second one that begins to":     {others: []client.Object{first}, new: []change{shared}},
		"a shared group claimed for one":  {others: []client.Object{webhooktest.NewBinding("first", elsewhere, shared)}, old: []change{shared}, want: []string{wantTakenByFirst}},
		"a group that is shared no more":  {old: []change{shared}},
		"of a group that is not ours now": {others: []client.Object{webhooktest.NewBinding("first", elsewhere, leaving)}, new: []change{toService("api")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			validator, _ := newValidator(t, append(tc.others, webhooktest.NewBinding("web", tc.old...))...)
			_, err := validator.update(t.Context(), changed(webhooktest.NewBinding("web", tc.old...), webhooktest.NewBinding("web", tc.new...)))
			if diff := cmp.Diff(tc.want, faultsIn(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// AWS is asked at creation, and for an update only if that sets what the target group knows better: its trouble is in the
// way of nothing else.
func TestBindingValidatorAsksAWSOnlyIfItMust(t *testing.T) {
	tests := map[string]struct {
		old, new  []change
		wantCalls int
	}{
		"another Service": {new: []change{toService("api")}},
		"protocol":        {new: []change{func(b *v1beta1.TargetGroupBinding) { b.Spec.TargetGroupProtocol = nil }}},
		"protocol set":    {old: []change{speaking("TCP")}, wantCalls: 1},
		"VPC set":         {old: []change{inVPC("")}, wantCalls: 1},
		"address type set": {
			old: []change{ofFamily(nil)}, new: []change{ofFamily(ptr.To(v1beta1.IPAddressTypeIPv4))}, wantCalls: 1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			validator, api := newValidator(t)
			calls := 0
			api.Before = func(context.Context, fakeelbv2.Call) error {
				calls++
				return &smithy.GenericAPIError{Code: "Throttling", Message: "Rate exceeded"}
			}
			_, err := validator.update(t.Context(), changed(webhooktest.NewBinding("web", tc.old...), webhooktest.NewBinding("web", tc.new...)))
			if calls != tc.wantCalls {
				t.Errorf("%d AWS calls, want %d", calls, tc.wantCalls)
			}
			if (err != nil) != (tc.wantCalls > 0) || err != nil && !apierrors.IsInternalError(err) {
				t.Errorf("error %v, want an internal one only after a call", err)
			}
		})
	}
}

func TestBindingValidatorTroubleIsInternalError(t *testing.T) {
	tests := map[string]struct {
		awsError, vpcError error
		old                *v1beta1.TargetGroupBinding // nil at creation
		want               string
	}{
		"AWS, at creation": {
			awsError: &smithy.GenericAPIError{Code: "Throttling", Message: "Rate exceeded"},
			want:     "describing target group " + webhooktest.ARN + ": api error Throttling: Rate exceeded",
		},
		"metadata service": {
			vpcError: errors.New("no route"), old: webhooktest.NewBinding("web", inVPC("")), want: "finding the cluster's VPC: no route",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			validator, api := newValidator(t)
			api.Before = func(context.Context, fakeelbv2.Call) error { return tc.awsError }
			validator.ownVPC = func(context.Context) (string, error) { return ownVPCID, tc.vpcError }
			validate := func(binding *v1beta1.TargetGroupBinding) (err error) {
				if tc.old == nil {
					_, err = validator.create(t.Context(), creation(binding))
				} else {
					_, err = validator.update(t.Context(), changed(tc.old, binding))
				}
				return err
			}
			if err := validate(webhooktest.NewBinding("web")); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want an internal one that says %q", err, tc.want)
			}
			if diff := cmp.Diff([]string{wantSelectorOff}, faultsIn(t, validate(webhooktest.NewBinding("web", selecting)))); diff != "" {
				t.Errorf("faults, which the user can mend meanwhile (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContradictions(t *testing.T) {
	path := func(of string) *field.Path { return field.NewPath("spec").Child(of) }
	ip := elbv2.TargetGroup{TargetType: "ip", IPAddressType: "ipv4", VpcID: ownVPCID, Protocol: "HTTP"}
	ipv6, alb := ip, ip
	ipv6.IPAddressType, alb.TargetType = "ipv6", "alb"
	tests := map[string]struct {
		group   elbv2.TargetGroup
		binding *v1beta1.TargetGroupBinding
		want    field.ErrorList
	}{
		"none":          {group: ip, binding: webhooktest.NewBinding("web")},
		"unset is fine": {group: ip, binding: webhooktest.NewBinding("web", noType, inVPC(""), ofFamily(nil))},
		"unset address type of an IPv6 group": {
			group: ipv6, binding: webhooktest.NewBinding("web", ofFamily(nil)),
			want: field.ErrorList{field.Required(path("ipAddressType"), `the target group has address type "ipv6", and the default is ipv4`)},
		},
		"address type": {
			group: ipv6, binding: webhooktest.NewBinding("web"),
			want: field.ErrorList{field.Invalid(path("ipAddressType"), "ipv4", `the target group has address type "ipv6"`)},
		},
		"target type that cannot be bound": {
			group: alb, binding: webhooktest.NewBinding("web", speaking("TCP")),
			want: field.ErrorList{field.Invalid(path("targetGroupARN"), webhooktest.ARN,
				`the target group has target type "alb", which cannot be bound: only instance and ip can`)},
		},
		"target type, VPC and protocol": {
			group: ip, binding: webhooktest.NewBinding("web", instance, inVPC("vpc-11111111"), speaking("TCP")),
			want: field.ErrorList{
				field.Invalid(path("targetType"), "instance", `the target group has target type "ip"`),
				field.Invalid(path("vpcID"), "vpc-11111111", `the target group has VPC "vpc-0123456789abcdef0"`),
				field.Invalid(path("targetGroupProtocol"), "TCP", `the target group has protocol "HTTP"`),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, contradictions(&tc.binding.Spec, &tc.group)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// Defaulter and validator share what they know, and resolve a name anew each time: its group may be another one by then.
func TestBindingCreationCostsOneDescription(t *testing.T) {
	validator, api := newValidator(t)
	defaulter := &defaulter{facts: validator.facts}
	create := func(change func(*v1beta1.TargetGroupBindingSpec)) {
		t.Helper()
		req := creation(bare(change))
		if err := defaulter.fill(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if _, err := validator.create(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	byName := func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupName = "web" }
	byARN := func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupARN = webhooktest.ARN }
	for i, step := range []struct {
		change    func(*v1beta1.TargetGroupBindingSpec)
		wantCalls int // so far
	}{{byName, 2}, {byARN, 2}, {byName, 3}, {byARN, 3}} { // one is for the tags
		create(step.change)
		if n := len(api.Calls("")); n != step.wantCalls {
			t.Errorf("%d calls after creation %d, want %d", n, i+1, step.wantCalls)
		}
	}
}

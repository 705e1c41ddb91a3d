// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

func networking(from []v1beta1.NetworkingPeer, ports ...v1beta1.NetworkingPort) *v1beta1.TargetGroupBindingNetworking {
	return &v1beta1.TargetGroupBindingNetworking{Ingress: []v1beta1.NetworkingIngressRule{{From: from, Ports: ports}}}
}

// asking is one rule with as many peers and ports.
func asking(peers, ports int) *v1beta1.TargetGroupBindingNetworking {
	from := slices.Repeat([]v1beta1.NetworkingPeer{{IPBlock: &v1beta1.IPBlock{CIDR: "192.0.2.0/24"}}}, peers)
	return networking(from, make([]v1beta1.NetworkingPort, ports)...)
}

func tooManyRules(n int) *field.Error {
	return &field.Error{Type: field.ErrorTypeTooMany, Field: "spec.networking.ingress", BadValue: n,
		Detail: "AWS has at most 1000 rules, each for one peer and one port, at a network interface: name fewer peers or ports"}
}

func TestSpecFaults(t *testing.T) {
	path := func(of string) *field.Path { return field.NewPath("spec").Child(of) }
	from := field.NewPath("spec", "networking", "ingress").Index(0).Child("from")
	port := field.NewPath("spec", "networking", "ingress").Index(0).Child("ports").Index(1).Child("port")
	block := func(cidr string) v1beta1.NetworkingPeer {
		return v1beta1.NetworkingPeer{IPBlock: &v1beta1.IPBlock{CIDR: cidr}}
	}
	group := v1beta1.NetworkingPeer{SecurityGroup: &v1beta1.SecurityGroup{GroupID: "sg-0123456789abcdef0"}}
	both := v1beta1.NetworkingPeer{IPBlock: &v1beta1.IPBlock{CIDR: "nonsense"}, SecurityGroup: group.SecurityGroup}
	ports := []v1beta1.NetworkingPort{{Port: ptr.To(intstr.FromInt32(80))}, {Port: ptr.To(intstr.FromString("http"))}, {}}
	instance := ptr.To(v1beta1.TargetTypeInstance)
	const (
		wantGroupARN = "must be a target group's ARN: arn:aws:elasticloadbalancing:REGION:ACCOUNT:targetgroup/NAME/ID"
		wantRoleARN  = "must be a role's ARN: arn:aws:iam::ACCOUNT:role/NAME"
		wantCIDR     = "must be a CIDR block, such as 192.168.1.0/24 or 2001:db8::/64"
		wantPeer     = "set either ipBlock or securityGroup"
		wantVPC      = "must be vpc- followed by 8, 17 or 32 characters 0-9 or a-f"
	)
	tests := map[string]struct {
		change func(*v1beta1.TargetGroupBindingSpec)
		want   field.ErrorList
	}{
		"good":                 {change: func(*v1beta1.TargetGroupBindingSpec) {}},
		"nothing is filled in": {change: func(s *v1beta1.TargetGroupBindingSpec) { *s = v1beta1.TargetGroupBindingSpec{} }},
		"ARN in China": {change: func(s *v1beta1.TargetGroupBindingSpec) {
			s.TargetGroupARN = "arn:aws-cn:elasticloadbalancing:cn-north-1:123456789012:targetgroup/web-2/0123456789abcdef"
		}},
		"ARN of a load balancer": {
			change: func(s *v1beta1.TargetGroupBindingSpec) {
				s.TargetGroupARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/web/0123456789abcdef"
			},
			want: field.ErrorList{field.Invalid(path("targetGroupARN"),
				"arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/web/0123456789abcdef", wantGroupARN)},
		},
		"name and ARN that agree": {change: func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupName = "web" }},
		"name and ARN that disagree": {
			change: func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupName = "we" },
			want:   field.ErrorList{field.Invalid(path("targetGroupName"), "we", "targetGroupARN is the ARN of web: remove one of the two fields")},
		},
		"VPC": {
			change: func(s *v1beta1.TargetGroupBindingSpec) { s.VpcID = "vpc-0123456" },
			want:   field.ErrorList{field.Invalid(path("vpcID"), "vpc-0123456", wantVPC)},
		},
		"role": {change: func(s *v1beta1.TargetGroupBindingSpec) {
			s.IamRoleArnToAssume, s.AssumeRoleExternalId = "arn:aws-us-gov:iam::210987654321:role/path/to/shared_1", "12:/x"
		}},
		"user for a role, bad external ID": {
			change: func(s *v1beta1.TargetGroupBindingSpec) {
				s.IamRoleArnToAssume, s.AssumeRoleExternalId = "arn:aws:iam::210987654321:user/shared", "hand shake"
			},
			want: field.ErrorList{
				field.Invalid(path("iamRoleArnToAssume"), "arn:aws:iam::210987654321:user/shared", wantRoleARN),
				field.Invalid(path("assumeRoleExternalId"), field.OmitValueType{}, "must be 2 to 1224 characters: letters, digits or _+=,.@:/-"),
			},
		},
		"what is for ip only, all of it": {
			change: func(s *v1beta1.TargetGroupBindingSpec) {
				s.TargetType, s.TargetGroupProtocol = instance, ptr.To[v1beta1.Protocol]("QUIC")
				s.IamRoleArnToAssume = "arn:aws:iam::210987654321:role/shared"
				s.Networking = networking([]v1beta1.NetworkingPeer{group}, ports...)
			},
			want: field.ErrorList{
				field.Invalid(path("targetGroupProtocol"), v1beta1.Protocol("QUIC"), "is for targetType ip only"),
				field.Forbidden(path("iamRoleArnToAssume"), "is for targetType ip only"),
				field.Invalid(port, "http", "named ports are for targetType ip only: use the port number"),
			},
		},
		"as many rules as AWS has": {change: func(s *v1beta1.TargetGroupBindingSpec) { s.Networking = asking(250, 4) }},
		"more rules than AWS has": {
			change: func(s *v1beta1.TargetGroupBindingSpec) { s.Networking = asking(251, 4) },
			want:   field.ErrorList{tooManyRules(1004)},
		},
		"more rules than AWS has, without ports": {
			change: func(s *v1beta1.TargetGroupBindingSpec) { s.Networking = asking(1001, 0) },
			want:   field.ErrorList{tooManyRules(1001)},
		},
		"named port with ip": {change: func(s *v1beta1.TargetGroupBindingSpec) {
			s.Networking = networking([]v1beta1.NetworkingPeer{group}, ports...)
		}},
		"nodeSelector with ip": {
			change: func(s *v1beta1.TargetGroupBindingSpec) { s.NodeSelector = &metav1.LabelSelector{} },
			want:   field.ErrorList{field.Forbidden(path("nodeSelector"), "is for targetType instance only")},
		},
		"nodeSelector that selects nothing by mistake": {
			change: func(s *v1beta1.TargetGroupBindingSpec) {
				s.TargetType = instance
				s.NodeSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "pool", Operator: "Is"}}}
			},
			want: field.ErrorList{field.Invalid(path("nodeSelector").Child("matchExpressions").Index(0).Child("operator"),
				metav1.LabelSelectorOperator("Is"), "not a valid selector operator")},
		},
		"peers": {
			change: func(s *v1beta1.TargetGroupBindingSpec) {
				s.Networking = networking([]v1beta1.NetworkingPeer{
					block("10.0.0.0/8"), block("2001:db8::/64"), group, {}, both, block("10.0.0.0"), block("10.0.0.0/33"),
				})
			},
			want: field.ErrorList{
				field.Invalid(from.Index(3), field.OmitValueType{}, wantPeer),
				field.Invalid(from.Index(4), field.OmitValueType{}, wantPeer),
				field.Invalid(from.Index(5).Child("ipBlock", "cidr"), "10.0.0.0", wantCIDR),
				field.Invalid(from.Index(6).Child("ipBlock", "cidr"), "10.0.0.0/33", wantCIDR),
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			spec := webhooktest.NewBinding("web").Spec
			tc.change(&spec)
			got := specFaults(&spec)
			for _, fault := range got {
				fault.Origin = "" // who found it, which no user sees
			}
			if diff := cmp.Diff(tc.want, got, cmp.Transformer("emptyIsNil", nilIfEmpty)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func nilIfEmpty(list field.ErrorList) []*field.Error {
	if len(list) == 0 {
		return nil
	}
	return list
}

// The rules hold with us and without us, so they must be the same.
func TestCRDHasTheSamePatterns(t *testing.T) {
	crd, err := os.ReadFile("../../config/crd/elbv2.k8s.aws_targetgroupbindings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, pattern := range map[string]*regexp.Regexp{"targetGroupARN": groupARNPattern, "iamRoleArnToAssume": roleARNPattern, "vpcID": vpcPattern} {
		if !strings.Contains(string(crd), pattern.String()) {
			t.Errorf("the CRD has no pattern %s for %s", pattern, name)
		}
	}
}

func FuzzGroupARN(f *testing.F) {
	f.Add(webhooktest.ARN, "web")
	f.Add("arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123/4", "")
	f.Add("arn:aws-cn:elasticloadbalancing:cn-north-1:123456789012:targetgroup//0", "/")
	f.Fuzz(func(t *testing.T, text, name string) {
		found, wellFormed := groupName(text)
		spec := v1beta1.TargetGroupBindingSpec{TargetGroupARN: text, TargetGroupName: name}
		faults := specFaults(&spec)
		if agrees := name == "" || name == found; text != "" && (len(faults) == 0) != (wellFormed && agrees) {
			t.Errorf("faults %v of an ARN that is well-formed: %v, and a name that agrees: %v", faults, wellFormed, agrees)
		}
		if !wellFormed {
			return
		}
		parsed, err := arn.Parse(text)
		if err != nil || parsed.Service != "elasticloadbalancing" || !strings.HasPrefix(parsed.Resource, "targetgroup/"+found+"/") {
			t.Errorf("%q passes for a target group's ARN: %+v, %v", text, parsed, err)
		}
		// What the CRD's rule looks for.
		if !strings.Contains(text, "/"+found+"/") {
			t.Errorf("%q is not the name in %q", found, text)
		}
	})
}

func FuzzRoleARN(f *testing.F) {
	f.Add("arn:aws:iam::210987654321:role/shared", "handshake")
	f.Add("arn:aws:iam::210987654321:role/a/b/shared", "x")
	f.Add("arn:aws:iam::210987654321:role//", "äö")
	f.Fuzz(func(t *testing.T, role, externalID string) {
		spec := v1beta1.TargetGroupBindingSpec{IamRoleArnToAssume: role, AssumeRoleExternalId: externalID, TargetGroupARN: webhooktest.ARN}
		for _, fault := range specFaults(&spec) {
			if len(externalID) > 20 && !strings.Contains(role, externalID) && strings.Contains(fault.Error(), externalID) {
				t.Errorf("the external ID is shown: %v", fault)
			}
		}
		if !askable(&spec) || role == "" {
			return
		}
		parsed, err := arn.Parse(role)
		if err != nil || parsed.Service != "iam" || parsed.Region != "" || len(parsed.AccountID) != 12 || !strings.HasPrefix(parsed.Resource, "role/") {
			t.Errorf("%q passes for a role's ARN: %+v, %v", role, parsed, err)
		}
	})
}

func FuzzCIDR(f *testing.F) {
	for _, seed := range []string{"10.0.0.0/8", "2001:db8::/64", "::ffff:10.0.0.0/104", "fe80::1%eth0/64", "010.0.0.0/8", "10.0.0.1/+8"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cidr string) {
		faults := peerFaults(v1beta1.NetworkingPeer{IPBlock: &v1beta1.IPBlock{CIDR: cidr}}, field.NewPath("x"))
		prefix, err := netip.ParsePrefix(cidr)
		if (len(faults) == 0) != (err == nil) {
			t.Errorf("%q: faults %v, but it parses as %s, %v", cidr, faults, prefix, err)
		}
	})
}

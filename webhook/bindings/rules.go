// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"net"
	"regexp"
	"slices"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The rules of this file need only the spec. The CRD has them, too, except those of named ports, which the API server finds
// too costly, of the number of inbound rules, and of the external ID, whose value it would show. They are repeated here because
// the CRD may still be the incumbent's, which Helm does not replace, and to report them together with the faults that only we
// can find.

// The first three patterns are also in the CRD. AWS checks more of an ARN than it documents, so these reject only what cannot
// be right.
var (
	groupARNPattern   = regexp.MustCompile(`^arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:[0-9]{12}:targetgroup/[A-Za-z0-9-]+/[0-9a-f]+$`)
	roleARNPattern    = regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/([!-~]*/)?[A-Za-z0-9_+=,.@-]+$`)
	vpcPattern        = regexp.MustCompile(`^(vpc-([0-9a-f]{8}|[0-9a-f]{17}|[0-9a-f]{32}))?$`)
	externalIDPattern = regexp.MustCompile(`^[\w+=,.@:/-]{2,}$`) // as STS documents it
)

// longestExternalID is STS's.
const longestExternalID = 1224

var specPath = field.NewPath("spec")

// specFaults returns the faults of a spec by itself, except missing fields that may still be filled in.
func specFaults(spec *v1beta1.TargetGroupBindingSpec) field.ErrorList {
	return slices.Concat(groupFaults(spec), roleFaults(spec), selectorFaults(spec), networkingFaults(spec))
}

// notOfCRD are the fields of faults that the CRD does not find.
var notOfCRD = regexp.MustCompile(
	`^spec\.(targetType|assumeRoleExternalId|nodeSelector\..*|networking\.ingress|networking\.ingress\[\d+\]\.ports\[\d+\]\.port)$`)

// isOfCRD reports whether the CRD refuses what specFaults and required have found.
func isOfCRD(fault *field.Error) bool { return !notOfCRD.MatchString(fault.Field) }

// required returns the fields that are still missing after the defaulter.
func required(spec *v1beta1.TargetGroupBindingSpec) field.ErrorList {
	var faults field.ErrorList
	if spec.TargetGroupARN == "" {
		faults = append(faults, field.Required(specPath.Child("targetGroupARN"), "set targetGroupARN or targetGroupName"))
	}
	if spec.TargetType == nil {
		faults = append(faults, field.Required(specPath.Child("targetType"),
			"set instance or ip: it is filled in from the target group only at creation"))
	}
	return faults
}

func groupFaults(spec *v1beta1.TargetGroupBindingSpec) field.ErrorList {
	var faults field.ErrorList
	switch name, wellFormed := groupName(spec.TargetGroupARN); {
	case spec.TargetGroupARN == "":
	case !wellFormed:
		faults = append(faults, field.Invalid(specPath.Child("targetGroupARN"), spec.TargetGroupARN,
			"must be a target group's ARN: arn:aws:elasticloadbalancing:REGION:ACCOUNT:targetgroup/NAME/ID"))
	case spec.TargetGroupName != "" && spec.TargetGroupName != name:
		faults = append(faults, field.Invalid(specPath.Child("targetGroupName"), spec.TargetGroupName,
			"targetGroupARN is the ARN of "+name+": remove one of the two fields"))
	}
	if !vpcPattern.MatchString(spec.VpcID) {
		faults = append(faults, field.Invalid(specPath.Child("vpcID"), spec.VpcID, "must be vpc- followed by 8, 17 or 32 characters 0-9 or a-f"))
	}
	if protocol := ptr.Deref(spec.TargetGroupProtocol, ""); spec.IsInstance() && protocol.HasServerIDs() {
		faults = append(faults, field.Invalid(specPath.Child("targetGroupProtocol"), protocol, "is for targetType ip only"))
	}
	return faults
}

// groupName returns the name in a target group's ARN. wellFormed is false if it is not such an ARN.
func groupName(arn string) (name string, wellFormed bool) {
	if !groupARNPattern.MatchString(arn) {
		return "", false
	}
	return elbv2.GroupName(arn), true
}

// roleFaults never shows the external ID, because some treat it as a secret.
func roleFaults(spec *v1beta1.TargetGroupBindingSpec) field.ErrorList {
	var faults field.ErrorList
	path := specPath.Child("iamRoleArnToAssume")
	if role := spec.IamRoleArnToAssume; role != "" && !roleARNPattern.MatchString(role) {
		faults = append(faults, field.Invalid(path, role, "must be a role's ARN: arn:aws:iam::ACCOUNT:role/NAME"))
	}
	if spec.IamRoleArnToAssume != "" && spec.IsInstance() {
		faults = append(faults, field.Forbidden(path, "is for targetType ip only"))
	}
	if id := spec.AssumeRoleExternalId; id != "" && (!externalIDPattern.MatchString(id) || len(id) > longestExternalID) {
		faults = append(faults, field.Invalid(specPath.Child("assumeRoleExternalId"), field.OmitValueType{},
			"must be 2 to 1224 characters: letters, digits or _+=,.@:/-"))
	}
	return faults
}

func selectorFaults(spec *v1beta1.TargetGroupBindingSpec) field.ErrorList {
	path := specPath.Child("nodeSelector")
	if spec.NodeSelector != nil && spec.IsIP() {
		return field.ErrorList{field.Forbidden(path, "is for targetType instance only")}
	}
	return metav1validation.ValidateLabelSelector(spec.NodeSelector, metav1validation.LabelSelectorValidationOptions{}, path)
}

func networkingFaults(spec *v1beta1.TargetGroupBindingSpec) field.ErrorList {
	if spec.Networking == nil {
		return nil
	}
	var faults field.ErrorList
	ingress := specPath.Child("networking", "ingress")
	if n := v1beta1.NetworkingRules(spec.Networking); n > v1beta1.MaxNetworkingRules {
		fault := tooMany(ingress, networkingTooMany)
		fault.BadValue = n
		faults = append(faults, fault)
	}
	for i, rule := range spec.Networking.Ingress {
		path := ingress.Index(i)
		for j, peer := range rule.From {
			faults = append(faults, peerFaults(peer, path.Child("from").Index(j))...)
		}
		for j, port := range rule.Ports {
			if spec.IsInstance() && port.Port != nil && port.Port.Type == intstr.String {
				faults = append(faults, field.Invalid(path.Child("ports").Index(j).Child("port"), port.Port.StrVal,
					"named ports are for targetType ip only: use the port number"))
			}
		}
	}
	return faults
}

func peerFaults(peer v1beta1.NetworkingPeer, path *field.Path) field.ErrorList {
	if (peer.IPBlock != nil) == (peer.SecurityGroup != nil) {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "set either ipBlock or securityGroup")}
	}
	if peer.IPBlock == nil {
		return nil
	}
	if _, _, err := net.ParseCIDR(peer.IPBlock.CIDR); err != nil {
		return field.ErrorList{field.Invalid(path.Child("ipBlock", "cidr"), peer.IPBlock.CIDR,
			"must be a CIDR block, such as 192.168.1.0/24 or 2001:db8::/64")}
	}
	return nil
}

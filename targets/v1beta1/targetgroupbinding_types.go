// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TargetType is how a target group addresses its targets.
// +kubebuilder:validation:Enum=instance;ip
type TargetType string

// The target types a binding can have. Target groups of type lambda and alb cannot be bound.
const (
	// TargetTypeInstance registers nodes by instance ID and node port.
	TargetTypeInstance TargetType = "instance"
	// TargetTypeIP registers pods by address and container port.
	TargetTypeIP TargetType = "ip"
)

// IPAddressType is the one address family of a target group.
// +kubebuilder:validation:Enum=ipv4;ipv6
type IPAddressType string

// The address families of target groups.
const (
	IPAddressTypeIPv4 IPAddressType = "ipv4"
	IPAddressTypeIPv6 IPAddressType = "ipv6"
)

// Protocol is the protocol of a target group.
// +kubebuilder:validation:Enum=HTTP;HTTPS;TCP;TLS;UDP;TCP_UDP;QUIC;TCP_QUIC
type Protocol string

// HasServerIDs reports whether AWS wants a QUIC server ID with each target of a group of the protocol.
func (p Protocol) HasServerIDs() bool { return p == "QUIC" || p == "TCP_QUIC" }

// NetworkingProtocol is the protocol of an inbound rule.
// +kubebuilder:validation:Enum=TCP;UDP
type NetworkingProtocol string

// ServiceReference names one port of a Service in the binding's namespace.
type ServiceReference struct {
	// Name of the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Port matches the name or the number of a port of the Service.
	// +kubebuilder:validation:XValidation:rule="type(self) == int || size(self) <= 253",message="may not be more than 253 characters"
	Port intstr.IntOrString `json:"port"`
}

// IPBlock is a range of addresses.
type IPBlock struct {
	// CIDR in IPv4 or IPv6 notation, such as 192.168.1.0/24 or 2001:db8::/64.
	// +kubebuilder:validation:Format=cidr
	// +kubebuilder:validation:MaxLength=64
	CIDR string `json:"cidr"`
}

// SecurityGroup names a security group.
type SecurityGroup struct {
	// GroupID is the ID of the security group, such as sg-0123456789abcdef0.
	// +kubebuilder:validation:MaxLength=255
	GroupID string `json:"groupID"`
}

// NetworkingPeer is who may connect: exactly one of the two kinds.
//
// +kubebuilder:validation:XValidation:rule="has(self.ipBlock) != has(self.securityGroup)",message="set either ipBlock or securityGroup"
type NetworkingPeer struct {
	// IPBlock admits a range of addresses.
	// +optional
	IPBlock *IPBlock `json:"ipBlock,omitempty"`
	// SecurityGroup admits the members of a security group.
	// +optional
	SecurityGroup *SecurityGroup `json:"securityGroup,omitempty"`
}

// NetworkingPort is one port of an inbound rule.
type NetworkingPort struct {
	// Protocol of the rule; TCP when unset.
	// +optional
	Protocol *NetworkingProtocol `json:"protocol,omitempty"`
	// Port to admit: a number, or with targetType ip the name of a container port. All ports when unset.
	// +optional
	Port *intstr.IntOrString `json:"port,omitempty"`
}

// NetworkingIngressRule admits peers to ports.
type NetworkingIngressRule struct {
	// From lists who may connect.
	// +kubebuilder:validation:MaxItems=1000
	From []NetworkingPeer `json:"from"`
	// Ports lists where to; an empty list admits all TCP ports.
	// +kubebuilder:validation:MaxItems=250
	Ports []NetworkingPort `json:"ports"`
}

// TargetGroupBindingNetworking holds inbound rules for the security groups of the targets.
type TargetGroupBindingNetworking struct {
	// Ingress lists the inbound rules. AWS has at most 1,000 of them, each for one peer and one port, at a network interface.
	// +kubebuilder:validation:MaxItems=250
	// +optional
	Ingress []NetworkingIngressRule `json:"ingress,omitempty"`
}

// TargetGroupBindingSpec says which target group serves which Service port.
//
// +kubebuilder:validation:XValidation:rule=`self.?targetGroupARN.orValue("") != "" || self.?targetGroupName.orValue("") != ""`,message="one of targetGroupARN and targetGroupName must be set"
// +kubebuilder:validation:XValidation:rule=`has(self.targetGroupARN) == has(oldSelf.targetGroupARN) && (!has(self.targetGroupARN) || self.targetGroupARN == oldSelf.targetGroupARN)`,message="targetGroupARN is immutable",fieldPath=".targetGroupARN"
// +kubebuilder:validation:XValidation:rule=`has(self.targetType) == has(oldSelf.targetType) && (!has(self.targetType) || self.targetType == oldSelf.targetType)`,message="targetType is immutable",fieldPath=".targetType"
// +kubebuilder:validation:XValidation:rule=`(has(self.ipAddressType) ? self.ipAddressType : "ipv4") == (has(oldSelf.ipAddressType) ? oldSelf.ipAddressType : "ipv4")`,message="ipAddressType is immutable",fieldPath=".ipAddressType"
// +kubebuilder:validation:XValidation:rule=`!has(oldSelf.vpcID) || oldSelf.vpcID == "" || has(self.vpcID) && self.vpcID == oldSelf.vpcID`,message="vpcID is immutable",fieldPath=".vpcID"
// +kubebuilder:validation:XValidation:rule=`self.?targetType.orValue("") != 'ip' || !has(self.nodeSelector) || oldSelf.?nodeSelector.hasValue()`,message="nodeSelector is for targetType instance only",fieldPath=".nodeSelector",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule=`self.?targetType.orValue("") != 'instance' || self.?iamRoleArnToAssume.orValue("") == "" || oldSelf.?iamRoleArnToAssume.orValue("") != ""`,message="iamRoleArnToAssume is for targetType ip only",fieldPath=".iamRoleArnToAssume",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule=`self.?targetType.orValue("") != 'instance' || !(self.?targetGroupProtocol.orValue("") in ['QUIC', 'TCP_QUIC']) || oldSelf.?targetGroupProtocol.orValue("") in ['QUIC', 'TCP_QUIC']`,message="protocols QUIC and TCP_QUIC are for targetType ip only",fieldPath=".targetGroupProtocol",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule=`self.?targetGroupARN.orValue("") == "" || self.?targetGroupName.orValue("") == "" || self.targetGroupARN.contains("/" + self.targetGroupName + "/") || oldSelf.?targetGroupName.orValue("") == self.targetGroupName`,message="targetGroupName is not the name in targetGroupARN",fieldPath=".targetGroupName",optionalOldSelf=true
type TargetGroupBindingSpec struct {
	// TargetGroupARN is the target group. One of targetGroupARN and targetGroupName is required; the ARN wins and is
	// filled in from the name at creation. Immutable.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches(r'^arn:aws[a-z-]*:elasticloadbalancing:[a-z0-9-]+:[0-9]{12}:targetgroup/[A-Za-z0-9-]+/[0-9a-f]+$')`,message="must be a target group's ARN: arn:aws:elasticloadbalancing:REGION:ACCOUNT:targetgroup/NAME/ID"
	// +optional
	TargetGroupARN string `json:"targetGroupARN,omitempty"`

	// TargetGroupName is looked up once, at creation.
	// +kubebuilder:validation:MaxLength=32
	// +optional
	TargetGroupName string `json:"targetGroupName,omitempty"`

	// MultiClusterTargetGroup is true when several clusters share the target group: only targets registered for this
	// binding are ever deregistered.
	// +optional
	MultiClusterTargetGroup bool `json:"multiClusterTargetGroup,omitempty"`

	// TargetType is filled in from the target group at creation. Immutable.
	// +optional
	TargetType *TargetType `json:"targetType,omitempty"`

	// TargetGroupProtocol is filled in from the target group at creation.
	// +optional
	TargetGroupProtocol *Protocol `json:"targetGroupProtocol,omitempty"`

	// ServiceRef is the Service port whose endpoints become targets.
	ServiceRef ServiceReference `json:"serviceRef"`

	// Networking holds inbound rules that let the load balancer reach the targets.
	// +optional
	Networking *TargetGroupBindingNetworking `json:"networking,omitempty"`

	// NodeSelector limits which nodes become targets. For targetType instance only. It takes at most 32 labels and
	// expressions together, and 64 values in each expression.
	// +kubebuilder:validation:XValidation:rule=`(has(self.matchLabels) ? size(self.matchLabels) : 0) + (has(self.matchExpressions) ? size(self.matchExpressions) : 0) <= 32`,message="takes at most 32 labels and expressions together"
	// +optional
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`

	// IPAddressType is filled in from the target group at creation. Immutable, but ipv4 may be written out later.
	// +optional
	IPAddressType *IPAddressType `json:"ipAddressType,omitempty"`

	// VpcID is filled in from the target group at creation. Immutable, but the controller's own VPC may be written
	// out later.
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^(vpc-([0-9a-f]{8}|[0-9a-f]{17}|[0-9a-f]{32}))?$`
	// +optional
	VpcID string `json:"vpcID,omitempty"`

	// IamRoleArnToAssume is the role for ELBv2 calls when the target group is in another account. For targetType ip
	// only.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule=`self == "" || self.matches(r'^arn:aws[a-z-]*:iam::[0-9]{12}:role/([!-~]*/)?[A-Za-z0-9_+=,.@-]+$')`,message="must be a role's ARN: arn:aws:iam::ACCOUNT:role/NAME"
	// +optional
	IamRoleArnToAssume string `json:"iamRoleArnToAssume,omitempty"`

	// AssumeRoleExternalId is the external ID that the role asks for.
	// +kubebuilder:validation:MaxLength=1224
	// +optional
	AssumeRoleExternalId string `json:"assumeRoleExternalId,omitempty"` //nolint:revive // the name is part of the Go API users have
}

// TargetGroupBinding ties one Service port to one target group.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tgb
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:validation:XValidation:rule=`oldSelf.hasValue() || size(self.metadata.name) <= 63`,message="metadata.name: must have at most 63 characters, as the readiness gate of the pods ends with it",optionalOldSelf=true
// +kubebuilder:printcolumn:name="SERVICE-NAME",type="string",JSONPath=".spec.serviceRef.name",description="The Service"
// +kubebuilder:printcolumn:name="SERVICE-PORT",type="string",JSONPath=".spec.serviceRef.port",description="The port of the Service"
// +kubebuilder:printcolumn:name="TARGET-TYPE",type="string",JSONPath=".spec.targetType",description="How targets are addressed"
// +kubebuilder:printcolumn:name="READY",type="string",JSONPath=".status.conditions[?(@.type=='Ready')].status",description="Every endpoint is registered"
// +kubebuilder:printcolumn:name="TARGETS",type="string",JSONPath=".status.targets.summary",description="Healthy and registered targets"
// +kubebuilder:printcolumn:name="ARN",type="string",JSONPath=".spec.targetGroupARN",description="The target group",priority=1
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type TargetGroupBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec TargetGroupBindingSpec `json:"spec,omitempty"`

	// Status is what targetgate last saw and did. By the default, tools that go by observedGeneration (kstatus) take a new binding
	// for unfinished.
	// +kubebuilder:default:={observedGeneration:-1}
	Status TargetGroupBindingStatus `json:"status,omitempty"`
}

// TargetGroupBindingList is a list of bindings.
//
// +kubebuilder:object:root=true
type TargetGroupBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TargetGroupBinding `json:"items"`
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Group names the group of Ingresses that share a load balancer.
type Group struct {
	// Name of the group.
	Name string `json:"name"`
}

// SubnetID is the ID of a subnet.
// +kubebuilder:validation:Pattern=subnet-[0-9a-f]+
type SubnetID string

// Subnets says which subnets a load balancer has: either their IDs or their tags.
type Subnets struct {
	// IDs of the subnets, one for each zone.
	// +kubebuilder:validation:MinItems=1
	// +optional
	IDs []SubnetID `json:"ids,omitempty"`
	// Tags that a subnet must have, with one of the values each. Of those of a zone one is taken.
	// +optional
	Tags map[string][]string `json:"tags,omitempty"`
}

// Listener sets attributes of the listener with that protocol and port. It makes no listener.
type Listener struct {
	// Protocol of the listener.
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	// +optional
	Protocol string `json:"protocol,omitempty"`
	// Port of the listener.
	// +optional
	Port int32 `json:"port,omitempty"`
	// ListenerAttributes are those to be set. Others stay as they are, unless --reset-attributes is set.
	// +optional
	ListenerAttributes []Attribute `json:"listenerAttributes,omitempty"`
}

// Attribute of a load balancer or listener.
type Attribute struct {
	// Key of the attribute.
	Key string `json:"key"`
	// Value of the attribute.
	Value string `json:"value"`
}

// Tag of what is made in AWS.
type Tag struct {
	// Key of the tag.
	Key string `json:"key"`
	// Value of the tag.
	Value string `json:"value"`
}

// MinimumLoadBalancerCapacity reserves capacity.
type MinimumLoadBalancerCapacity struct {
	// CapacityUnits that are reserved.
	CapacityUnits int32 `json:"capacityUnits"`
}

// IPAMConfiguration says where public addresses come from.
type IPAMConfiguration struct {
	// IPv4IPAMPoolID is the ID of the IPAM pool of public IPv4 addresses.
	// +optional
	IPv4IPAMPoolID *string `json:"ipv4IPAMPoolId,omitempty"`
}

// IngressClassParamsSpec is what holds for all Ingresses of a class.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.prefixListsIDs) && has(self.PrefixListsIDs))",message="set prefixListsIDs alone; PrefixListsIDs is its old spelling"
type IngressClassParamsSpec struct {
	// CertificateArn are the ARNs of the certificates of HTTPS listeners; the first is the default.
	// +optional
	CertificateArn []string `json:"certificateArn,omitempty"`
	// NamespaceSelector selects the namespaces whose Ingresses may have the class; all if it is not set.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Group of all Ingresses of the class.
	// +optional
	Group *Group `json:"group,omitempty"`
	// Scheme says whether load balancers have public addresses.
	// +kubebuilder:validation:Enum=internal;internet-facing
	// +optional
	Scheme *string `json:"scheme,omitempty"`
	// LoadBalancerName is the name of the load balancer.
	// +optional
	LoadBalancerName string `json:"loadBalancerName,omitempty"`
	// InboundCIDRs are the addresses that may send to load balancers.
	// +optional
	InboundCIDRs []string `json:"inboundCIDRs,omitempty"`
	// SecurityGroups are the IDs or Name tags of the security groups of load balancers, as in the annotation security-groups, which does not
	// count beside them. aws-load-balancer-controller does not know this field.
	// +kubebuilder:validation:MaxItems=16
	// +optional
	SecurityGroups []string `json:"securityGroups,omitempty"`
	// SSLPolicy is the security policy of HTTPS listeners.
	// +optional
	SSLPolicy string `json:"sslPolicy,omitempty"`
	// SSLRedirectPort is the port of the HTTPS listener to which all HTTP listeners redirect.
	// +optional
	SSLRedirectPort string `json:"sslRedirectPort,omitempty"`
	// Subnets of load balancers.
	// +optional
	Subnets *Subnets `json:"subnets,omitempty"`
	// IPAddressType is the address families that clients may use.
	// +kubebuilder:validation:Enum=ipv4;dualstack;dualstack-without-public-ipv4
	// +optional
	IPAddressType *string `json:"ipAddressType,omitempty"`
	// Tags of all that is made in AWS.
	// +optional
	Tags []Tag `json:"tags,omitempty"`
	// TargetType says whether nodes or pods are the targets.
	// +kubebuilder:validation:Enum=instance;ip
	// +optional
	TargetType string `json:"targetType,omitempty"`
	// LoadBalancerAttributes are those to be set. Others stay as they are, unless --reset-attributes is set.
	// +optional
	LoadBalancerAttributes []Attribute `json:"loadBalancerAttributes,omitempty"`
	// Listeners sets attributes of listeners.
	// +optional
	Listeners []Listener `json:"listeners,omitempty"`
	// MinimumLoadBalancerCapacity is the capacity that is reserved for load balancers. Without it nothing is changed.
	// +optional
	MinimumLoadBalancerCapacity *MinimumLoadBalancerCapacity `json:"minimumLoadBalancerCapacity,omitempty"`
	// IPAMConfiguration says where public addresses come from.
	// +optional
	IPAMConfiguration *IPAMConfiguration `json:"ipamConfiguration,omitempty"`
	// PrefixListsIDs are the IDs of prefix lists whose addresses may send to load balancers.
	// +optional
	PrefixListsIDs []string `json:"prefixListsIDs,omitempty"`
	// LegacyPrefixListsIDs is the old spelling of prefixListsIDs.
	// +optional
	LegacyPrefixListsIDs []string `json:"PrefixListsIDs,omitempty"`
	// WAFv2ACLArn is the ARN of the AWS WAF web ACL of load balancers; "none" removes the present one.
	// +optional
	WAFv2ACLArn string `json:"wafv2AclArn,omitempty"`
	// WAFv2ACLName is the name of the regional AWS WAF web ACL. It counts before wafv2AclArn.
	// +optional
	WAFv2ACLName string `json:"wafv2AclName,omitempty"`
}

// PrefixLists are the IDs of prefix lists, in either spelling of the field.
func (s *IngressClassParamsSpec) PrefixLists() []string {
	if len(s.PrefixListsIDs) > 0 {
		return s.PrefixListsIDs
	}
	return s.LegacyPrefixListsIDs
}

// IngressClassParams is what holds for all Ingresses of a class. Each field that is set counts before their annotations.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:metadata:annotations="argocd.argoproj.io/sync-options=Delete=false,Prune=false"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="GROUP-NAME",type="string",JSONPath=".spec.group.name",description="The group of all Ingresses of the class"
// +kubebuilder:printcolumn:name="SCHEME",type="string",JSONPath=".spec.scheme",description="Whether load balancers have public addresses"
// +kubebuilder:printcolumn:name="IP-ADDRESS-TYPE",type="string",JSONPath=".spec.ipAddressType",description="The address families of load balancers"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type IngressClassParams struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec IngressClassParamsSpec `json:"spec,omitempty"`
}

// IngressClassParamsList is a list of IngressClassParams.
//
// +kubebuilder:object:root=true
type IngressClassParamsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []IngressClassParams `json:"items"`
}

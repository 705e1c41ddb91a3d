// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TargetGroupBindingStatus is what targetgate last saw and did. It is written at most once a pass, and only when
// something changed.
type TargetGroupBindingStatus struct {
	// ObservedGeneration is the newest generation of the spec that has been acted on, also while gates still wait; -1 for none.
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// Conditions are Ready and Degraded, NetworkingReady if targetgate adds the inbound rules of spec.networking, ForeignTargets
	// while the group has targets that are not this cluster's, and TargetsKept while pods that get no traffic stay targets.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Targets counts the targets of the group by state, as of the last reading of the group.
	// +optional
	Targets *TargetCounts `json:"targets,omitempty"`

	// Pods counts the pods behind the binding.
	// +optional
	Pods *PodCounts `json:"pods,omitempty"`

	// ForeignTargets are the targets of the group that are not this cluster's, and stay registered.
	// +optional
	ForeignTargets *ForeignTargets `json:"foreignTargets,omitempty"`

	// TargetGroup holds the settings of the target group that admission needs and may not ask AWS for.
	// +optional
	TargetGroup *TargetGroupSettings `json:"targetGroup,omitempty"`
}

// TargetCounts counts targets by the load balancer's states.
type TargetCounts struct {
	// Summary is healthy/registered, for kubectl get.
	Summary string `json:"summary"`
	// Registered counts the targets in the group that are not draining.
	Registered int32 `json:"registered"`
	// Healthy counts the targets that pass their health checks.
	Healthy int32 `json:"healthy"`
	// Initial counts the targets that are being registered or checked for the first time.
	// +optional
	Initial int32 `json:"initial,omitempty"`
	// Unhealthy counts the targets that fail their health checks.
	// +optional
	Unhealthy int32 `json:"unhealthy,omitempty"`
	// Draining counts the targets that are being deregistered.
	// +optional
	Draining int32 `json:"draining,omitempty"`
	// Unused counts the targets that get neither health checks nor traffic.
	// +optional
	Unused int32 `json:"unused,omitempty"`
	// Unavailable counts the targets without a health status.
	// +optional
	Unavailable int32 `json:"unavailable,omitempty"`
}

// PodCounts counts the pods of a binding.
type PodCounts struct {
	// Gated counts the pods that carry this binding's readiness gate.
	Gated int32 `json:"gated"`
	// Waiting counts the gated pods whose gate is not open.
	// +optional
	Waiting int32 `json:"waiting,omitempty"`
	// Ungated counts the pods that have no such gate: a rolling update does not wait for the load balancer to accept them.
	// +optional
	Ungated int32 `json:"ungated,omitempty"`
}

// ForeignTargets are what has been found out about targets that nothing in the cluster explains. It survives a restart of targetgate, so
// that none of them is taken for a leftover of our own.
type ForeignTargets struct {
	// BindingUID is the UID of the binding for which that was found. In a status that was restored from a backup it is another one's.
	BindingUID types.UID `json:"bindingUID"`
	// Complete is true when it was decided about every target that had been in the group before the binding was created.
	Complete bool `json:"complete"`
	// Targets are the foreign targets, as address:port or instance:port, by the reason of the condition ForeignTargets; 1,000 at most.
	// +optional
	Targets map[string][]string `json:"targets,omitempty"`
}

// TargetGroupSettings are what does not change with the targets.
type TargetGroupSettings struct {
	// Protocol of the target group.
	Protocol Protocol `json:"protocol"`
	// LoadBalancers counts the load balancers that the group is attached to: 0 means that no health check runs.
	LoadBalancers int32 `json:"loadBalancers"`
	// HealthCheck holds the settings that decide when a target can turn healthy.
	HealthCheck HealthCheckSettings `json:"healthCheck"`
	// DeregistrationDelaySeconds is how long a deregistered target drains. It is not set where targetgate may not read it: that
	// takes elasticloadbalancing:DescribeTargetGroupAttributes.
	// +optional
	DeregistrationDelaySeconds *int32 `json:"deregistrationDelaySeconds,omitempty"`
}

// HealthCheckSettings are the health check settings of a target group.
type HealthCheckSettings struct {
	// IntervalSeconds lies between two checks of a target.
	IntervalSeconds int32 `json:"intervalSeconds"`
	// TimeoutSeconds is when a check without an answer has failed.
	TimeoutSeconds int32 `json:"timeoutSeconds"`
	// HealthyThreshold is how many passes in a row make an unhealthy target healthy.
	HealthyThreshold int32 `json:"healthyThreshold"`
	// UnhealthyThreshold is how many failures in a row make a healthy target unhealthy.
	UnhealthyThreshold int32 `json:"unhealthyThreshold"`
}

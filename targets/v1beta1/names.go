// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

const (
	// Finalizer keeps a binding until its targets are deregistered and its gates are open. The name is the
	// incumbent's, so that either controller can finish what the other began.
	Finalizer = "elbv2.k8s.aws/resources"
	// BesideFinalizer is what stands in its place while the incumbent works on other bindings of the cluster (--beside).
	BesideFinalizer = "targetgate.dev/resources"

	// CheckpointAnnotation is the incumbent's memory of its last pass. We keep no state in annotations and remove it
	// when found, so that a return to the incumbent is not fooled by an old one; beside the incumbent we empty it at the return.
	CheckpointAnnotation = "elbv2.k8s.aws/checkpoint"
	// CheckpointTimestampAnnotation is when that pass was, and is removed with it.
	CheckpointTimestampAnnotation = "elbv2.k8s.aws/checkpoint-timestamp"
)

// KeepUntilReplacedAnnotation on a pod, with the value false, has its target not wait for replacements when the pod is deleted, although
// --keep-until-replaced is on.
const KeepUntilReplacedAnnotation = "targetgate.dev/keep-until-replaced"

const (
	// ConditionReady is True when every endpoint that belongs in the target group is registered there and nothing is
	// left to do. It does not wait for health checks.
	ConditionReady = "Ready"
	// ConditionDegraded is True while something keeps targetgate from doing its work for this binding; the message
	// says what.
	ConditionDegraded = "Degraded"
	// ConditionNetworkingReady is True when every inbound rule that spec.networking asks for is in the security groups of the targets.
	// It is Unknown while calls are under way, and False when something has to be changed, which the message says. A binding has it while
	// targetgate makes rules for it. Targets are registered whatever it says.
	ConditionNetworkingReady = "NetworkingReady"
	// ConditionForeignTargets is True while the target group has targets that are not this cluster's. They stay registered; the message
	// counts them, and says how to take the group over. A binding whose group has none lacks the condition, and so does one with
	// multiClusterTargetGroup.
	ConditionForeignTargets = "ForeignTargets"
	// ConditionTargetsKept is True while pods that get no traffic by Kubernetes' word stay targets for longer than some seconds. The message
	// names them, and says why and until when. A binding has it only then.
	ConditionTargetsKept = "TargetsKept"
)

// Reasons of the condition ForeignTargets. Of several, the first counts. They are stable, and the status lists targets by them.
const (
	// ReasonOtherCluster: the target group's tags name another cluster.
	ReasonOtherCluster = "OtherCluster"
	// ReasonOtherNetwork: the targets are in another network than this cluster: outside the VPC, or in the VPC of the target group where
	// that is not the cluster's.
	ReasonOtherNetwork = "OtherNetwork"
	// ReasonOtherOwner: somebody else registers targets while this binding has the group, such as a binding in another cluster.
	ReasonOtherOwner = "OtherOwner"
	// ReasonRegisteredBefore: the targets were registered before the binding was created.
	ReasonRegisteredBefore = "RegisteredBefore"
)

// Reasons of the conditions Ready and Degraded. They are stable: scripts and alerts may rely on them.
const (
	// ReasonReconciled: the target group holds what the cluster asks for.
	ReasonReconciled = "Reconciled"
	// ReasonReconciling: registrations or deregistrations are under way.
	ReasonReconciling = "Reconciling"
	// ReasonReading: the target group has not been read yet.
	ReasonReading = "ReadingTargetGroup"
	// ReasonBackendNotFound: the Service, or its port, does not exist. Targets are kept for a while.
	ReasonBackendNotFound = "BackendNotFound"
	// ReasonAWSError: an AWS call for this binding failed; it is tried again with a back-off of at most 30 seconds.
	ReasonAWSError = "AWSError"
	// ReasonKubernetesError: the API server refuses a write that must come before any registration, of the binding's finalizer
	// or of the record of a shared target group; it is tried again with a back-off of at most 30 seconds.
	ReasonKubernetesError = "KubernetesError"
	// ReasonAccessDenied: AWS refuses our calls because of IAM, or the role of the binding cannot be assumed.
	ReasonAccessDenied = "AccessDenied"
	// ReasonTargetsRefused: AWS refuses single targets, which the message names; the others are registered.
	ReasonTargetsRefused = "TargetsRefused"
	// ReasonTargetGroupFull: the target group holds as many targets as --max-targets-per-target-group allows.
	ReasonTargetGroupFull = "TargetGroupFull"
	// ReasonUnreadyPodsKept: so few pods, or nodes, are ready that unready ones stay registered.
	ReasonUnreadyPodsKept = "UnreadyPodsKept"
	// ReasonAwaitingReplacement: pods that are being deleted stay targets until others replace them. Used with TargetsKept.
	ReasonAwaitingReplacement = "AwaitingReplacement"
	// ReasonAwaitingSuccessor: pods that the Service no longer selects stay targets until those that it selects serve. Used with TargetsKept.
	ReasonAwaitingSuccessor = "AwaitingSuccessor"
	// ReasonNoEndpoint: pods wait at their gates that the Service selects and has no endpoints for; the message says why.
	ReasonNoEndpoint = "NoEndpoint"
	// ReasonEndpointSkipped: EndpointSlices list pods that do not exist, pods of other namespaces, or addresses that are not the pod's
	// own: these are not registered.
	ReasonEndpointSkipped = "EndpointSkipped"
	// ReasonTargetGroupNotFound: the target group does not exist.
	ReasonTargetGroupNotFound = "TargetGroupNotFound"
	// ReasonNotSupported: the spec asks for something this version does not do; the message names the field.
	ReasonNotSupported = "NotSupported"
	// ReasonConsentMissing: the target group's tag targetgate.dev/bind does not name the binding, and --target-group-consent is
	// require, so that no target is registered, or warn, so that all are. The message says how to set the tag.
	ReasonConsentMissing = "ConsentMissing"
	// ReasonConsentUnknown: --target-group-consent is require, and the target group's tags have never been read: no target is
	// registered until they are.
	ReasonConsentUnknown = "ConsentUnknown"
	// ReasonRoleNotAllowed: --role-allowlist does not allow the role to bindings of this namespace. AWS is not asked.
	ReasonRoleNotAllowed = "RoleNotAllowed"
	// ReasonTwoControllers: aws-load-balancer-controller works on the binding, too. targetgate neither registers nor deregisters until
	// it has seen nothing of that for a while. Only with --beside.
	ReasonTwoControllers = "TwoControllers"
	// ReasonHealthy: nothing is wrong. Used with Degraded=False.
	ReasonHealthy = "Healthy"
	// ReasonDeleting: the binding is being deleted.
	ReasonDeleting = "Deleting"
)

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// bindingError is a step about a binding that failed at the API server: steps that are calls of AWS may be done all the same.
type bindingError struct {
	doing string
	key   client.ObjectKey
	err   error
}

func (e *bindingError) Error() string {
	return fmt.Sprintf("%s TargetGroupBinding %s: %v", e.doing, e.key, e.err)
}

func (e *bindingError) Unwrap() error { return e.err }

// bindings does the changes of bindings.
type bindings struct{ client.Client }

func (b bindings) create(ctx context.Context, c steps.CreateBinding) error {
	binding := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: c.Binding.Namespace, Name: c.Binding.Name}}
	setBinding(binding, c.Binding)
	err := b.Create(ctx, binding)
	if apierrors.IsAlreadyExists(err) {
		return b.write(ctx, "taking over", c.Binding)
	}
	return failed("creating", c.Binding, err)
}

func (b bindings) update(ctx context.Context, c steps.UpdateBinding) error {
	return b.write(ctx, "updating", c.Binding)
}

// write makes a binding that exists the one that is wanted. It must be of the same target group: then it is this stack's, whose target
// group that is, also where somebody has taken its labels. One of another target group is this stack's by its labels.
func (b bindings) write(ctx context.Context, doing string, wanted stack.Binding) error {
	found := &v1beta1.TargetGroupBinding{}
	key := client.ObjectKey{Namespace: wanted.Namespace, Name: wanted.Name}
	if err := b.Get(ctx, key, found); err != nil {
		return failed(doing, wanted, err)
	}
	if arn := found.Spec.TargetGroupARN; arn != wanted.Group.ID {
		for label, value := range wanted.Spec.Labels {
			if found.Labels[label] != value {
				err := fmt.Errorf("it exists for another target group, %s, without the label %s=%s, so it is not this stack's: delete it",
					arn, label, value)
				return failed(doing, wanted, refuse(err))
			}
		}
		return failed(doing, wanted, fmt.Errorf("it exists for another target group, %s, and will be replaced", arn))
	}
	before := found.DeepCopy()
	setBinding(found, wanted)
	return failed(doing, wanted, b.Patch(ctx, found, client.MergeFrom(before)))
}

// delete is done when the binding is gone: until then the registrar takes its targets out of the group.
func (b bindings) delete(ctx context.Context, c steps.DeleteBinding) error {
	of := stack.Binding{Namespace: c.Namespace, Name: c.Name}
	binding := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
	if err := client.IgnoreNotFound(b.Delete(ctx, binding)); err != nil {
		return failed("deleting", of, err)
	}
	err := b.Get(ctx, client.ObjectKeyFromObject(binding), binding)
	if err == nil {
		return ErrLingers
	}
	return failed("deleting", of, client.IgnoreNotFound(err))
}

func failed(doing string, binding stack.Binding, err error) error {
	if err == nil {
		return nil
	}
	return &bindingError{doing, client.ObjectKey{Namespace: binding.Namespace, Name: binding.Name}, err}
}

// stackLabels is how the labels begin that say whose a binding is. One that the stack does not have would have it found as another's.
const stackLabels = "ingress.k8s.aws/stack"

// setBinding writes what the stack says into the object, and leaves what it says nothing of.
func setBinding(to *v1beta1.TargetGroupBinding, from stack.Binding) {
	maps.DeleteFunc(to.Labels, func(label, _ string) bool { return strings.HasPrefix(label, stackLabels) })
	if to.Labels == nil && len(from.Spec.Labels) > 0 {
		to.Labels = map[string]string{}
	}
	for label, value := range from.Spec.Labels {
		to.Labels[label] = value
	}
	to.Spec.TargetGroupARN = from.Group.ID
	to.Spec.TargetType = some(v1beta1.TargetType(from.Spec.TargetType))
	to.Spec.TargetGroupProtocol = some(v1beta1.Protocol(from.Spec.Protocol))
	to.Spec.IPAddressType = some(v1beta1.IPAddressType(from.Spec.AddressType))
	to.Spec.VpcID = from.Spec.VPC
	to.Spec.ServiceRef = v1beta1.ServiceReference{Name: from.Spec.Service, Port: from.Spec.Port}
	to.Spec.MultiClusterTargetGroup = from.Spec.MultiCluster
	to.Spec.Networking = networking(from.Spec)
	to.Spec.NodeSelector = nil
	if len(from.Spec.NodeSelector) > 0 {
		to.Spec.NodeSelector = &metav1.LabelSelector{MatchLabels: from.Spec.NodeSelector}
	}
}

// networking has one rule for each port, as the incumbent writes them.
func networking(spec stack.BindingSpec) *v1beta1.TargetGroupBindingNetworking {
	if spec.Networking == nil {
		return nil
	}
	out := &v1beta1.TargetGroupBindingNetworking{}
	for _, number := range spec.Networking {
		port := v1beta1.NetworkingPort{Protocol: ptr.To(v1beta1.NetworkingProtocol("TCP"))}
		if all := number.StrVal == "" && number.IntVal == 0; !all {
			port.Port = &number
		}
		out.Ingress = append(out.Ingress, v1beta1.NetworkingIngressRule{
			From:  []v1beta1.NetworkingPeer{{SecurityGroup: &v1beta1.SecurityGroup{GroupID: spec.Peer.ID}}},
			Ports: []v1beta1.NetworkingPort{port},
		})
	}
	return out
}

// Binding is what the object says, as the stack has it. What a stack cannot say, such as rules for addresses, is left out, and Others tells
// of it: it differs from what is wanted then.
func Binding(object *v1beta1.TargetGroupBinding) stack.Binding {
	spec := object.Spec
	out := stack.Binding{
		Namespace: object.Namespace, Name: object.Name, Group: stack.Ref{ID: spec.TargetGroupARN},
		Spec: stack.BindingSpec{
			Service: spec.ServiceRef.Name, Port: spec.ServiceRef.Port,
			TargetType:  string(ptr.Deref(spec.TargetType, "")),
			Protocol:    string(ptr.Deref(spec.TargetGroupProtocol, "")),
			AddressType: string(ptr.Deref(spec.IPAddressType, "")),
			VPC:         spec.VpcID, MultiCluster: spec.MultiClusterTargetGroup, Labels: object.Labels,
		},
		Awaited: awaited(object),
	}
	if spec.NodeSelector != nil {
		out.Spec.NodeSelector, out.Spec.Others = spec.NodeSelector.MatchLabels, len(spec.NodeSelector.MatchExpressions) > 0
	}
	if spec.Networking != nil {
		out.Spec.Networking, out.Spec.Peer = ports(spec.Networking.Ingress)
		out.Spec.Others = out.Spec.Others || hasOthers(spec.Networking.Ingress, out.Spec.Peer)
	}
	return out
}

// hasOthers reports whether the rules let in somebody besides the peer.
func hasOthers(rules []v1beta1.NetworkingIngressRule, peer stack.Ref) bool {
	return slices.ContainsFunc(rules, func(rule v1beta1.NetworkingIngressRule) bool {
		return slices.ContainsFunc(rule.From, func(from v1beta1.NetworkingPeer) bool {
			return from.IPBlock != nil || from.SecurityGroup != nil && from.SecurityGroup.GroupID != peer.ID
		})
	})
}

// awaited says what the inbound rules of a binding wait for, "" if they are there. Nobody makes any where nothing is said of them although
// its last change has been acted on.
func awaited(object *v1beta1.TargetGroupBinding) string {
	c := apimeta.FindStatusCondition(object.Status.Conditions, v1beta1.ConditionNetworkingReady)
	isTold := c != nil && c.ObservedGeneration >= object.Generation
	switch {
	case object.Spec.Networking == nil, isTold && c.Status == metav1.ConditionTrue:
		return ""
	case isTold:
		return cmp.Or(c.Message, c.Reason)
	case ptr.Deref(object.Status.ObservedGeneration, 0) < object.Generation:
		return "the binding's last change has not been acted on"
	}
	return ""
}

// ports are those of rules as networking writes them, and the security group that they are for.
func ports(rules []v1beta1.NetworkingIngressRule) (out []intstr.IntOrString, peer stack.Ref) {
	out = []intstr.IntOrString{}
	for _, rule := range rules {
		for _, from := range rule.From {
			if from.SecurityGroup != nil {
				peer.ID = from.SecurityGroup.GroupID
			}
		}
		for _, port := range rule.Ports {
			out = append(out, ptr.Deref(port.Port, intstr.IntOrString{}))
		}
	}
	return out, peer
}

func some[T ~string](text T) *T {
	if text == "" {
		return nil
	}
	return &text
}

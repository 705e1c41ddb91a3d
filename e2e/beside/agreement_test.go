// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package beside

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const refusal = "targetgate registers the targets of this binding"

// The policy is CEL and decides which bindings the incumbent is kept from; targetgate decides in Go which ones it takes.
func TestPolicyAgreesWithOwnership(t *testing.T) {
	const namespace = "agreement"
	awaitPolicy(t, namespace)
	they := asIncumbent(t)
	create := func(t *testing.T, name string, change func(*v1beta1.TargetGroupBindingSpec)) *v1beta1.TargetGroupBinding {
		t.Helper()
		b := newBinding(namespace, name)
		change(&b.Spec)
		suite.Must(t, bed.Client.Create(t.Context(), b))
		t.Cleanup(func() { suite.Must(t, bed.Client.Delete(context.Background(), b)) })
		return b
	}
	tests := map[string]func(*v1beta1.TargetGroupBindingSpec){
		"ip":             func(*v1beta1.TargetGroupBindingSpec) {},
		"instance":       func(s *v1beta1.TargetGroupBindingSpec) { s.TargetType = ptr.To(v1beta1.TargetTypeInstance) },
		"no-protocol":    func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupProtocol = nil },
		"tcp":            func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupProtocol = ptr.To[v1beta1.Protocol]("TCP") },
		"quic":           func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupProtocol = ptr.To[v1beta1.Protocol]("QUIC") },
		"tcp-quic":       func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupProtocol = ptr.To[v1beta1.Protocol]("TCP_QUIC") },
		"no-target-type": func(s *v1beta1.TargetGroupBindingSpec) { s.TargetType = nil },
		"no-arn":         func(s *v1beta1.TargetGroupBindingSpec) { s.TargetGroupARN, s.TargetGroupName = "", "by-name" },
		"several-misses": func(s *v1beta1.TargetGroupBindingSpec) {
			s.TargetGroupARN, s.TargetGroupName, s.TargetType, s.TargetGroupProtocol = "", "by-name", nil, nil
		},
		"shared": func(s *v1beta1.TargetGroupBindingSpec) { s.MultiClusterTargetGroup = true },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			b := create(t, name, change)
			unfenced, err := ownership.Unfenced(&b.Spec), tryFinalizer(t, they, b)
			if unfenced == "" && wantRefusal(err) != nil || unfenced != "" && err != nil {
				t.Errorf("the policy answers %v; targetgate leaves it because %q", err, unfenced)
			}
		})
	}
	t.Run("other writes, and other users", func(t *testing.T) {
		b := create(t, "others", func(*v1beta1.TargetGroupBindingSpec) {})
		get := func() *v1beta1.TargetGroupBinding {
			suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(b), b))
			return b
		}
		get().Annotations = map[string]string{v1beta1.CheckpointAnnotation: "a/b"}
		suite.Must(t, they.Update(t.Context(), b, client.DryRunAll))
		get().Finalizers = append(b.Finalizers, v1beta1.Finalizer)
		suite.Must(t, bed.Client.Update(t.Context(), b)) // by somebody else
		get().Annotations = map[string]string{v1beta1.CheckpointAnnotation: "a/b"}
		suite.Must(t, they.Update(t.Context(), b, client.DryRunAll)) // it may keep what it has
		get().Finalizers = nil
		suite.Must(t, they.Update(t.Context(), b)) // and lay it down
	})
}

// newBinding is of a group and a Service that do not exist.
func newBinding(namespace, name string) *v1beta1.TargetGroupBinding {
	b := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	b.Spec.ServiceRef = v1beta1.ServiceReference{Name: "none", Port: intstr.FromInt32(80)}
	b.Spec.TargetGroupARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/" + name + "/0123456789abcdef"
	suite.Complete(&b.Spec)
	return b
}

// awaitPolicy makes a namespace with the label, and waits until the API server keeps the incumbent from the bindings there.
func awaitPolicy(t *testing.T, namespace string) {
	t.Helper()
	bed.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{ownership.RegisterLabel: ownership.Enabled},
	}})
	they := asIncumbent(t)
	tries := 0
	suite.Eventually(t, "the API server to know the policy", func() error {
		tries++ // a binding that the incumbent has its finalizer on says nothing any more
		b := newBinding(namespace, fmt.Sprintf("try-%d", tries))
		suite.Must(t, bed.Client.Create(t.Context(), b))
		err := tryFinalizer(t, they, b)
		suite.Must(t, bed.Client.Delete(t.Context(), b))
		return wantRefusal(err)
	})
}

// tryFinalizer has the incumbent add its finalizer to a binding, dry.
func tryFinalizer(t *testing.T, they client.Client, b *v1beta1.TargetGroupBinding) error {
	t.Helper()
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(b), b))
	before := b.DeepCopy()
	b.Finalizers = append(slices.Clone(b.Finalizers), v1beta1.Finalizer)
	return they.Patch(t.Context(), b, client.MergeFrom(before), client.DryRunAll)
}

func wantRefusal(err error) error {
	if err == nil {
		return errors.New("there is no refusal")
	}
	if !strings.Contains(err.Error(), refusal) {
		return fmt.Errorf("want the policy's refusal: %w", err)
	}
	return nil
}

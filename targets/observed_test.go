// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// observes fails the test unless the status names that generation of the spec, -1 for none.
func (b *bed) observes(when string, want int64) {
	b.t.Helper()
	if got := ptr.Deref(b.binding().Status.ObservedGeneration, 0); got != want {
		b.t.Errorf("%s the observed generation is %d, want %d", when, got, want)
	}
}

// changeSpec makes the binding's next generation.
func (b *bed) changeSpec(change func(*v1beta1.TargetGroupBindingSpec)) {
	b.t.Helper()
	binding := b.binding()
	binding.Generation++
	change(&binding.Spec)
	b.must(b.cluster.Update(b.t.Context(), binding))
}

// hang keeps AWS from answering an operation, or all when it is empty, until answer is called.
func (b *bed) hang(operation string) (answer func(error)) {
	hanging, result := make(chan struct{}), error(nil)
	b.aws.Before = func(ctx context.Context, call fakeelbv2.Call) error {
		if operation != "" && operation != call.Operation {
			return nil
		}
		select {
		case <-hanging:
			return result
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return func(err error) { result = err; close(hanging) }
}

// Whoever creates a binding waits for its generation, and then sends traffic.
func TestObservedGenerationWaitsForAWSToTakeTargets(t *testing.T) {
	pod := withFinalizer(newPod("web-0", "10.0.0.1"))
	inBed(t, func(b *bed) {
		answer := b.hang("DescribeTargetHealth")
		b.run(time.Second, webKey)
		b.observes("before the group was read", -1)
		answer(nil)
		answer = b.hang("RegisterTargets")
		b.run(4*time.Second, webKey)
		b.observes("before the registration was answered", -1)
		answer(nil)
		b.run(time.Second, webKey)
		b.observes("after the registration, the gate still closed,", 1)
		if got := b.condition("web-0"); got == "True " {
			t.Errorf("the gate is %q, want it closed", got)
		}

		b.changeSpec(func(spec *v1beta1.TargetGroupBindingSpec) { spec.VpcID = "vpc-1" })
		b.run(100*time.Millisecond, webKey)
		b.observes("with nothing to do for generation 2", 2)

		b.aws.Before = nil
		answer = b.hang("DeregisterTargets")
		b.must(b.cluster.Delete(t.Context(), pod))
		b.changeSpec(func(spec *v1beta1.TargetGroupBindingSpec) { spec.VpcID = "" })
		b.run(4*time.Second, webKey)
		b.observes("before the deregistration was answered", 2)
		answer(nil)
		b.run(time.Second, webKey)
		b.observes("after the deregistration", 3)
	}, pod, newSlice("web-1", pod))
}

func TestObservedGenerationStaysBehindWhileAWSIsDown(t *testing.T) {
	pod := newPod("web-0", "10.0.0.1")
	inBed(t, func(b *bed) {
		b.aws.Before = func(context.Context, fakeelbv2.Call) error { return errors.New("no answer") }
		b.run(time.Minute, webKey)
		b.observes("while AWS has never answered", -1)
		b.aws.Before = nil
		b.run(time.Minute)
		b.observes("when AWS answers", 1)

		b.aws.Before = func(context.Context, fakeelbv2.Call) error { return errors.New("no answer") }
		b.changeSpec(func(spec *v1beta1.TargetGroupBindingSpec) { spec.ServiceRef.Name = "web2" })
		second := newPod("web-1", "10.0.0.2")
		b.must(b.cluster.Create(t.Context(), second))
		service, slice := newService(), newSlice("web2-1", second)
		service.Name, slice.Labels["kubernetes.io/service-name"] = "web2", "web2"
		b.must(b.cluster.Create(t.Context(), service))
		b.must(b.cluster.Create(t.Context(), slice))
		b.run(time.Minute, webKey)
		b.observes("while AWS does not answer any more", 1)
		b.bindings.forget(webKey) // as after a restart
		b.run(time.Minute, webKey)
		b.observes("while AWS does not answer a new process", 1)
		b.aws.Before = nil
		b.run(time.Minute)
		b.observes("when AWS answers again", 2)
	}, pod, newSlice("web-1", pod))
}

func TestObservedGenerationOfARefusedBinding(t *testing.T) {
	inBed(t, func(b *bed) {
		b.changeSpec(func(spec *v1beta1.TargetGroupBindingSpec) { spec.TargetType = nil })
		b.run(time.Second, webKey)
		b.observes("of a binding that is refused", 2)
	})
}

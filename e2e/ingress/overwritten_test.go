// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package ingress

import (
	"errors"
	"fmt"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// putBack is how soon what others change of what targetgate wrote is back. The first change is undone at once; here they go on, so that
// pauses grow.
const putBack = time.Minute

func within(t *testing.T, what string, check func() error) {
	t.Helper()
	begun := time.Now()
	for err := check(); err != nil; err = check() {
		if time.Since(begun) > putBack {
			t.Fatalf("%s: after %s: %v", what, putBack, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("%s: back after %s", what, time.Since(begun).Round(10*time.Millisecond))
}

// A tool that replaces objects takes the finalizer of an Ingress, and whoever writes statuses its name; both take labels and fields of the
// binding that was made for it. All is back before the Ingress is deleted, which leaves nothing.
func TestIngressAndBindingThatSomebodyElseChangesComeBack(t *testing.T) {
	app := newApp("overwritten")
	app.Replicas = 1
	ingress, balancer, _ := serve(t, app, "target-type=ip")
	read := func() *networkingv1.Ingress {
		there := &networkingv1.Ingress{}
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), there))
		return there
	}
	ours := read()
	there := ours.DeepCopy()
	there.Finalizers = nil // the same manifest, put
	suite.Must(t, bed.Client.Update(t.Context(), there))
	within(t, "the finalizer", func() error {
		if !equality.Semantic.DeepEqual(read().Finalizers, ours.Finalizers) {
			return errors.New("it is missing")
		}
		return nil
	})
	for what, change := range map[string]func(*networkingv1.IngressStatus){
		"the status":        func(s *networkingv1.IngressStatus) { *s = networkingv1.IngressStatus{} },
		"the name":          func(s *networkingv1.IngressStatus) { s.LoadBalancer.Ingress[0].Hostname = "elsewhere.example.com" },
		"the ports":         func(s *networkingv1.IngressStatus) { s.LoadBalancer.Ingress[0].Ports = nil },
		"another's address": func(s *networkingv1.IngressStatus) { s.LoadBalancer.Ingress[0].IP = "192.0.2.1" },
	} {
		there = read()
		change(&there.Status)
		suite.Must(t, bed.Client.Status().Update(t.Context(), there))
		within(t, what, func() error {
			if now := read().Status; !equality.Semantic.DeepEqual(now, ours.Status) {
				return fmt.Errorf("it is %+v, want %+v", now, ours.Status)
			}
			return nil
		})
		time.Sleep(3 * time.Second) // a change that follows at once is answered after a pause
	}
	var bindings v1beta1.TargetGroupBindingList
	suite.Must(t, bed.Client.List(t.Context(), &bindings, client.InNamespace(ingress.Namespace)))
	for i := range bindings.Items {
		binding := bindings.Items[i].DeepCopy()
		for what, change := range map[string]func(*v1beta1.TargetGroupBinding){
			"the labels of a binding":   func(b *v1beta1.TargetGroupBinding) { b.Labels = nil },
			"its finalizer":             func(b *v1beta1.TargetGroupBinding) { b.Finalizers = nil },
			"the port of its Service":   func(b *v1beta1.TargetGroupBinding) { b.Spec.ServiceRef.Port.IntVal += 1000 },
			"who may reach its pods":    func(b *v1beta1.TargetGroupBinding) { b.Spec.Networking = nil },
			"who else may":              addPeer,
			"the name of another stack": func(b *v1beta1.TargetGroupBinding) { b.Labels["ingress.k8s.aws/stack-name"] = "another" },
			"whose group of Ingresses":  func(b *v1beta1.TargetGroupBinding) { b.Labels["ingress.k8s.aws/stack"] = "another" },
		} {
			suite.Eventually(t, "the change", func() error {
				there := &v1beta1.TargetGroupBinding{}
				if err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(binding), there); err != nil {
					return err
				}
				if there.Labels == nil {
					there.Labels = map[string]string{}
				}
				change(there)
				return bed.Client.Update(t.Context(), there)
			})
			within(t, what, func() error {
				there := &v1beta1.TargetGroupBinding{}
				if err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(binding), there); err != nil {
					return err
				}
				if !equality.Semantic.DeepEqual(there.Labels, binding.Labels) {
					return fmt.Errorf("labels %v, want %v", there.Labels, binding.Labels)
				}
				if !equality.Semantic.DeepEqual(there.Finalizers, binding.Finalizers) || !equality.Semantic.DeepEqual(there.Spec, binding.Spec) {
					return fmt.Errorf("finalizers %v, spec %+v, want %+v", there.Finalizers, there.Spec, binding.Spec)
				}
				return nil
			})
			time.Sleep(3 * time.Second)
		}
	}
	if len(bindings.Items) == 0 {
		t.Fatal("there is no binding")
	}
	there = read()
	there.Finalizers = nil
	suite.Must(t, bed.Client.Update(t.Context(), there))
	time.Sleep(2 * time.Second)
	suite.Must(t, bed.Client.Delete(t.Context(), there))
	suite.Eventually(t, "the load balancer to go", func() error {
		if _, found := bed.AWS.ELB.BalancerNamed(balancer); found {
			return errors.New("it is there")
		}
		return nil
	})
}

func addPeer(b *v1beta1.TargetGroupBinding) {
	rule := &b.Spec.Networking.Ingress[0]
	rule.From = append(rule.From, v1beta1.NetworkingPeer{IPBlock: &v1beta1.IPBlock{CIDR: "192.0.2.0/24"}})
}

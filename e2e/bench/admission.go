// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// reviews are counted, after a tenth as many that are not.
	reviews = 10_000
	// reviewers post them, each its next one when it has its answer.
	reviewers = 16
)

// admissionSteps are the numbers of bindings with which reviews are measured.
var admissionSteps = []int{1, 100, 1000}

// admissionFigure is the name of a figure with so many bindings.
func admissionFigure(what string, bindings int) string {
	return what + ", bindings: " + strconv.Itoa(bindings)
}

// unlimited has 1,000 bindings be settled within seconds: AWS's limits are not what is measured.
const unlimited = "--aws-api-throttle=Elastic Load Balancing v2:.*=10000:10000"

// admit measures reviews of pods with more and more bindings in the pods' own namespace, the worst place for them.
func (s *stage) admit(ctx context.Context) error {
	if err := s.bed.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Name}}); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	have := 0
	for _, bindings := range admissionSteps {
		bindings = min(bindings, s.Bindings) // which a quick run has few of
		if err := errors.Join(s.bindUpTo(ctx, have, bindings), s.settle(ctx)); err != nil {
			return err
		}
		have = bindings
		if err := s.reviewAll(ctx, bindings); err != nil {
			return err
		}
	}
	return s.memoryFigure(memory)
}

// bindUpTo creates the bindings with the numbers from have on, each with a Service.
func (s *stage) bindUpTo(ctx context.Context, have, want int) error {
	s.Say("  %d bindings", want)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sideBySide)
	for i := have; i < want; i++ {
		group.Go(func() error { return s.bind(ctx, i) })
	}
	return group.Wait()
}

func (s *stage) bind(ctx context.Context, number int) error {
	name := boundName(number)
	target, err := s.bed.AWS.ELB.CreateGroup("", state.GroupSpec{
		Name: name, Protocol: state.ProtocolHTTP, Port: 80, TargetType: state.TypeIP, VPC: s.bed.AWS.EC2.FirstVPC().ID,
	})
	if err != nil {
		return fmt.Errorf("creating target group %s: %w", name, err)
	}
	meta := metav1.ObjectMeta{Namespace: s.Name, Name: name}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: boundLabels(number), Ports: []corev1.ServicePort{{Port: 80}},
	}}
	if err := s.bed.Client.Create(ctx, service); err != nil {
		return fmt.Errorf("creating Service %s: %w", name, err)
	}
	binding := &v1beta1.TargetGroupBinding{ObjectMeta: meta, Spec: v1beta1.TargetGroupBindingSpec{
		TargetGroupARN: target.ARN, ServiceRef: v1beta1.ServiceReference{Name: name, Port: intstr.FromInt32(80)},
	}}
	if err := s.bed.Client.Create(ctx, binding); err != nil {
		return fmt.Errorf("creating binding %s: %w", name, err)
	}
	return nil
}

func boundName(number int) string { return fmt.Sprintf("bound-%04d", number) }

// boundLabels are what a chart gives to the pods of one release: some are the same in every release.
func boundLabels(number int) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": boundName(number), "app.kubernetes.io/component": "server",
	}
}

// reviewAll has targetgate review pods.
func (s *stage) reviewAll(ctx context.Context, bindings int) error {
	r, err := newReviewer(s.bed.Targetgate.WebhookURL(), s.Name, bindings)
	if err != nil {
		return err
	}
	defer r.close()
	return s.review(ctx, r, admissionFigure(cpuPerReview, bindings), admissionFigure(reviewLatency, bindings))
}

// review measures the CPU time of a review, and the time that 99 of 100 take at most.
func (s *stage) review(ctx context.Context, r *reviewer, cpuFigure, latencyFigure string) error {
	if _, err := r.post(ctx, reviews/10); err != nil {
		return err
	}
	before, err := usageOf(s.pid)
	if err != nil {
		return err
	}
	took, err := r.post(ctx, reviews)
	if err != nil {
		return err
	}
	after, err := usageOf(s.pid)
	if err != nil {
		return err
	}
	s.result.shortTime(cpuFigure, (after.cpu-before.cpu)/time.Duration(len(took)))
	s.result.shortTime(latencyFigure, quantile(took, 0.99))
	return nil
}

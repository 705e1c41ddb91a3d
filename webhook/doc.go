// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook decides at admission what later steps rely on.
//
// Pods (package pods): which TargetGroupBindings cover this pod? Each covering binding adds its readiness gate, so that the pod
// is not Ready before the load balancer has accepted it. The pod also gets a termination delay.
//
// Bindings (package bindings): at creation, the webhook fills in from the target group what the user left out. It rejects what
// contradicts another object or AWS. The CRD itself rejects most of what the object alone shows to be wrong; the webhook repeats its
// rules, because a cluster may still have the incumbent's CRD.
//
// Ingresses and IngressClassParams (package ingresses), when load balancers are made of them: what aws-load-balancer-controller refuses is
// refused, and so is a group that is kept for other Ingresses. All else that is wrong is a warning.
//
// They stand on package review, which reads and answers reviews within limits, and are called through the port of package
// server, with the certificates of package certs:
//
//	server       connections, headers, TLS
//	certs        certificates, caBundle, who may call
//	review       memory and time of reviews, answers, metrics
//	pods         readiness gates and termination delay
//	bindings     defaults, validation and warnings
//	ingresses    refusals and warnings
//	webhooktest  what the tests of several of these share
//	webhook.go   Setup, which registers the handlers that the flags ask for
//
// Bindings in namespaces that are not watched belong to another installation, and are admitted as they are.
//
// The metrics count all requests: anyone who reaches the port and knows its paths can raise them, and so trigger alerts.
//
// An internal error is never a rejection. It is answered with an HTTP 5xx, so that the failurePolicy of the webhook
// configuration decides: Ignore for pods, whose missing gate is reported afterwards, and for Ingresses; Fail for bindings and
// IngressClassParams.
package webhook

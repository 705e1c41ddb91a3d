// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package balancers is to make load balancers of Ingresses, as aws-load-balancer-controller does. It is being built, and no program uses
// it yet. An Ingress goes through its folders in this order:
//
//	ingress    what Ingresses say: their group, their annotations, the stack that they want
//	account    the stack that is seen, in one view of the AWS account for all groups
//	plan       by which steps the one becomes the other, and what each waits for
//	apply      does the steps
//	v1beta1    the API IngressClassParams: settings of all Ingresses of a class
//	stack      the nouns of all these, whatever object asks for a load balancer
//
// ingress and plan are values only: they make no call.
package balancers

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package balancers is to make load balancers of Ingresses, as aws-load-balancer-controller does. It is being built, and no program uses
// it yet. It holds no code itself; its folders do:
//
//	ingress    what Ingresses say: their group, their annotations; how the parts of their load balancer are named
//	stack      names and tags, whatever object asks for a load balancer
//
// ingress imports stack. Both are values only.
package balancers

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package annotation knows the annotations of Ingresses and Services, one by one: name, meaning, scope and default (table.go, and
// tablefront.go for the Network Load Balancer in front of another, are the only lists of these), and what their values may be (the other
// files). It knows no Ingress, and no stack: what the annotations of an Ingress ask for together is built in package ingress.
//
// A value that is wrong is a Fault, which says what would be right.
package annotation

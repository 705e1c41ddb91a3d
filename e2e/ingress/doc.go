// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingress tests that Ingresses become load balancers, on the whole test bed: the load balancers, rules and security groups are
// those that targetgate makes by AWS's API, under the policies that are shipped; requests go by the host name in the status of the
// Ingress, and an answer by another Service than the one that is due counts as failed. SCENARIOS.md lists what
// aws-load-balancer-controller tests, and where we do.
package ingress

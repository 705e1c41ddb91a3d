// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stack has the nouns of what is made in AWS for one load balancer: the same for what is wanted and for what is seen there. It
// knows neither an Ingress nor a client of AWS. Its names and tags are the incumbent's: by its tags we adopt what it made, and what we
// make it would have given the same name.
package stack

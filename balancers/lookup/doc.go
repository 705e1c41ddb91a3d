// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lookup has what must be looked up before a stack can be built, and the answers. It calls nobody: package answer does, in the
// folder of that name. A new question begins here, with Needs.
//
//	needs.go    Needs: the questions of a group
//	answers.go  Answers: what AWS said, or why it is not known; finds security groups among them
//	subnets.go  subnets of the VPC: finds those that users name
//	secret.go   what a Secret says of a client of an OpenID Connect provider
package lookup

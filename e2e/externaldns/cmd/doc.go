// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command external-dns is ExternalDNS with one provider, AWS, and one registry, that of TXT records. All of that, and the flags, are
// ExternalDNS's own; only the loop around it is not, as the package that has it imports the SDK of every cloud.
//
// It is a module of its own, so that nothing of ExternalDNS reaches the requirements of targetgate. Where targetgate or its control plane
// need the same modules, go.mod holds those at their version: then they are compiled once for all.
package main

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externaldns tests that ExternalDNS makes the right DNS records of the Ingresses that targetgate serves. ExternalDNS is the real
// one, built from cmd with its source for Ingresses, its plan, its registry of TXT records and its provider for AWS, which turns the names
// of load balancers into aliases; it reads the test bed's API server and writes to an emulated Route 53 (package route53). Requests go to
// whatever load balancer the record of their host names at that moment.
package externaldns

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package waf is WAFv2 (waf.go) and WAF Classic (classic.go): Web ACLs, and which one a load balancer has.
package waf

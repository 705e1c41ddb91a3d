// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shared deletes the security group that all load balancers of a cluster have, once nothing of the cluster needs it.
//
//	collector.go  Collector: looks whether there is such a group, and deletes it with the rules that let it in
//	needs.go      who needs it yet: objects of the cluster, load balancers, rules that others have made
//	passes.go     keeps the deletion apart from passes over groups, which may be about to use it
//
// passes.mu is taken alone, and not held for a call.
package shared

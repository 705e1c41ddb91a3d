// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testbed puts the parts of a run together: a real control plane (cluster), nodes (kubelet), load balancers
// (emulator), and the targetgate under test as a process of its own, with the RBAC and the webhook configuration that
// are shipped.
//
//	Start             control plane, CRD, RBAC, emulator, nodes, webhook configuration, targetgate
//	Deploy            one app: Service, target group behind a load balancer, TargetGroupBinding, Deployment
//	Roll, AwaitRolled a rolling update of it
//	Kill, Restart     targetgate dies at a bad moment; Keep restarts it when it ends by itself
//	StartReplica      a second targetgate; SpreadWebhooks has the API server call both
//	Close             everything ends; targetgate's log is searched for data races
//
// Nothing in it does targetgate's work: it registers no target and writes no pod condition.
package testbed

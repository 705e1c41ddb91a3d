// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testbed puts the parts of a run together: a real control plane (cluster), nodes (kubelet), load balancers
// (emulator), and the targetgate under test as a process of its own. It has a token of its service account, what the
// roles in config/ grant to that, what the policy in config/iam grants to its access key, and the webhook configuration in
// config/. A test of package charts holds that to be exactly what the chart installs with its default values, so no Helm is
// needed here.
//
//	testbed.go       Start: control plane, CRD, RBAC, emulator, nodes, webhook configuration, targetgate
//	                 Close: everything ends; targetgate's log is searched for data races, the API server's audit log for
//	                 anything that it refused to targetgate, unless a test has that Excused, and AWS's log for calls that
//	                 the policy does not allow
//	install.go       what is applied of config/, and waiting for the webhooks
//	chart.go         the same from the chart
//	app.go           Deploy: one app, with Service, target group behind a load balancer, TargetGroupBinding, Deployment
//	                 Roll, AwaitRolled: a rolling update of it
//	pod.go           what a pod says of its version, gates and readiness
//	targetgate.go    the targetgate under test. Kill, Restart: it dies at a bad moment; Keep restarts it when it ends by itself
//	replicas.go      StartReplica: a second targetgate; SpreadWebhooks has the API server call both
//	othercluster.go  StartOtherCluster: a second cluster in the same account
//	instances.go     EC2 instances of nodes; AddNode
//	network.go       VPC, security group and network interfaces of nodes
//	addresses.go     ranges of pod addresses that no other bed on the machine uses
//	policies.go      what AWS's policies allow targetgate, and what it has not needed
//	refusals.go      what the API server has refused to targetgate; Excuse
//	await.go         waiting until something is so
//
// With Options.Values, what it applies is rendered from the chart instead, by Helm.
//
// With Options.SecurityGroups, nodes have interfaces with a security group, and load balancers reach pods only by its rules.
//
// Nothing in it does targetgate's work: it registers no target, writes no pod condition and changes no rule later on.
package testbed

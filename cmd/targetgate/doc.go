// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command targetgate lets rolling updates behind AWS load balancers lose no request: it adds readiness gates to pods,
// registers and deregisters their targets, and opens the gates of healthy targets.
//
// With the argument explain, give-back, guard, orphans or plan, or under the name kubectl-targetgate, it runs a command instead of the
// controller: plan and orphans are in this folder, the others are in the folder command.
//
//	main.go             the table of contents: options, AWS, manager, consent, webhook, targets, load balancers, start
//	options.go          flags and environment; parsing and validation of all
//	lists.go            flags that are lists: no spaces in them; names of namespaces
//	ignored_flags.go    the flags of aws-load-balancer-controller (the incumbent) that are accepted and ignored
//	feature_gates.go    --feature-gates
//	aws_options.go      flags of AWS calls
//	aws.go              access to AWS: Region, credentials, clients, the cluster's VPC
//	manager.go          logging; the manager with caches and leader election
//	ports.go            the ports of metrics and probes
//	certs.go            flags of the webhooks' certificate, its source, and the webhook server
//	consent.go          flags of consent; rereads the role allowlist
//	networking.go       flags and set-up of the inbound rules of spec.networking
//	provision.go        flags and set-up of load balancers of Ingresses: classes, features, workers
//	provision_calls.go  the AWS clients for load balancers, and what is made of them: view, look-ups, issuer, reconciler
//	reviews.go          says how Ingresses are reviewed
//	shutdown.go         the delay of the shutdown, in which no review is lost
//	plan.go             the command plan: what would be changed for Ingresses, for example when targetgate replaces the incumbent
//	plan_options.go     its flags and arguments
//	orphans.go          the command orphans: lists load balancers without Ingresses, and deletes those that are named
//	orphans_options.go  its flags
package main

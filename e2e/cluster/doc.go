// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real Kubernetes control plane for the tests and the demo: etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler, each a process of its own, all from the one binary that the nested module
// e2e/kubernetes builds.
//
// A run, top to bottom:
//
//	Start                  prepares a folder with kubeconfigs (prepare.go), ports (ports.go) and certificates (certificates.go),
//	                       then starts the processes (cluster.go; their flags are in components.go); returns when the API
//	                       server is ready and the controllers have begun to work (await.go waits)
//	AdminConfig            who talks to it: an administrator, or any user with the groups a test asks for, so that
//	UserConfig             RBAC is put to the test as well (users.go)
//	Apply                  the manifests under test, as shipped (apply.go, manifests.go)
//	InstallWebhooks        the shipped webhook configuration, and a Service that leads to this machine (webhooks.go)
//	ServingCertificate     a certificate in files, for a webhook server that makes none of its own (serving.go)
//	Requests               what one user has asked the API server for, and what was allowed by which role (audit.go)
//	StopAPIServer, ...     faults (apiserver.go)
//	Stop                   ends every process and removes what was temporary
//
// What is left out of a real control plane, and what is not: there are no nodes, so a pod that the scheduler has placed
// stays Pending until something plays the kubelet; etcd does not wait for the disk; nothing elects leaders, since each
// component runs once; and the clients of the controllers and of the scheduler may send more requests a second than by
// default, so that the rollout under test and not their rate limit sets the pace. Everything else keeps its default,
// above all admission, authorization, the EndpointSlice controller's lag and the times of node monitoring.
//
// All listens on 127.0.0.1 only. The processes die with the process that started them, even if that one is killed.
// Linux only.
package cluster

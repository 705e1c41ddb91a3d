// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubelet stands in for the node agents of a cluster. The API server, the scheduler and the controllers around it
// are real; this package is the one part of a node that they talk to, and it is meant to be as unkind as a real one.
//
// # What it does
//
// Start creates Node objects, keeps their leases renewed, and watches pods. The scheduler binds a pod to one of the nodes; then:
//
//	bound      the pod gets an address 10.a.b.c; each container becomes a process (in this program) that opens a real HTTP
//	           server on 127.a.b.c for every TCP containerPort, because EndpointSlices refuse loopback addresses
//	running    readiness probes go over the socket; the status says Running, and Ready when the containers are ready AND
//	           every readiness gate's condition is True. The gates are read again whenever the pod changes
//	deleted    preStop, then SIGTERM, then SIGKILL at the end of the grace period; readiness probes go on until the process
//	           has gone; then one last status, and the DELETE with grace period 0 that removes the pod
//	shut down  in a graceful shutdown of its node: the same, but the pod is not removed when it has ended (BeginShutdown)
//	vanished   a pod that leaves the API without that (force delete) is cut at once: connections and all
//
// It writes only the conditions that are a kubelet's own, each by a strategic merge patch with the pod's UID, and one patch
// per change. It never writes a readiness gate's condition: were it to, a test could not tell whether targetgate works.
//
// For Services of type NodePort and LoadBalancer it also plays kube-proxy's part: each node listens on its own address (the
// first of its range, on loopback like the pods') at the Service's TCP node ports and passes connections on to a ready pod
// of the Service, with externalTrafficPolicy Local to one on that node. Where there is none, connections are refused. When
// the Service goes the port closes, and the connections that are there go on. A connection is taken before the pod is
// dialled, so a pod that does not answer is a reset, not a refusal.
//
// Nodes come and go at run time (AddNode, RemoveNode), fall silent (StopHeartbeat), shut down gracefully (BeginShutdown,
// CancelShutdown) and report what a test wants of them (SetNodeReady). What a cluster does about that, the real controllers do.
//
// # Time
//
// Options.Scale multiplies every time that a pod's spec or the kubelet itself gives in whole seconds: probe delays and
// periods, preStop, grace periods, crash back-off. It does not touch the app's env (those are exact durations), probe timeouts
// (sockets take the time they take), nor heartbeats (the node controller has its own clock).
//
// # What it does not do
//
// Liveness and startup probes are not run: a container counts as started when its process runs. Exec and gRPC readiness
// probes always fail, so that nobody mistakes them for passed. preStop knows sleep and exec "sleep N"; other handlers take no
// time. postStart, volumes, logs, exec, resources, eviction and static pods do not exist. Plain init containers complete at
// once. Addresses are IPv4. Cluster addresses of Services, session affinity and health check node ports do not exist. Deleting
// the Node objects at the end is left to whoever stops the cluster.
//
// A container whose port is taken by a program that listens on all addresses of this machine cannot listen, and crashes.
//
// # Folders
//
//	app      the app that runs in containers: what its env asks of it, one run of it, how tests steer it
//	probe    readiness probes
//	status   the status of a pod as a kubelet sees it, and the patch that writes it
//	address  the addresses of pods on a node, and where they listen
//	proxy    node ports: which are open, and where they lead
//
// # Files
//
// For all nodes:
//
//	kubelet.go  Kubelet: Start, Close, and what tests ask of it
//	options.go  Options and Node, with defaults and validation
//	watch.go    what the watch on pods starts, changes and ends
//	journal.go  Moments: what has happened to pods, for tests
//
// Nodes:
//
//	nodes.go            nodes that come, go and fall silent
//	node.go             one Node object with its lease and status
//	node_conditions.go  the conditions of a node
//	shutdown.go         BeginShutdown and CancelShutdown
//
// Pods:
//
//	pod.go        what is done with a pod from when it is bound until it is gone
//	pod_facts.go  what is known of it
//	terminate.go  preStop, SIGTERM and SIGKILL
//	deadline.go   the end of the grace period
//	prestop.go    how long a preStop takes
//	container.go  the processes of a container, one after the other
//	backoff.go    the pause before a container starts again
package kubelet

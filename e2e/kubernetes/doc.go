// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command control-plane is a whole Kubernetes control plane in one binary: etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler, the real ones, built from their Go modules. The test bed has no
// container images and downloads no release binaries, so this is where its Kubernetes comes from. Folders kubectl and
// certmanager hold programs that only tests need.
//
// The component is chosen by the name the binary is called by, or, when that is no component's name, by the first
// argument:
//
//	ln -s control-plane etcd && ./etcd --version
//	control-plane kube-apiserver --version
//
// One binary instead of four, because they share most of their code: linking once is much quicker and the result
// much smaller. Only the chosen component's command is constructed, since constructing one registers feature gates
// and flags in variables that the components would otherwise fight over.
//
// # How it is built
//
// By `make control-plane`, which comes down to this, in this folder:
//
//	CGO_ENABLED=0 go build -buildvcs=false -ldflags '-s -w
//	    -X k8s.io/component-base/version.gitVersion=v1.37.2
//	    -X k8s.io/component-base/version.gitMajor=1
//	    -X k8s.io/component-base/version.gitMinor=37' -o ../../.bin/control-plane .
//
// The version has to be given to the linker: without it the API server calls itself "v0.0.0-master", which clients
// cannot parse. The Makefile also leaves out what nothing here uses (.tools/without), which saves a fifth of the time (173 s instead of 222 on two cores).
//
// This is a module of its own so that nothing of k8s.io/kubernetes reaches the requirements of targetgate. That module
// points its staging modules (k8s.io/api and its siblings) at folders of its own tree, and replacements of a dependency
// are ignored, so go.mod replaces each with the version published from the same commit: v0.37.2 for v1.37.2. To move to
// another Kubernetes, change all of those versions together; the linker's values follow from k8s.io/kubernetes.
package main

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certs makes API servers trust the webhook server at all times.
//
//	selfmade.go       SelfMade: certificates that targetgate creates; lifetimes, and when a pass runs
//	authority.go      sets up cert-manager's source of CA and certificates
//	pass.go           a pass: what is read, chosen and written; readiness
//	servingcerts.go   which certificate is served
//	bundle.go         which CAs caBundle should contain, and whether it verifies a certificate
//	configuration.go  what is read of webhook configurations
//	paths.go          the secret that the paths of webhooks may start with; limits for requests without it
//	files.go          Files: a certificate from files
//	clients.go        ClientCheck: which clients may connect
//	metrics.go        expiry of certificates, trust, writes of caBundle
//
// There are two sources of a serving certificate.
//
// SelfMade, the default, needs nothing from outside. All replicas share a CA in one Secret; each replica signs its own
// certificate, which is only in its memory. Package pkg/server/tls of cert-manager does both, and renews a CA or a certificate
// when a third of its life is left. This package does what comes between a new CA and an API server's trust in it, where such
// set-ups fail elsewhere:
//
//	Secret         CA 1        CA 2
//	caBundle       1           1 2                     (all replicas write it; the older CA stays for an hour)
//	API servers    1           1    1 2                (each a moment later, by its own watch)
//	served         by CA 1     by CA 1    by CA 2      (once caBundle has contained CA 2 for the settling time)
//
// A pass reads the Secret and the two webhook configurations, chooses the certificate to serve, and writes the bundle of CAs into
// those that lack one. It serves the newest certificate that every live caBundle has verified for the settling time; until there is
// one, it serves the previous certificate. A replica without a previous certificate serves what it has, and is not ready until the
// live caBundle verifies it.
//
// Every replica does all of this; there is no leader. They agree because the Secret and the clock determine the bundle, each
// write names the version it replaces, and a replica that finds the bundle complete writes nothing. The Secret and caBundle
// belong to targetgate: damaged or foreign content is replaced.
//
// A CA that is not in the Secret is removed from the bundle an hour after the one in the Secret was made. So
// emptying the Secret revokes a CA whose key has leaked, and a CA that someone else put into the bundle does not stay.
//
// Readiness depends only on the pod webhook. API servers send no pod review to a replica that is not ready, so trouble with the
// other webhooks must not make it NotReady: a metric shows that.
//
// Files is the other source: cert-manager, ACM PCA or the chart write certificate and key, and set caBundle. The files are
// reloaded when they change. Readiness then checks only what this process knows: that the certificate is within its dates. It
// does not check caBundle: others change caBundle and the files, seconds to minutes apart, and taking every replica out of
// service meanwhile would make all calls fail instead of some.
//
// ClientCheck lets only API servers connect.
//
// Locks: servingCerts.mu, paths.mu and ClientCheck.mu guard what reviews and handshakes read while a pass changes it. Each is taken
// alone, and none is held across a request or a reading of a file.
package certs

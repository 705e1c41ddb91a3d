// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certs has API servers trust the webhook server, all the time.
//
// There are two ways to a serving certificate.
//
// SelfMade, the default, needs nothing from outside. A CA lives in one Secret that all replicas share; each replica
// signs itself a certificate that lives in its memory only. Library pkg/server/tls of cert-manager does both, and the
// renewals: a CA or a certificate is replaced when a third of its life is left. What is done here is what comes between
// a new CA and an API server's trust in it, and where such set-ups fail elsewhere:
//
//	Secret         CA 1        CA 2
//	caBundle       1           1 2                     (all replicas write it; the older CA stays for an hour)
//	API servers    1           1    1 2                (each a moment later, by its own watch)
//	served         by CA 1     by CA 1    by CA 2      (once caBundle has carried CA 2 for the settling time)
//
// A pass (pass.go) reads the Secret and the two webhook configurations, chooses the certificate to serve (leaves.go), and
// writes the bundle of CAs into those that lack one (bundle.go). It serves the newest certificate that every live caBundle
// has verified for the settling time, and until there is such a one the previous certificate. A replica with nothing
// else to serve serves what it has, and is not ready until the live caBundle verifies it.
//
// Any replica can do all of this, so none has to lead. They agree because what has to be in the bundle follows from the
// Secret and the clock; each write holds the version that it is meant for; and a replica that finds nothing missing or
// superfluous writes nothing. The Secret and caBundle are targetgate's own: what is damaged or of somebody else is replaced.
//
// A CA that is not in the Secret is taken out of the bundle an hour after the one in the Secret was made (bundle.go). So a CA
// whose key has leaked is revoked by emptying the Secret, and one that somebody has put into the bundle does not stay.
//
// Readiness judges the pods' webhook alone. API servers send no pod to a replica that is not ready, so what is wrong with the
// other webhooks must not take it out: a metric tells of that.
//
// Files is the other way: cert-manager, ACM PCA or the chart write certificate and key, and see to caBundle themselves.
// The files are read again when they change. Readiness then says no more than this process knows, that the certificate
// is within its dates. It does not judge caBundle: others change that and the files, seconds to minutes apart, and
// taking every replica out of service meanwhile would turn some failed calls into all.
//
// ClientCheck is for those who want to let only API servers in.
package certs

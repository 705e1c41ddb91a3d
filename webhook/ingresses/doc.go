// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ingresses answers reviews of Ingresses and IngressClassParams, when load balancers are made of them.
//
// It refuses what aws-load-balancer-controller refuses, at the same paths, and a group that is kept for other Ingresses
// (targetgate.dev/exclusive-group). All else that is wrong is a warning, from the same code that builds load balancers (package
// balancers/ingress), so that nobody's pipeline fails where it did not fail before. An update that changes neither spec nor annotations is
// always admitted: finalizers must come off, whatever has become of the class.
//
// An object with more values than any load balancer can have is admitted with a warning, unless its class or group is refused: it is
// counted before it is decoded, so that the cost of a review is linear in its size.
//
//	ingresses.go  the handlers of both kinds: paths, options, what is read of a review, the answer
//	view.go       the part of an Ingress that is read, and how much of it
//	ingress.go    why an Ingress is refused, and what is warned of
//	live.go       IngressClasses that the cache has not got yet, listed at most once a second
//	consent.go    the tags of target groups whose owners must have consented, read at most once a second
//	params.go     the same for IngressClassParams
package ingresses

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan decides what one pass does about a target group, from values alone.
//
//	plan.go        Make: which targets to register, and which to deregister as they are another pod's
//	removal.go     which targets to deregister because their pods are no longer selected, or their nodes are to be replaced
//	unready.go     which targets to deregister because they are not ready, unless too few of those that served together serve, or because
//	               somebody holds their pods back
//	leaving.go     by when the target of a pod that leaves must be deregistered (its deadline), and whether it waits for a replacement
//	replacement.go whether there is one
//	kept.go        what users are told of targets that stay although their pods get no traffic by Kubernetes' word
//	room.go        which registrations do not fit into a full group, and which targets that wait for others make room
//	hold.go        what lack of consent keeps from happening
//	foreign.go     which targets that nothing in the cluster explains are somebody else's and stay, and which go
//	judgement.go   by what that is judged
//	deletion.go    Removal: which targets go with a binding that is deleted
//	recorded.go    how that is written into a status, and read from it after a restart
//	reading.go     when to read the health of targets next, and of which
//	firstcheck.go  when a target can be healthy at the earliest, and by when it should be, by the health check settings
//	guarded.go     when to read while a node guard waits for its targets to drain
//
// Until when a pod that leaves serves is found in targets/endpoints/sleep.go: by its preStop sleep, which the webhook adds by default
// (aws/elbv2/timings.go says how long). Which nodes are about to end is found in targets/endpoints/leaving.go.
package plan

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply does the steps of a plan, one after the other. It knows no Ingress.
//
//	applier.go         a pass over the steps, and what came of it
//	kinds.go           one row for each type of change: who does it; logs what was done
//	blocked.go         which steps are left out after a failure
//	interrupt.go       when a pass gives way to others, or ends, and leaves its rest to the next one
//	wait.go            asks whether what a step waits for holds (the kinds of waits are in balancers/steps/step.go; since when a target
//	                   group is waited for, in balancers/memory.go)
//	errors.go          what the error of a step means for the pass: whether it is tried later, as when AWS does not show yet what was
//	                   done a moment ago; whether AWS is read again; whether other steps go on
//	settings.go        sets settings of load balancers that take a call each
//	loadbalancers.go   makes changes to load balancers, their web ACLs and Shield protection
//	attributes.go      sets attributes of load balancers and listeners, of which AWS refuses all if one is wrong
//	targetgroups.go    makes changes to target groups
//	listeners.go       makes changes to listeners, their certificates and rules
//	securitygroups.go  makes changes to security groups and their rules
//	bindings.go        makes changes to TargetGroupBindings, and reads them into the stack
//	tags.go            makes changes to tags; tells by which tags a part is known to be the stack's own
//	clients.go         the calls of AWS that are made
//
// A crash between any two lines loses nothing: parts are made with the tags by which they are found again, a part that exists already is
// taken when its tags are ours, one that is gone need not be deleted, and what is left to do is planned again from what is seen. Only a
// port whose new rule had no room beside the old one may be closed till then.
package apply

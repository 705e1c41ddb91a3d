// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply does the steps of a plan, one after the other. It knows no Ingress.
//
//	applier.go   a pass over the steps, and what came of it
//	kinds.go     one row for each kind of step: how it is done, and what a failure of it means for others
//	refs.go      parts that earlier steps have made
//	blocked.go   what is left out after a failure
//	wait.go      what must hold before a step
//	tags.go      changes of tags, and by which tags a part is known to be the stack's own
//	the others   how the steps are done: for each kind of part a type with the calls that it makes (clients.go)
//
// A crash between any two lines loses nothing: parts are made with the tags by which they are found again, a part that exists already is
// taken when its tags are ours, one that is gone need not be deleted, and what is left to do is planned again from what is seen.
package apply

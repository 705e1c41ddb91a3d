// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan says by which steps the stack that is seen becomes the stack that is wanted. It is pure: no client, no clock. Two promises
// are made of its steps, whichever of them is the last to be done: nothing that serves is taken away before what replaces it serves, and
// a request that the same Service answers before and after all of them is answered by it in between.
//
// What is wanted is first laid beside what is seen, without a step:
//
//	make.go       what is asked, and the order of all that follows
//	view.go       both stacks, the load balancer that stays, which Services are served; read by all, and changed by none
//	held.go       what stays as it is seen, as it is a held member's or may be
//	match.go      target groups, listeners and rules are paired; arrange.go says which rule takes which place
//	meanwhile.go  what serves until new target groups are healthy
//
// What the actions of rules do, and whether two do the same, is in the folder actions.
//
// Then the steps are written into a draft, those of each kind of part by a type of its own:
//
//	securitygroup.go, loadbalancer.go, targetgroup.go, binding.go
//	listener.go   listeners, with their rules by rules.go
//	takeover.go   routes: what rules and default actions do at each point of the plan; and what is deleted when no route needs it
//	tag.go        tags of all parts
//	front.go      what stands in front of the load balancer, which is planned as a stack of its own
package plan

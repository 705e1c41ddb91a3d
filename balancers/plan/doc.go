// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan says by which steps the stack that is seen becomes the stack that is wanted. It is pure: no client, no clock. Two promises
// are made of its steps, whichever of them is the last to be done: nothing that serves is taken away before what replaces it serves, and a
// request that the same Service answers before and after all of them is answered by it in between. Tests keep them over thousands of
// histories (property_test.go, pass_test.go). When the wish changes again while a rule waits for its targets, the second promise may
// be broken: a new rule behind the one that waits takes the requests that both match.
//
// What is wanted is first laid beside what is seen, without a step:
//
//	make.go       what is asked of the package; in which order the types below write their steps
//	view.go       both stacks, the load balancer that stays, which Services are served; read by all, and changed by none
//	held.go       what stays as it is seen, because it belongs, or may belong, to a held member
//	match.go      pairs wanted target groups and listeners with those seen; finds the former target group of a new one's Service
//	arrange.go    pairs the wanted rules of one listener, in their order, with those seen; reuses surplus ones; leaves out what the quota
//	              has no room for
//	meanwhile.go  which rules or other target groups answer until the target groups of new Services are healthy, and which rules stand
//	              behind all others until then
//
// What the actions of rules do, and whether two do the same, is in the folder actions.
//
// Then the steps are written into a draft, those of each kind of part by a type of its own:
//
//	securitygroup.go  security groups and their inbound rules
//	loadbalancer.go   the load balancer, its web ACLs, capacity and protection
//	targetgroup.go    target groups, with their health checks and attributes
//	binding.go        TargetGroupBindings, and the security groups of the load balancer, which targets let in by them
//	listener.go       listeners and their certificates; in which order these and the rules of a listener are changed
//	rules.go          creates, deletes and moves the rules of a listener: the priorities that they get on the way to their order
//	takeover.go       routes: what rules and default actions do at each point of the plan; and what is deleted when no route needs it
//	tag.go            tags of all parts
//	front.go          what stands in front of the load balancer, which is planned as a stack of its own
package plan

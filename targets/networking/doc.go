// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networking makes the inbound rules of security groups that bindings ask for by spec.networking, so that the load balancer
// reaches their pods and nodes. Only the leader runs it.
//
// # From a binding to a rule
//
//	members        pods and nodes                       -> members, and the one security group of each; a folder of its own
//	ruleset        spec, wishes, what is present, record -> which rules must be there, what to grant and revoke; a folder of its own
//	group.go       one pass over one group: read, decide, write the record, grant, revoke, write the record (sender.go, settle.go)
//	configmap.go   stores which rules are ours
//	manager.go     queues: bindings to resolve (resolve.go), groups to pass over (pass.go); what became of it (state.go, release.go)
//
// A registrar hands each binding over with Want in every pass, shows its State, and before it drops the finalizer of a deleted one
// calls Release until that is done, then Forget.
//
// # What holds
//
// A rule is revoked only if it has the label, is ours by our record or its source, was in a fresh read, and no binding wishes for it or
// may wish for it: a binding that is not resolved, or listed and never handed over, blocks the rules that have a port in common with its
// reach, in every group. What another owner of the group may rely on stays. A deletion waits for neither.
//
// A grant precedes the revoke of what it replaces, and nothing is revoked to make room. The number of rules is counted before a call.
//
// What is right for one binding does not wait for what is wrong with another: an unresolved member, a bad peer, a group that EC2
// refuses to change fail alone.
//
// What was changed by hand in a security group is repaired within DriftInterval, and another choice of group is seen within a tenth more.
//
// # Locks
//
// Manager.mu guards all bindingStates and groupStates. It is taken before no other lock but those of the queues, and never held
// across a call, nor while a spec or members are compared or compiled.
//
// # Words
//
//	member      a pod or a node behind a binding
//	wish        a rule that a binding needs in a security group because of one of its members
//	wanted      a rule that must be in a security group: the union of the wishes
//	flow        a protocol and a source, the part of a rule besides its ports
//	reach       the rules that a binding can ask for, as far as its spec says
//	exact       the form of a flow with a rule for each range that is asked for; merged: one rule from the lowest to the highest port
//	label       the description that tells rules of the incumbent and of ours from all others
//	ours        a rule that we have added, by our record, or whose source was made for our cluster
//	unowned     a rule with the label that nobody wants and that is not ours
//	resolved    a binding whose members are all found
//	drift       a difference that nobody's wish has made
package networking

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package networking makes the inbound rules of security groups that bindings ask for by spec.networking, so that the load balancer
// reaches their pods and nodes. Only the leader runs it.
//
// # From a binding to a rule
//
//	members       pods and nodes -> members, and the one security group of each; a folder of its own
//	ruleset       spec, wishes, what is present, record -> which rules must be there, what to grant and revoke; a folder of its own
//	manager.go    the Manager, which a registrar calls, and its queues: bindings to resolve, security groups to pass over
//	resolve.go    resolves one binding: its spec and members -> its wishes, by security group
//	pass.go       prepares and ends a pass over one security group: collects the wishes of all bindings, wakes those that it matters to
//	group.go      the pass itself: reads the security group, decides, writes the record, grants, revokes, writes the record
//	sender.go     sends rules with few calls, and a call that EC2 refuses again in halves
//	settle.go     what a pass has changed in the record, and when to pass again
//	recheck.go    has records written again that somebody else has changed
//	configmap.go  stores the records of which rules are ours
//	bindings.go   what is remembered of a binding, of the specs of those that were not handed over, and of a security group
//	state.go      State: what became of a binding's wishes, for its condition NetworkingReady
//	release.go    Release: whether the rules of a binding that is being deleted are gone
//	ec2.go        which calls of EC2 are made
//	metrics.go    rules that were granted, revoked or refused, and those that are wanted, missing or unowned
//
// A registrar hands each binding over with Want in every pass, shows its State, and before it drops the finalizer of a deleted one
// calls Release until that is done, then Forget.
//
// # What holds
//
// A rule is revoked only if it is labelled, is ours by our record or its source, was in a fresh read, and no binding wishes for it or
// may wish for it: a binding that is not resolved, or listed and never handed over, blocks the rules that have a port in common with its
// reach, in every group. What another owner of the group may rely on stays. A deletion waits for neither.
//
// A grant precedes the revoke of what it replaces, and nothing is revoked to make room. The number of rules is counted before a call.
//
// What is right for one binding does not wait for what is wrong with another: an unresolved member, a bad peer, a group that EC2
// refuses to change fail alone.
//
// What was changed by hand in a security group is repaired within DriftInterval, and another choice of group is seen within a tenth more.
// A group of which somebody else has removed rules is read again sooner, and less and less often while that does not happen again.
//
// # Locks
//
// Manager.mu guards all bindingStates and groupStates. It is taken before no other lock but those of the queues, and never held
// across a call, nor while a spec or members are compared or compiled. reaches.mu guards what specs can ask for, and is taken alone.
//
// # Words
//
//	member      a pod or a node behind a binding
//	wish        a rule that a binding needs in a security group because of one of its members
//	wanted      a rule that must be in a security group: the union of the wishes
//	flow        a protocol and a source, the part of a rule besides its ports
//	reach       the rules that a binding can ask for, as far as its spec says
//	exact       the form of a flow with a rule for each range that is asked for; merged: one rule from the lowest to the highest port
//	labelled    a rule with the description that the incumbent gives its rules, and we give ours; users are told of the description
//	ours        a rule that we have added, by our record, or whose source was made for our cluster
//	unowned     a labelled rule that nobody wants and that is not ours
//	resolved    a binding whose members are all found
//	drift       a difference that nobody's wish has made
//	lost        a wanted rule that somebody else has removed
package networking

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package budget rations the HTTP attempts that are sent to AWS, retries included. Package accounts has a Budget for each account.
//
//	budget.go   Budget: finds the bucket of a call, which is that of the first rule that fits; Charge: what a call is charged to, as its
//	            context says, and the classes of calls
//	rules.go    Rule: rate and burst for operations of a service; the defaults, and the parser of --aws-api-throttle
//	bucket.go   a token bucket and its timer: hands out tokens, and takes back those that were not used
//	order.go    which waiting call gets the next token
//	supply.go   the tokens that there are, and those kept for deregistrations
//	waiters.go  the calls that wait, by class; which of them have waited for too long
//	line.go     waiting registrations and deregistrations, by deadline
//	queue.go    waiting calls of the other classes, and those past their deadline; tenants take turns (package turns)
//	pace.go     how fast a bucket fills: slower for a while after AWS has throttled
//	metrics.go  metrics of buckets, and of how long calls wait
//
// A Budget has a bucket for each rule, and none for all its calls together. In accounts other than the program's own only rules of ELBv2
// count. Each bucket serves deregistrations and registrations by deadline; no call of another class makes a deregistration late. Next
// come lookups for users, with a fifth of the bucket at most; the health of pods that wait; everything else of a pod's life; what makes
// load balancers; and last what no request depends on, such as changes of tags. Within a class the tenants, which are the namespaces of
// bindings, take turns. AWS has token buckets, too. One of ours never lets out more than one of the same size at AWS lets in. When AWS
// throttles all the same, because others use the account too, ours slows down for a while.
//
// Each bucket has a lock of its own, which is held for no call.
//
// golang.org/x/time/rate knows no priorities, and the SDK's adaptive mode no classes.
package budget

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"
	"sync"
	"time"
)

// Fault spoils calls. A call is hit when operation, target group and security group fit; among several faults the oldest one counts.
// Hang comes first; then Code decides, or the call acts and Drop, Truncate or Omit spoil the answer.
type Fault struct {
	// Operation and TargetGroup (an ARN) pick the calls; empty picks all.
	Operation   string
	TargetGroup string
	// SecurityGroup (an id) picks the calls that name it; empty picks all.
	SecurityGroup string
	// Times is how many calls are hit, For how long after Inject; 0 is without end.
	Times int
	For   time.Duration

	// Hang keeps the call waiting, or until the client goes away; the call acts all the same.
	Hang time.Duration
	// Code answers an error instead of acting, with Message and Status (0: what AWS sends with the code).
	Code    string
	Message string
	Status  int
	// Drop acts and then closes the connection without an answer.
	Drop bool
	// Truncate acts and sends half of the answer before it closes the connection.
	Truncate bool
	// Omit leaves the last n targets out of DescribeTargetHealth.
	Omit int
}

type faults struct {
	mu     sync.Mutex
	active []*injected
}

type injected struct {
	Fault
	left  int
	until time.Time
}

// add arms a fault; the function takes it back.
func (f *faults) add(fault Fault, now time.Time) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	armed := &injected{Fault: fault, left: fault.Times}
	if fault.For > 0 {
		armed.until = now.Add(fault.For)
	}
	f.active = append(f.active, armed)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.active = slices.DeleteFunc(f.active, func(other *injected) bool { return other == armed })
	}
}

// hit finds the fault for a call and uses it up once; the zero Fault spoils nothing.
func (f *faults) hit(call Call, now time.Time) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active = slices.DeleteFunc(f.active, func(i *injected) bool { return !i.until.IsZero() && now.After(i.until) })
	for n, i := range f.active {
		if !i.fits(call) {
			continue
		}
		i.left--
		if i.left == 0 {
			f.active = slices.Delete(f.active, n, n+1)
		}
		return i.Fault
	}
	return Fault{}
}

func (i *injected) fits(call Call) bool {
	return (i.Operation == "" || i.Operation == call.Operation) &&
		(i.TargetGroup == "" || i.TargetGroup == call.TargetGroup) &&
		(i.SecurityGroup == "" || slices.Contains(call.SecurityGroups, i.SecurityGroup))
}

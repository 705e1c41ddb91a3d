// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// user is who the service account is to the API server.
const user = "system:serviceaccount:" + namespace + ":" + account

// Excuse has Close overlook what Kubernetes, and AWS by its policy, refuse to targetgate between now and the call of end: it is on purpose.
func (b *Bed) Excuse() (end func()) {
	begun := time.Now()
	return func() { b.excused = append(b.excused, span{begun, time.Now()}) }
}

type span struct{ from, to time.Time }

// refusals is an error when the API server has refused targetgate anything: a permission is missing in what is shipped.
// Most calls are tried again, so that without this it might be seen in a log only.
func (b *Bed) refusals() error {
	requests, err := b.Cluster.Requests()
	if err != nil {
		return err
	}
	first := map[string]string{}
	for _, r := range requests {
		what := strings.TrimSuffix(r.Verb+" "+r.Resource+"."+r.Group, ".")
		if r.Refused != "" && first[what] == "" && !b.isExcused(r.Received) {
			first[what] = fmt.Sprintf("%s, first at %s: %s", what, r.Received.UTC().Format(time.RFC3339), r.Refused)
		}
	}
	if len(first) == 0 {
		return nil
	}
	return fmt.Errorf("targetgate was refused what its roles should grant:\n%s", strings.Join(slices.Sorted(maps.Values(first)), "\n"))
}

func (b *Bed) isExcused(at time.Time) bool {
	return slices.ContainsFunc(b.excused, func(s span) bool { return !at.Before(s.from) && !at.After(s.to) })
}

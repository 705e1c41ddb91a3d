// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package orphans

import (
	"time"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Recorded is since when a stack has had no object, as the tags of its load balancers say; zero if one of them does not.
func Recorded(seen *stack.Stack) (since time.Time) {
	for _, s := range seen.All() {
		for _, balancer := range s.LoadBalancers {
			at, err := time.Parse(time.RFC3339, balancer.Tags[stack.OrphanTag])
			if err != nil {
				return time.Time{}
			}
			if at.After(since) {
				since = at
			}
		}
	}
	return since
}

// Record writes that on the load balancers that do not say so.
func Record(seen *stack.Stack, since time.Time) (plan steps.Plan) {
	text := since.UTC().Format(time.RFC3339)
	for _, s := range seen.All() {
		for _, balancer := range s.LoadBalancers {
			if balancer.Tags[stack.OrphanTag] != text {
				plan = append(plan, steps.Step{Why: "no Ingress asks for it", Change: steps.Tag{
					Of: stack.Ref{ID: balancer.ARN}, Tags: map[string]string{stack.OrphanTag: text},
				}})
			}
		}
	}
	return plan
}

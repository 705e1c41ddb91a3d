// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingresses

import (
	"context"
	"sync"
	"time"

	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
)

// Tags are those of target groups, by their ARNs, of which it takes TagsAtOnce.
type Tags func(ctx context.Context, arns []string) (map[string]map[string]string, error)

// TagsAtOnce is how many things one call of AWS describes the tags of.
const TagsAtOnce = 20

// owners asks AWS who may send requests to target groups, so that a user is warned at once. It is no more than a warning: the controller
// holds whoever lacks consent. So it asks once a second at most, whoever may create Ingresses, and without an answer nothing is said.
type owners struct {
	tags Tags // nil where nobody's consent is needed

	mu    sync.Mutex // guards asked
	asked time.Time  // when it was asked last
}

// tagsWithin is how long an answer is waited for.
const tagsWithin = time.Second

// tagsPause is the least time between two calls.
const tagsPause = time.Second

// mayAsk reports whether it is time for a call, and takes in that it is made.
func (o *owners) mayAsk() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	may := now.Sub(o.asked) >= tagsPause
	if may {
		o.asked = now
	}
	return may
}

// of are the tags of the first target groups that a member names by their ARNs.
func (o *owners) of(ctx context.Context, member membership.Member, options input.Options) map[string]map[string]string {
	if o.tags == nil {
		return nil
	}
	arns := input.NeedsOf(input.Input{Members: []membership.Member{member}, Options: options}).Owned
	if len(arns) == 0 || !o.mayAsk() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tagsWithin)
	defer cancel()
	tags, err := o.tags(ctx, arns[:min(len(arns), TagsAtOnce)])
	if err != nil {
		return nil
	}
	return tags
}

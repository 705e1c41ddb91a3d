// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/handover"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// standing is whose a binding is, beside the incumbent.
type standing int

const (
	ours    standing = iota
	leaving          // giving it back was begun and may have its effect at any time: it is brought to its end, whatever the label says
	left             // it has been given back, and the cache does not show it yet
	theirs
)

// giving is what is known of writes that give a binding back. The zero value is none.
type giving struct {
	standing   standing // ours, leaving or left
	unanswered bool     // a write failed without a word of the API server, which may have its effect later: no refusal of another ends that
}

// standing says whose the binding is: what the cache shows may be from before our last write.
func (c *claims) standing(binding *v1beta1.TargetGroupBinding) standing {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mode.Holds(binding) && !binding.DeletionTimestamp.IsZero():
		return ours // it takes no other finalizer, so that nobody else can deregister its targets
	case c.isOurs(binding):
		return c.giving.standing
	default:
		c.giving = giving{}
		return theirs
	}
}

// take has the binding claimed from the incumbent beside the pass, and says when to come back after a failure.
func (w *claimWriter) take(s session, binding *v1beta1.TargetGroupBinding) (retryIn time.Duration) {
	c := s.claims
	c.mu.Lock()
	defer c.mu.Unlock()
	held := binding.IsHeld()
	retryIn, began := w.start(s, c.lacksFinalizer(binding), func(ctx context.Context) error {
		err := w.addFinalizer(ctx, c, binding.DeepCopy())
		if held {
			c.settleTill(w.clock.Now().Add(settleDelay))
		}
		if err == nil && held {
			w.reporter.Event(binding, events.Normal("Taken", "Take", "targetgate registers the targets from now on"))
		}
		return err
	})
	if began && held { // until its end, which may come after the cache shows its effect
		c.settlesAt = w.clock.Now().Add(claimTimeout + settleDelay)
	}
	return retryIn
}

func (c *claims) settleTill(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settlesAt = at
}

// settled is when a pass that the incumbent began before the binding was ours must have ended.
func (c *claims) settled() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settlesAt
}

// giveBack has the incumbent take over beside the pass, and says when to come back after a failure.
func (w *claimWriter) giveBack(s session, binding *v1beta1.TargetGroupBinding) (retryIn time.Duration) {
	c := s.claims
	c.mu.Lock()
	defer c.mu.Unlock()
	retryIn, began := w.start(s, c.giving.standing != left, func(ctx context.Context) error {
		given, err := handover.GiveBack(ctx, w.client, binding)
		c.gaveBack(err)
		if given {
			w.reporter.Event(binding, events.Normal("GivenBack", "GiveBack", "aws-load-balancer-controller registers the targets from now on"))
		}
		return err
	})
	if began {
		c.giving.standing = leaving
	}
	return retryIn
}

// gaveBack takes the end of a write that gives the binding back.
func (c *claims) gaveBack(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.giving.standing = left
	case !isRefusal(err):
		c.giving.unanswered = true
	case !c.giving.unanswered:
		c.giving.standing = ours
	}
}

// isRefusal reports whether the API server says that it has not made the write, and will not.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusBadRequest && status.Status().Code < http.StatusInternalServerError
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/targetgate/targetgate/targets/events"
	"github.com/targetgate/targetgate/targets/handover"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/targets/writes"
)

// Standing is whose a binding is, beside the incumbent.
type Standing int

// Whose a binding can be.
const (
	Ours    Standing = iota
	Leaving          // giving it back was begun and may have its effect at any time: it is brought to its end, whatever the label says
	Left             // it has been given back, and the cache does not show it yet
	Theirs
)

// SettleDelay is how long nothing is done for a binding after the API server has said that it was taken from the incumbent, whose pass
// may be under way. It wants the same targets, and ends with a checkpoint. It is a pause, as nothing else tells that there was a pass.
const SettleDelay = 10 * time.Second

// giving is what is known of writes that give a binding back. The zero value is none.
type giving struct {
	standing   Standing // Ours, Leaving or Left
	unanswered bool     // a write failed without a word of the API server, which may have its effect later: no refusal of another ends that
}

// Standing says whose the binding is: what the cache shows may be from before our last write.
func (c *Claims) Standing(binding *v1beta1.TargetGroupBinding) Standing {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.mode.Holds(binding) && !binding.DeletionTimestamp.IsZero():
		return Ours // it takes no other finalizer, so that nobody else can deregister its targets
	case c.isOurs(binding):
		return c.giving.standing
	default:
		c.giving = giving{}
		return Theirs
	}
}

// Take has the binding claimed from the incumbent beside the pass, and says when to come back after a failure.
func (w *Writer) Take(c *Claims, binding *v1beta1.TargetGroupBinding) (retryIn time.Duration) {
	w.see(c, binding)
	c.mu.Lock()
	defer c.mu.Unlock()
	held := binding.IsHeld()
	retryIn, began := w.start(c, binding, c.lacksFinalizer(binding), func(ctx context.Context) error {
		err := w.addFinalizer(ctx, c, binding.DeepCopy())
		if held {
			c.settleTill(w.clock.Now().Add(SettleDelay))
		}
		if err == nil && held {
			w.reporter.Event(binding, events.Normal("Taken", "Take", "targetgate registers the targets from now on"))
		}
		return err
	})
	if began && held { // until its end, which may come after the cache shows its effect
		c.settlesAt = w.clock.Now().Add(writes.ClaimTimeout + SettleDelay)
	}
	return retryIn
}

func (c *Claims) settleTill(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settlesAt = at
}

// Settled is when a pass that the incumbent began before the binding was ours must have ended.
func (c *Claims) Settled() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settlesAt
}

// GiveBack has the incumbent take over beside the pass, and says when to come back after a failure.
func (w *Writer) GiveBack(c *Claims, binding *v1beta1.TargetGroupBinding) (retryIn time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	retryIn, began := w.start(c, binding, c.giving.standing != Left, func(ctx context.Context) error {
		given, err := handover.GiveBack(ctx, w.client, binding)
		c.gaveBack(err)
		if given {
			w.reporter.Event(binding, events.Normal("GivenBack", "GiveBack", "aws-load-balancer-controller registers the targets from now on"))
		}
		return err
	})
	if began {
		c.giving.standing = Leaving
	}
	return retryIn
}

// gaveBack takes the end of a write that gives the binding back.
func (c *Claims) gaveBack(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.giving.standing = Left
	case !isRefusal(err):
		c.giving.unanswered = true
	case !c.giving.unanswered:
		c.giving.standing = Ours
	}
}

// isRefusal reports whether the API server says that it has not made the write, and will not.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusBadRequest && status.Status().Code < http.StatusInternalServerError
}

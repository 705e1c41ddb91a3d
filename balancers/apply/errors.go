// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/balancers/steps"
)

// isGone reports whether AWS says that what a call is about does not exist.
func isGone(err error) bool {
	return awserr.IsGone(err) || ec2.IsGroupNotFound(err)
}

// ErrLingers says of a binding that it is being deleted.
var ErrLingers = errors.New("the TargetGroupBinding remains until targetgate has deregistered its targets")

// errKept is that of what load balancers may still send requests to.
var errKept = errors.New("load balancers may follow former rules for some seconds")

// errUnshown is that of what AWS does not show yet, made or deleted a short time ago.
var errUnshown = errors.New("AWS does not show yet what was made or deleted a short time ago")

// markOf is what all IDs contain of the kind of part that AWS says does not exist, "" for other errors.
func markOf(err error) string {
	switch {
	case awserr.HasCode(err, "LoadBalancerNotFound"):
		return ":loadbalancer/"
	case awserr.HasCode(err, "ListenerNotFound"):
		return ":listener/"
	case awserr.HasCode(err, "RuleNotFound"):
		return ":listener-rule/"
	case awserr.HasCode(err, "TargetGroupNotFound"):
		return ":targetgroup/"
	case ec2.IsGroupNotFound(err), awserr.HasCode(err, "InvalidSecurityGroup"):
		return "sg-"
	}
	return ""
}

// isUnshown reports whether AWS refuses a call because it does not find yet a part that the call names and that we have made. The pass
// leaves out what else names that part.
func (d *doing) isUnshown(err error, named ...string) bool {
	if errors.Is(err, errUnshown) {
		return true
	}
	mark := markOf(err)
	i := slices.IndexFunc(named, func(id string) bool { return mark != "" && strings.Contains(id, mark) && d.View.IsNew(id) })
	if i >= 0 {
		d.unshown = append(d.unshown, named[i])
	}
	return i >= 0
}

// namesUnshown reports whether the change names a part that AWS does not find yet.
func (d *doing) namesUnshown(change steps.Change) bool {
	return slices.ContainsFunc(d.unshown, func(id string) bool { return slices.Contains(steps.IDsIn(change), id) })
}

// isLater reports whether a removal is refused only because something else is not gone yet, or may still be in use.
func isLater(err error) bool {
	return errors.Is(err, ErrLingers) || errors.Is(err, errKept) || awserr.IsInUse(err)
}

// isPending reports whether AWS is still at what was asked for before.
func isPending(err error) bool {
	return awserr.HasCode(err, "CapacityReservationPending", "PriorRequestNotComplete")
}

// IsStale reports whether a step was refused because something is not as it was seen.
func IsStale(err error) bool {
	return isGone(err) || awserr.IsNameTaken(err)
}

// only is the one part that AWS has answered with.
func only[T any](answered []T, what string) (one T, err error) {
	if len(answered) != 1 {
		return one, fmt.Errorf("AWS has answered with %d %s instead of one", len(answered), what)
	}
	return answered[0], nil
}

// foreignError says that a name is taken by something that is not ours.
type foreignError struct {
	what, name, holder string
	bare               bool // it has no tags at all
}

func (e *foreignError) Error() string {
	if e.bare {
		return fmt.Sprintf("the name %s is taken by %s %s, which does not have this stack's tags, nor any: if targetgate has just made it, "+
			"they will show soon; otherwise delete or rename it", e.name, e.what, e.holder)
	}
	return fmt.Sprintf("the name %s is taken by %s %s, which does not have this stack's tags: delete or rename it", e.name, e.what, e.holder)
}

// refusedError is a step that cannot be written as a call: no call was made, and other steps may be done.
type refusedError struct{ error }

func (e refusedError) Unwrap() error { return e.error }

func refuse(err error) error { return refusedError{err} }

// isAlone reports whether a failure says nothing of the steps after it: AWS has refused this one, or we have, or the API server.
func isAlone(err error) bool {
	var refused refusedError
	var foreign *foreignError
	var binding *bindingError
	return awserr.IsDefinite(err) || errors.As(err, &refused) || errors.As(err, &foreign) || errors.As(err, &binding)
}

// IsRefusal reports whether AWS, the API server or we have refused what a step asks for, not for a reason that concerns all steps, and will
// refuse it again until somebody changes something.
func IsRefusal(err error) bool {
	var refused refusedError
	var foreign *foreignError
	return errors.As(err, &refused) || errors.As(err, &foreign) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) ||
		awserr.IsDefinite(err) && !awserr.IsPermission(err) && !IsStale(err)
}

// isCertain reports whether what there is after a failure is what there was before it, and what was seen.
func isCertain(err error) bool {
	return !IsStale(err) && (awserr.HadNoEffect(err) || isAlone(err))
}

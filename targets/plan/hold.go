// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The owner of a target group may have a say in who binds it (package consent). Where that is required, a binding without
// consent registers nothing. What is registered already stays as long as its pod: consent may be withdrawn by accident, and a
// group that serves is never emptied for that. Of the targets that no pod explains, only those that we have seen with a pod
// go: the others may belong to someone else. The gates of pods that may not be registered wait as for a Service that is gone,
// as the tag may come back, and open then. While the tag cannot be read, its last reading holds; where it has never been read,
// nothing is registered.

// Hold is what lack of consent keeps from happening; the zero value is nothing.
type Hold struct {
	Withheld bool   // nothing is registered
	Reason   string // of a condition, empty while there is nothing to say
	Message  string
}

// IsFinal reports whether there is no consent, and not only no answer.
func (h Hold) IsFinal() bool { return h.Withheld && h.Reason == v1beta1.ReasonConsentMissing }

// IsUndecided reports whether the tag is being read for the first time.
func (h Hold) IsUndecided() bool { return h.Withheld && h.Reason == "" }

// HoldOf is what the group's tag means.
func HoldOf(mode consent.Mode, group targetgroup.Snapshot) Hold {
	if !mode.Asks() || group.ARN == "" {
		return Hold{}
	}
	required := mode == consent.Require
	switch tag := group.Tag; {
	case tag.Refusal != "" && required:
		return Hold{true, v1beta1.ReasonConsentMissing,
			"No target is registered (--target-group-consent=require); registered ones stay until their pods go: " + tag.Refusal}
	case tag.Refusal != "":
		return Hold{false, v1beta1.ReasonConsentMissing, "With --target-group-consent=require no target would be registered: " + tag.Refusal}
	case !required || !tag.ReadAt.IsZero():
		return Hold{}
	case tag.Err != nil:
		return Hold{true, v1beta1.ReasonConsentUnknown,
			"No target is registered until the target group's tags have been read (--target-group-consent=require): " + awserr.Message(tag.Err)}
	default:
		return Hold{Withheld: true}
	}
}

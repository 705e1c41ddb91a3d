// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package contest

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/targetgate/targetgate/targets/retry"
)

// Reason is that of the events that tell of a change by somebody else.
const Reason = "Overwritten"

const (
	// firstPause is before what was put back once, and changed again, is put back once more. It doubles up to retry.MaxBackoff.
	firstPause = time.Second
	// calm is after which a change by somebody else is the first one again.
	calm = 2 * time.Minute
	// tellPause is the least time between two events about the same thing.
	tellPause = time.Hour
)

// Contest is what is known of the changes that others make to one thing of ours. The zero value knows none; its owner guards it.
type Contest struct {
	times int
	last  time.Time
	told  time.Time
}

// Lost notes that somebody else has changed what we wrote. Pause is after which to put it back: nothing the first time, then more and more,
// at most retry.MaxBackoff. Tell says that users are to be told.
func (c *Contest) Lost(now time.Time) (pause time.Duration, tell bool) {
	if now.Sub(c.last) > calm {
		c.times = 0
	}
	if c.times > 0 {
		pause = retry.Jitter(retry.Backoff(firstPause, c.times-1, retry.MaxBackoff))
	}
	if tell = c.told.IsZero() || now.Sub(c.told) >= tellPause; tell {
		c.told = now
	}
	c.times, c.last = c.times+1, now
	return pause, tell
}

// IsOver reports whether the Contest is as good as the zero value.
func (c *Contest) IsOver(now time.Time) bool { return c.last.IsZero() || now.Sub(c.last) > tellPause }

// IsBehind reports whether an object of that resource version is older than another one of the same kind, such as the answer to our last
// write of it. Versions can be compared since Kubernetes 1.35, and could before with etcd. Without a version to compare with nothing is
// behind.
func IsBehind(version, written string) bool {
	order, err := resourceversion.CompareResourceVersion(version, written)
	return err == nil && order < 0
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"testing"
	"time"
)

// A read that is older than a security group does not show it. What was added there a moment ago is not forgotten for that.
func TestRulesOfAGroupThatIsNotShownYetAreNotForgotten(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		node := b.ec2.groups["sg-node"]
		hide := func(hidden bool) {
			b.ec2.mu.Lock()
			defer b.ec2.mu.Unlock()
			if delete(b.ec2.groups, "sg-node"); !hidden {
				b.ec2.groups["sg-node"] = node
			}
		}
		hide(true)
		web := b.listed[keyOf("web")]
		b.list(func() { delete(b.listed, web.Key) })
		if b.manager.Release(web.Key, web.UID, web.Networking) {
			b.Error("released at once")
		}
		time.Sleep(2 * time.Second)
		if b.manager.Release(web.Key, web.UID, web.Networking) {
			b.Error("released while its rule is there")
		}
		hide(false)
		time.Sleep(waitingPause)
		b.wantRules("sg-node")
	})
}

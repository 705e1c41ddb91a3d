// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"testing"
)

func TestRulesOfABindingAreGrantedAndRevoked(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80, 443)))
		b.settle()
		b.wantRules("sg-node", "tcp 443 from sg-lb", "tcp 80 from sg-lb")
		b.wantState("web", Ready, ReasonRulesPresent, "sg-node: tcp 443 from sg-lb, tcp 80 from sg-lb")
		if b.manager.Release(keyOf("web"), "web", b.listed[keyOf("web")].Networking) {
			b.Error("released at once")
		}
		b.settle()
		if !b.manager.Release(keyOf("web"), "web", b.listed[keyOf("web")].Networking) {
			b.Error("not released")
		}
		b.wantRules("sg-node")
	})
}

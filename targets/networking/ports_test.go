// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"testing"

	"github.com/targetgate/targetgate/targets/networking/members"
)

// Pods may give one name to different ports, as in a rollout to another port.
func TestNamedPortIsARuleForEachNumberThatAPodHas(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		web := asking("web", from("sg-lb", "http"))
		web.Members = []members.Member{podOn(1, "old"), podOn(1, "new")}
		web.Members[0].Ports, web.Members[0].UID = map[string]int32{"http": 8080}, "old"
		web.Members[1].Ports, web.Members[1].UID = map[string]int32{"http": 9090}, "new"
		b.want(web)
		b.settle()
		b.wantRules("sg-node", "tcp 8080 from sg-lb", "tcp 9090 from sg-lb")
		web.Members = web.Members[1:]
		b.want(web)
		b.settle()
		b.wantRules("sg-node", "tcp 9090 from sg-lb")
	})
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"testing"
	"testing/synctest"
	"time"
)

// remove has somebody else remove the rule of web.
func (b *bed) remove() {
	b.Helper()
	if err := b.ec2.revoke("sg-node", labelled(rule(80, 80, "sg-lb"))); err != nil {
		b.Fatal(err)
	}
}

// untilThere waits for the rule of web, and yields for how long.
func (b *bed) untilThere() time.Duration {
	b.Helper()
	begun := time.Now()
	for len(b.ec2.texts("sg-node")) == 0 && time.Since(begun) < time.Hour {
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
	}
	return time.Since(begun)
}

// readsIn is how often security groups are read in that time.
func (b *bed) readsIn(d time.Duration) int {
	before := b.ec2.count("SecurityGroups")
	time.Sleep(d)
	synctest.Wait()
	return b.ec2.count("SecurityGroups") - before
}

// lost is how many rules the last pass has found removed by somebody else, and whether any has.
func (b *bed) lost() (last int, ever bool) {
	b.manager.mu.Lock()
	defer b.manager.mu.Unlock()
	group := b.manager.groups["sg-node"]
	return len(group.last.lost), !group.last.lostAt.IsZero()
}

// What somebody else removes comes back with the drift check, and while that goes on within half a minute. Later it costs nothing.
func TestRulesThatSomebodyElseGoesOnRemovingComeBackSooner(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		shortest := b.setting.DriftInterval * 4 / 5
		perHour := int(time.Hour / shortest)
		if n := b.readsIn(time.Hour); n > perHour {
			b.Errorf("%d reads in a quiet hour, want at most %d", n, perHour)
		}
		b.remove()
		if took := b.untilThere(); took > b.setting.DriftInterval+time.Second {
			b.Errorf("the rule came back after %s", took)
		}
		for n := range 3 {
			time.Sleep(time.Duration(n) * 10 * time.Second)
			b.remove()
			if took := b.untilThere(); took > lostPause+time.Second {
				b.Errorf("when it was removed again, the rule came back after %s", took)
			}
			if told, _ := b.lost(); told != 1 {
				b.Errorf("%d rules are told of, want 1", told)
			}
		}
		if n := b.readsIn(shortest); n > 4 {
			b.Errorf("%d reads in the %s after the last time, want 4", n, shortest)
		}
		if n, _ := b.lost(); n != 0 {
			b.Errorf("%d rules are told of again", n)
		}
		time.Sleep(2 * b.setting.DriftInterval)
		if n := b.readsIn(time.Hour); n > perHour {
			b.Errorf("%d reads in an hour much later, want at most %d", n, perHour)
		}
	})
}

// Rules that we have removed ourselves, or that EC2 took late, are not taken for removed by somebody else.
func TestOwnChangesAreNobodyElses(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80), from("sg-late", 80)))
		b.settle()
		b.ec2.group("sg-late")
		time.Sleep(maxRefusedPause)
		b.wantRules("sg-node", "tcp 80 from sg-late", "tcp 80 from sg-lb")
		b.want(asking("web"))
		b.settle()
		b.wantRules("sg-node")
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.wantRules("sg-node", "tcp 80 from sg-lb")
		if _, ever := b.lost(); ever {
			b.Error("somebody else is said to have removed a rule")
		}
		b.kill()
		b.start()
		b.want(asking("web", from("sg-lb", 80, 443)))
		time.Sleep(10 * time.Minute)
		if _, ever := b.lost(); ever {
			b.Error("somebody else is said to have removed a rule")
		}
	})
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/targetgate/targetgate/aws/ec2"
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

// Whatever somebody else does to our rules, they are as they were an interval later, and what others have stays theirs, also what they have
// made of a rule of ours. Not put back is the description of a rule: EC2 has a call of its own for it, which no policy of ours allows.
func TestWhatSomebodyElseDoesToRulesIsUndone(t *testing.T) {
	for seed := range uint64(100) {
		inBed(t, func(b *bed) {
			random := rand.New(rand.NewPCG(seed, 45))
			b.ec2.group("sg-other")
			b.start()
			b.want(asking("web", from("sg-lb", 80, 443)), asking("api", from("sg-other", 8080), from("sg-lb", 8080)))
			b.settle()
			want := b.ec2.texts("sg-node")
			if len(want) != 4 {
				b.Fatalf("rules %v", want)
			}
			theirs := map[string]bool{}
			for range 4 {
				var done []string
				for range 1 + random.IntN(4) {
					done = append(done, b.meddle(random, theirs))
					time.Sleep(time.Duration(random.IntN(60)) * time.Second)
				}
				time.Sleep(b.setting.DriftInterval)
				synctest.Wait()
				got := slices.DeleteFunc(b.ec2.texts("sg-node"), func(text string) bool { return theirs[text] })
				if !slices.Equal(got, want) {
					b.Fatalf("seed %d: after %v, an interval later: %v, want %v", seed, done, got, want)
				}
				for text, is := range theirs {
					if is && !slices.Contains(b.ec2.texts("sg-node"), text) {
						b.Fatalf("seed %d: after %v, an interval later: %s is gone, which is somebody else's", seed, done, text)
					}
				}
			}
		})
	}
}

// meddle has somebody else change the rules of the nodes' security group, and notes what is theirs then. It says what they have done.
func (b *bed) meddle(random *rand.Rand, theirs map[string]bool) string {
	b.Helper()
	b.ec2.mu.Lock()
	var all []ec2.Permission
	for rule, text := range b.ec2.groups["sg-node"].rules {
		if !theirs[rule.String()] {
			all = append(all, ec2.Permission{Rule: rule, Description: text})
		}
	}
	b.ec2.mu.Unlock()
	slices.SortFunc(all, func(x, y ec2.Permission) int { return compareNames(x.String(), y.String()) })
	if len(all) == 0 {
		return "nothing"
	}
	one := all[random.IntN(len(all))]
	other, how, remove := one, random.IntN(5), []ec2.Permission{one}
	switch how {
	case 0: // one is removed
		other = ec2.Permission{}
	case 1:
		remove, other = all, ec2.Permission{}
	case 2: // its ports are changed
		other.From--
	case 3:
		other.Description = "theirs"
	default: // one more is added
		remove, other = nil, ec2.Permission{Rule: rule(int32(50+random.IntN(3)), 53, "sg-other"), Description: "theirs"}
	}
	if err := b.ec2.revoke("sg-node", remove); err != nil {
		b.Fatal(err)
	}
	if other != (ec2.Permission{}) && !theirs[other.String()] {
		theirs[other.String()] = how != 3
		if err := b.ec2.authorize("sg-node", []ec2.Permission{other}, how == 3); err != nil {
			b.Fatal(err)
		}
	}
	return fmt.Sprint(how, " ", one.Rule)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/networking/members"
	"github.com/targetgate/targetgate/targets/networking/ruleset"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// asksFor80 has a binding that asks for port 80 from sg-lb, and of which something stays unknown.
var asksFor80 = map[string]func(b *bed, old Binding){
	"a member is not found": func(b *bed, old Binding) {
		old.Members = []members.Member{podOn(9, "lost")}
		b.want(old)
	},
	"a member names another's interface": func(b *bed, old Binding) {
		forged := podOn(1, "forged")
		forged.BranchENI = "eni-0f"
		old.Members = []members.Member{forged}
		b.want(old)
	},
	"there may be more members": func(b *bed, old Binding) {
		old.Members, old.Incomplete = nil, true
		b.want(old)
	},
	"it was never handed over": func(b *bed, old Binding) {
		b.list(func() { b.listed[old.Key] = old })
	},
	"its spec has a fault": func(b *bed, old Binding) {
		old.Networking = spec(from("sg-lb", 80), v1beta1.NetworkingIngressRule{From: []v1beta1.NetworkingPeer{{}}})
		b.want(old)
	},
	"it is far too large": func(b *bed, old Binding) {
		old.Networking = spec(from("sg-lb", 80), v1beta1.NetworkingIngressRule{
			From: make([]v1beta1.NetworkingPeer, 1000), Ports: make([]v1beta1.NetworkingPort, 2),
		})
		b.want(old)
	},
}

// N-2: a broken binding blocks the ports that its spec can ask for, and no others of its flow.
func TestN2BrokenBindingBlocksOnlyItsPorts(t *testing.T) {
	for name, breaks := range asksFor80 {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				b.start()
				b.want(asking("web", from("sg-lb", 80, 443), from("10.0.0.0/8", 80)))
				b.settle()
				breaks(b, asking("broken", from("sg-lb", 80)))
				b.settle()
				b.want(asking("web"))
				time.Sleep(10 * time.Minute)
				b.wantRules("sg-node", "tcp 80 from sg-lb")
				b.wantState("web", Ready, ReasonRulesPresent, "no pod or node needs a rule")
				b.want(asking("broken", from("sg-lb", 8080)))
				time.Sleep(2 * waitingPause)
				b.wantRules("sg-node", "tcp 8080 from sg-lb")
			})
		})
	}
}

// A merged rule stands for the ports between, too: it waits for a binding that may ask for one of them.
func TestMergedRuleWaitsForABindingThatMayAskForAPortInIt(t *testing.T) {
	for name, tc := range map[string]struct {
		port any
		want []string
	}{
		"a port within":   {port: 8080, want: []string{"tcp 80-30000 from sg-lb"}},
		"a port beyond":   {port: 30001, want: []string{"tcp 443 from sg-lb", "tcp 80 from sg-lb"}},
		"a port's name":   {port: "http", want: []string{"tcp 80-30000 from sg-lb"}},
		"a port unstated": {port: nil, want: []string{"tcp 80-30000 from sg-lb"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				merged := rule(80, 30000, "sg-lb")
				b.others("sg-node", merged)
				b.records.texts["sg-node"] = ruleset.Record{merged: {Phase: ruleset.Granted, At: time.Now()}}.String()
				broken := asking("broken", from("sg-lb", tc.port))
				broken.Members = []members.Member{podOn(9, "lost")}
				b.list(func() { b.listed[broken.Key] = broken }) // the first pass comes with the start
				b.start()
				b.want(broken)
				b.settle()
				b.want(asking("web", from("sg-lb", 80, 443)))
				time.Sleep(10 * time.Minute)
				b.wantRules("sg-node", tc.want...)
				b.wantState("broken", Failed, ReasonUnresolved, "cannot resolve pod ENI for pods: [shop/lost: EC2 knows no instance i-09]")
			})
		})
	}
}

// A pod without a port of the name that is asked for wishes for nothing by that name: that is known.
func TestMemberWithAFinalProblemBlocksNothing(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)), asking("unnamed", from("sg-lb", "http")))
		b.settle()
		b.want(asking("web"))
		b.settle()
		b.wantRules("sg-node")
		b.wantState("unnamed", Failed, ReasonUnresolved, `pod shop/unnamed: no container port is named "http"`)
	})
}

// deleted releases the binding and yields how long that takes.
func (b *bed) deleted(name string) time.Duration {
	b.Helper()
	binding := b.listed[keyOf(name)]
	begun := time.Now()
	for !b.manager.Release(binding.Key, binding.UID, binding.Networking) {
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
	}
	return time.Since(begun)
}

// N-5: a rule that another binding may need is not what a deletion waits for. It goes when that other binding is known.
func TestN5DeletionDoesNotWaitForWhatAnotherBindingMayNeed(t *testing.T) {
	for name, breaks := range asksFor80 {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				b.start()
				b.want(asking("web", from("sg-lb", 80, 443)))
				b.settle()
				breaks(b, asking("broken", from("sg-lb", 80)))
				b.settle()
				if took := b.deleted("web"); took > 2*time.Second {
					b.Errorf("the deletion took %s", took)
				}
				b.wantRules("sg-node", "tcp 80 from sg-lb")
				b.wantState("web", Ready, ReasonRulesLeft, "the deletion does not wait for rules that another binding, or owner of the security "+
					"group, may need: sg-node: tcp 80 from sg-lb")
				b.list(func() { delete(b.listed, keyOf("web")) })
				b.manager.Forget(keyOf("web"))
				b.want(asking("broken", from("sg-lb", 8080)))
				time.Sleep(2 * waitingPause)
				b.wantRules("sg-node", "tcp 8080 from sg-lb")
			})
		})
	}
}

// A deletion waits for the rules that the binding can have asked for: not for those of other ports that EC2 does not remove either.
func TestN5DeletionWaitsForItsOwnPortsAlone(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		idle := asking("idle", from("sg-lb", 443))
		idle.Members = nil
		b.want(asking("web", from("sg-lb", 80)), asking("api", from("sg-lb", 8080)), idle)
		b.settle()
		b.ec2.failWith(func(_ context.Context, op string, _ bool) error {
			if op == "Revoke" {
				return apiError("UnauthorizedOperation")
			}
			return nil
		})
		b.want(asking("api"))
		b.settle()
		if took := b.deleted("idle"); took > time.Second {
			b.Errorf("the deletion of idle took %s, though it has no rule", took)
		}
		if took := b.deleted("web"); took < b.setting.ReleaseTimeout-time.Second {
			b.Errorf("the deletion of web took %s, though its rule is there", took)
		}
		b.wantState("web", Failed, ReasonRulesLeft,
			"these rules are left, and are removed once that is possible: sg-node: tcp 80 from sg-lb; UnauthorizedOperation: said EC2")
	})
}

// While the list of bindings cannot be read, nothing is known to be needed by others.
func TestDeletionWaitsWithoutTheListOfBindings(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.list(func() { b.noList = context.DeadlineExceeded })
		if b.deleted("web") < b.setting.ReleaseTimeout-time.Second {
			b.Error("the deletion did not wait")
		}
	})
}

// The first rule of a binding may be on its way when the binding is deleted.
func TestDeletionWaitsForAGrantUnderWay(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		web := asking("web", from("sg-lb", 80))
		asked := make(chan struct{})
		b.ec2.failWith(func(_ context.Context, op string, done bool) error {
			if op == "Authorize" && !done {
				close(asked)
				time.Sleep(10 * time.Second)
			}
			return nil
		})
		b.want(web)
		<-asked
		if took := b.deleted("web"); took < 9*time.Second || took > 20*time.Second {
			b.Errorf("the deletion took %s, and the call 10 s", took)
		}
		b.wantRules("sg-node")
	})
}

// Near the quota wishes become one range though a broken binding, which may ask for any port, keeps the rules that nobody needs any more.
func TestBrokenBindingLeavesRoomForOthers(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		broken := asking("broken", from("sg-lb", "http"))
		broken.Members = []members.Member{podOn(9, "lost")}
		b.want(broken, asking("low", from("sg-lb", 1000)), asking("high", from("sg-lb", 2000)))
		for n := range 100 {
			b.want(asking("web", from("sg-lb", 1001+n)))
			b.settle()
		}
		for _, name := range []string{"low", "high", "web"} {
			b.wantState(name, Ready, ReasonRulesPresent, "sg-node: tcp 1000-2000 from sg-lb")
		}
		if n := len(b.ec2.texts("sg-node")); n > 56 {
			b.Errorf("%d rules", n)
		}
		b.want(asking("broken"))
		time.Sleep(2 * waitingPause)
		b.wantRules("sg-node", "tcp 1000-2000 from sg-lb")
	})
}

// Where there is no room, the message names the binding that keeps rules, and not those that keep none.
func TestBindingThatKeepsRulesIsNamedWhereThereIsNoRoom(t *testing.T) {
	inBed(t, func(b *bed) {
		b.setting.RuleQuota = 2
		b.start()
		broken, other := asking("broken", from("sg-lb", "http")), asking("other", from("sg-2", "http"))
		broken.Members = []members.Member{podOn(9, "lost")}
		other.Members = broken.Members
		b.want(broken, other, asking("web", from("sg-lb", 80, 443)))
		b.settle()
		b.want(asking("web", from("sg-lb", 8080)))
		b.settle()
		b.wantState("web", Failed, ReasonRulesMissing, "security group sg-node has 2 inbound rules for IPv4 and needs 1 more, and the quota is 2: "+
			"tcp 8080 from sg-lb is not added; 2 of its rules stay only until it is known which rules these bindings need, whose status says "+
			"more: shop/broken; remove rules that are not needed, or have AWS raise the quota (inbound rules per security group) and raise "+
			"--security-group-rule-quota")
		b.want(asking("broken"))
		time.Sleep(2 * waitingPause)
		b.wantRules("sg-node", "tcp 8080 from sg-lb")
	})
}

// large is a binding that asks for 2,000 rules from sources that nobody else names.
func large(n int) Binding {
	var all v1beta1.NetworkingIngressRule
	for m := range 1000 {
		all.From = append(all.From, from(fmt.Sprintf("10.%d.%d.%d/32", n, m/256, m%256)).From...)
	}
	all.Ports = []v1beta1.NetworkingPort{tcp(80), {Protocol: new(v1beta1.NetworkingProtocol("UDP"))}}
	return asking(fmt.Sprintf("large-%d", n), all)
}

// What the bindings ask for is read once, and not in each pass over each security group.
func TestPassReadsNoSpecAgain(t *testing.T) {
	b := newBed(t)
	b.manager = New(b.setting)
	for n := range 10 {
		ours, foreign, broken := large(n), large(100+n), large(200+n)
		foreign.Foreign = true
		b.listed[ours.Key], b.listed[foreign.Key] = ours, foreign
		b.want(broken)
	}
	if count := testing.AllocsPerRun(3, func() { b.manager.view(t.Context(), "sg-node") }); count > 100 {
		t.Errorf("%.0f allocations, for 30 bindings", count)
	}
	changed := large(1)
	changed.Networking = spec(from("sg-lb", 80))
	b.listed[changed.Key] = changed
	v := b.manager.view(t.Context(), "sg-node")
	for r, want := range map[ec2.Rule]bool{
		rule(80, 80, "10.0.3.231/32"): true, rule(80, 80, "10.200.0.0/32"): true, rule(80, 80, "sg-lb"): true,
		rule(80, 80, "10.1.0.0/32"): false, rule(80, 80, "10.100.0.0/32"): false,
	} {
		if v.blocked(r) != want {
			t.Errorf("%s is blocked: %t, want %t", r, !want, want)
		}
	}
	if r := rule(80, 80, "10.100.0.0/32"); !v.foreign(r) || v.foreign(rule(80, 80, "10.0.3.231/32")) {
		t.Errorf("%s alone may be wished for by another controller", r)
	}
	if n := len(b.manager.reaches.known); n != 20 {
		t.Errorf("what %d specs can ask for is remembered, want 20", n)
	}
}

// A security group does not keep what bindings could ask for at its last pass.
func TestPassLeavesNoSpecBehind(t *testing.T) {
	inBed(t, func(b *bed) {
		idle := large(1)
		b.listed[idle.Key] = idle
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.manager.mu.Lock()
		defer b.manager.mu.Unlock()
		if last := b.manager.groups["sg-node"].last; !last.decided || len(last.view.unresolved) > 0 || last.view.blocked != nil {
			b.Errorf("it keeps %d, and decided: %t", len(last.view.unresolved), last.decided)
		}
	})
}

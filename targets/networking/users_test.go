// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/networking/members"
	"github.com/targetgate/targetgate/targets/networking/ruleset"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// N-1: after a restart, and while members are not found, nothing that may be wished is revoked.
func TestN1NothingIsRevokedFromAPartialPicture(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)), asking("api", from("sg-lb", 8080)))
		b.settle()
		b.kill()
		b.ec2.instances = map[string]ec2.Instance{}
		b.start()
		b.want(asking("web", from("sg-lb", 80))) // api is listed only
		time.Sleep(time.Hour)
		b.wantRules("sg-node", "tcp 80 from sg-lb", "tcp 8080 from sg-lb")
		b.ec2.node(1, "sg-node")
		b.want(asking("api", from("sg-lb", 9090)))
		time.Sleep(2 * time.Minute)
		b.wantRules("sg-node", "tcp 80 from sg-lb", "tcp 9090 from sg-lb")
	})
}

// N-1: a list that cannot be read is no list of nothing.
func TestN1NothingIsRevokedWithoutTheListOfBindings(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.list(func() { b.noList = errors.New("no list") })
		b.want(asking("web", from("sg-lb", 81)))
		b.settle()
		b.wantRules("sg-node", "tcp 80 from sg-lb", "tcp 81 from sg-lb")
		b.list(func() { b.noList = nil })
		time.Sleep(2 * waitingPause)
		b.wantRules("sg-node", "tcp 81 from sg-lb")
	})
}

// N-3: sources that do not exist take no room from the rules of others, whose names come later.
func TestN3RefusedRulesTakeNoRoom(t *testing.T) {
	inBed(t, func(b *bed) {
		b.setting.RuleQuota = 4
		b.start()
		b.want(asking("bad", from("sg-a1", 80), from("sg-a2", 80), from("sg-a3", 80), from("sg-a4", 80)), asking("web", from("sg-lb", 80)))
		time.Sleep(time.Minute)
		b.wantRules("sg-node", "tcp 80 from sg-lb")
		b.wantState("web", Ready, ReasonRulesPresent, "sg-node: tcp 80 from sg-lb")
	})
}

// N-1: after a restart the target group is not read yet, and pods that are not ready are in no list.
func TestN1RulesStayWhileMembersAreIncomplete(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		web := asking("web", from("sg-lb", 80))
		b.want(web)
		b.settle()
		b.kill()
		b.start()
		unread := web
		unread.Members, unread.Incomplete = nil, true
		b.want(unread)
		time.Sleep(10 * time.Minute)
		b.wantRules("sg-node", "tcp 80 from sg-lb")
		unread.Incomplete = false
		b.want(unread)
		b.settle()
		b.wantRules("sg-node")
	})
}

// With --watch-namespace bindings of other namespaces may need the same rule.
func TestNothingIsRemovedWhereNotAllBindingsAreSeen(t *testing.T) {
	inBed(t, func(b *bed) {
		b.setting.Partial = true
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.want(asking("web"))
		time.Sleep(10 * time.Minute)
		b.wantRules("sg-node", "tcp 80 from sg-lb")
	})
}

// A record that cannot be read, of a group that EC2 does not know, is dropped once.
func TestUnreadableRecordOfUnknownGroupIsDropped(t *testing.T) {
	inBed(t, func(b *bed) {
		b.records.texts["sg-gone"] = "?"
		b.start()
		time.Sleep(10 * time.Minute)
		if n := b.ec2.count("SecurityGroups"); n > 5 {
			t.Errorf("%d reads in 10 minutes, want few", n)
		}
	})
}

// N-3: EC2 refuses a call as a whole; the guilty binding alone carries the error, and is not tried again all the time.
func TestN3BadPeerFailsAlone(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("bad", from("sg-gone", 80)), asking("web", from("sg-lb", 1, 2, 3, 4, 5)))
		b.settle()
		b.wantRules("sg-node", "tcp 1 from sg-lb", "tcp 2 from sg-lb", "tcp 3 from sg-lb", "tcp 4 from sg-lb", "tcp 5 from sg-lb")
		b.wantState("bad", Failed, ReasonRulesMissing, "EC2 does not add tcp 80 from sg-gone to security group sg-node: InvalidGroup.NotFound: said EC2")
		if state := b.manager.State(keyOf("web")); state.Progress != Ready {
			b.Errorf("web is %+v", state)
		}
		before := b.ec2.count("Authorize")
		time.Sleep(time.Hour)
		if n := b.ec2.count("Authorize") - before; n > 30 {
			b.Errorf("%d calls in an hour", n)
		}
		b.ec2.group("sg-gone")
		time.Sleep(maxRefusedPause)
		b.settle()
		if state := b.manager.State(keyOf("bad")); state.Progress != Ready {
			b.Errorf("bad is %+v", state)
		}
	})
}

// N-3: throttling is no reason to make more calls.
func TestN3ThrottledCallIsNotSplit(t *testing.T) {
	inBed(t, func(b *bed) {
		b.ec2.failWith(func(_ context.Context, op string, _ bool) error {
			if op == "Authorize" {
				return apiError("RequestLimitExceeded")
			}
			return nil
		})
		b.start()
		b.want(asking("web", from("sg-lb", 1, 2, 3, 4, 5)))
		time.Sleep(500 * time.Millisecond)
		if n := b.ec2.count("Authorize"); n != 1 {
			b.Errorf("%d calls, want 1", n)
		}
		b.wantState("web", Progressing, ReasonGranting, "rules are being added to security group sg-node; last: RequestLimitExceeded: said EC2")
		b.ec2.failWith(nil)
		b.settle()
		if state := b.manager.State(keyOf("web")); state.Progress != Ready {
			b.Errorf("web is %+v", state)
		}
	})
}

// N-4: two clusters share a node's security group: neither revokes what the other wishes.
func TestN4TwoClustersShareASecurityGroup(t *testing.T) {
	for name, tags := range map[string][]string{
		"with tags of both": {clusterTag, "owned", otherTag, "owned"},
		"without tags":      nil,
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				b.ec2.group("sg-node", tags...)
				ours, theirs := b, newBed(b.T)
				theirs.ec2, theirs.setting.EC2, theirs.setting.ClusterName = b.ec2, b.ec2, "till"
				ours.start()
				theirs.start()
				ours.want(asking("web", from("sg-lb", 80), from("10.0.0.0/8", 443)))
				ours.settle()
				// Theirs finds 443 there, and wishes for a port of its own.
				theirs.want(asking("shop", from("10.0.0.0/8", 443), from("sg-lb", 9090)))
				ours.settle()
				ours.want(asking("web"))
				time.Sleep(time.Hour)
				for _, needed := range []string{"tcp 443 from 10.0.0.0/8", "tcp 9090 from sg-lb"} {
					if !strings.Contains(strings.Join(b.ec2.texts("sg-node"), ","), needed) {
						b.Errorf("%s, which theirs needs, is gone: %q", needed, b.ec2.texts("sg-node"))
					}
				}
				theirs.kill()
			})
		})
	}
}

// N-5: a rule from a load balancer's group is gone before Release is done.
func TestN5ReleaseWaitsForRulesToBeGone(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)), asking("api", from("sg-lb", 8080)))
		b.settle()
		b.kill()
		b.start() // nothing is known of web but its spec
		web := b.listed[keyOf("web")]
		b.want(b.listed[keyOf("api")])
		for b.manager.Release(web.Key, web.UID, web.Networking) == false {
			b.list(func() { b.listed[web.Key] = web })
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		b.wantRules("sg-node", "tcp 8080 from sg-lb")
		b.list(func() { delete(b.listed, web.Key) })
		b.manager.Forget(web.Key)
		b.wantState("web", "", "", "")
	})
}

// N-5: a release ends in time, and says what is left.
func TestN5ReleaseEndsAndNamesWhatIsLeft(t *testing.T) {
	inBed(t, func(b *bed) {
		var woken atomic.Int32
		b.setting.ReleaseTimeout = 7 * time.Minute // a drift check comes before
		b.setting.Wake = func(types.NamespacedName) { woken.Add(1) }
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.ec2.failWith(func(_ context.Context, op string, _ bool) error {
			if op == "Revoke" {
				return apiError("UnauthorizedOperation")
			}
			return nil
		})
		web := b.listed[keyOf("web")]
		if b.manager.Release(web.Key, web.UID, web.Networking) {
			b.Error("released at once")
		}
		b.settle()
		b.wantState("web", Progressing, ReasonReleasing,
			"these rules are being removed: sg-node: tcp 80 from sg-lb; UnauthorizedOperation: said EC2")
		before := woken.Load()
		if again := b.manager.endRelease(web.Key); again != b.setting.ReleaseTimeout-3*time.Second || woken.Load() != before {
			b.Errorf("%s of the time are left", again)
		}
		time.Sleep(b.setting.ReleaseTimeout)
		if woken.Load() == before {
			b.Error("the binding is not woken when its time is over")
		}
		b.wantState("web", Failed, ReasonRulesLeft,
			"these rules are left, and are removed once that is possible: sg-node: tcp 80 from sg-lb; UnauthorizedOperation: said EC2")
		if !b.manager.Release(web.Key, web.UID, web.Networking) {
			b.Error("not released in time")
		}
		b.list(func() { delete(b.listed, web.Key) })
		b.manager.Forget(web.Key)
		b.ec2.failWith(nil)
		time.Sleep(2 * maxPause)
		b.wantRules("sg-node")
	})
}

// N-6: an interface with two tagged groups is its members' error, and no other binding's.
func TestN6AmbiguousSecurityGroupIsToldInTheState(t *testing.T) {
	inBed(t, func(b *bed) {
		b.ec2.group("sg-2", clusterTag, "owned")
		b.ec2.node(2, "sg-2", "sg-node")
		b.start()
		odd := asking("odd", from("sg-lb", 80))
		odd.Members = []members.Member{podOn(2, "odd")}
		b.want(odd, asking("web", from("sg-lb", 443)))
		b.settle()
		b.wantState("odd", Failed, ReasonUnresolved, "cannot resolve pod ENI for pods: [shop/odd: expected exactly one securityGroup tagged with "+
			"kubernetes.io/cluster/shop for eni eni-02, got: [sg-2 sg-node] (clusterName: shop)]")
		b.wantRules("sg-node", "tcp 443 from sg-lb")
	})
}

// N-7: the other pods' groups get their rules.
func TestN7UnresolvedPodDoesNotStopTheOthers(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		web := asking("web", from("sg-lb", "http", 443))
		web.Members = []members.Member{podOn(9, "lost"), podOn(1, "unnamed"), podOn(1, "named")}
		web.Members[2].Ports = map[string]int32{"http": 8080}
		web.Members[2].UID = "named"
		b.want(web)
		b.settle()
		b.wantRules("sg-node", "tcp 443 from sg-lb", "tcp 8080 from sg-lb")
		b.wantState("web", Failed, ReasonUnresolved, "cannot resolve pod ENI for pods: [shop/lost: EC2 knows no instance i-09]; "+
			`pod shop/unnamed: no container port is named "http"`)
	})
}

// N-8: exact ports, the merged range only near the quota.
func TestN8ExactPortsWhileTheQuotaAllows(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)), asking("api", from("sg-lb", 30000)))
		b.settle()
		b.wantRules("sg-node", "tcp 30000 from sg-lb", "tcp 80 from sg-lb")
		for n := range 54 {
			b.others("sg-node", rule(1, 1, fmt.Sprintf("10.%d.0.0/16", n)))
		}
		time.Sleep(b.setting.DriftInterval)
		b.settle()
		texts := strings.Join(b.ec2.texts("sg-node"), ",")
		if !strings.Contains(texts, "tcp 80-30000 from sg-lb") {
			b.Errorf("not merged near the quota: %s", texts)
		}
		b.wantState("web", Ready, ReasonRulesPresent, "sg-node: tcp 80-30000 from sg-lb")
	})
}

// N-9: no call is made that EC2 would refuse, nothing is revoked to make room, and the binding has the numbers.
func TestN9QuotaIsCountedBeforeTheCall(t *testing.T) {
	inBed(t, func(b *bed) {
		for n := range 60 {
			b.others("sg-node", rule(1, 1, fmt.Sprintf("10.%d.0.0/16", n)))
		}
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		if n := b.ec2.count("Authorize", "Revoke"); n != 0 {
			b.Errorf("%d calls", n)
		}
		state := b.manager.State(keyOf("web"))
		const want = "security group sg-node has 60 inbound rules for IPv4 and needs 1 more, and the quota is 60: tcp 80 from sg-lb is not added"
		if state.Progress != Failed || state.Reason != ReasonRulesMissing || !strings.HasPrefix(state.Message, want) {
			b.Errorf("state %+v, want %s", state, want)
		}
	})
}

// N-10: what was removed by hand is there again within the drift interval; another choice of group is seen within a tenth more.
func TestN10DriftIsRepaired(t *testing.T) {
	inBed(t, func(b *bed) {
		b.ec2.group("sg-2")
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		if err := b.ec2.revoke("sg-node", labelled(rule(80, 80, "sg-lb"))); err != nil {
			b.Fatal(err)
		}
		time.Sleep(b.setting.DriftInterval)
		b.settle()
		b.wantRules("sg-node", "tcp 80 from sg-lb")
		b.ec2.node(1, "sg-2")
		time.Sleep(b.setting.DriftInterval * 11 / 10)
		b.settle()
		b.wantRules("sg-2", "tcp 80 from sg-lb")
		b.wantRules("sg-node")
	})
}

// N-11: a change of ports grants before it revokes, and a rule that somebody has added meanwhile is success.
func TestN11GrantPrecedesRevoke(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("10.0.0.7/8", 80)))
		b.settle()
		b.ec2.mu.Lock()
		b.ec2.calls = nil
		b.ec2.mu.Unlock()
		b.ec2.failWith(func(_ context.Context, op string, done bool) error {
			if op == "Authorize" && !done {
				b.ec2.failWith(nil)
				b.others("sg-node", rule(81, 81, "10.0.0.0/8"))
			}
			return nil
		})
		b.want(asking("web", from("10.0.0.0/8", 81)))
		b.settle()
		b.wantRules("sg-node", "tcp 81 from 10.0.0.0/8")
		if got := strings.Join(b.ec2.calls, " "); got != "SecurityGroups Authorize Revoke" {
			b.Errorf("calls %s", got)
		}
	})
}

// N-12: the state says which group has which rules.
func TestN12StateNamesGroupsAndRules(t *testing.T) {
	inBed(t, func(b *bed) {
		b.ec2.group("sg-2")
		b.ec2.node(2, "sg-2")
		b.start()
		web := asking("web", from("sg-lb", 80))
		web.Members = append(web.Members, podOn(2, "web"))
		b.want(web)
		b.wantState("web", Progressing, ReasonResolving, "the network interfaces of the pods or nodes are being looked up")
		b.settle()
		b.wantState("web", Ready, ReasonRulesPresent, "sg-2: tcp 80 from sg-lb; sg-node: tcp 80 from sg-lb")
	})
}

// N-13: `ports: []` is all TCP ports, and a hybrid node is left out.
func TestN13EmptyPortsAndHybridNodes(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		web := asking("web", from("sg-lb"))
		web.Nodes, web.Members = true, []members.Member{{Name: "hybrid", UID: "h", Class: members.ClassHybrid}, {Name: "n", UID: "n", Class: members.ClassEC2, Instance: "i-01"}}
		b.want(web)
		b.settle()
		b.wantRules("sg-node", "tcp 0-65535 from sg-lb")
		b.wantState("web", Ready, ReasonRulesPresent, "sg-node: tcp 0-65535 from sg-lb")
	})
}

// A take-over from the incumbent finds labelled, merged ranges, and makes no call that changes a group, in whatever order bindings come.
func TestTakeOverChangesNothing(t *testing.T) {
	inBed(t, func(b *bed) {
		b.others("sg-node", rule(80, 30000, "sg-lb"), rule(80, 80, "10.0.0.0/8"))
		all := []Binding{
			asking("web", from("sg-lb", 80), from("10.0.0.0/8", 80)), asking("api", from("sg-lb", 30000)), asking("till", from("sg-lb", 443)),
		}
		for _, binding := range all {
			b.listed[binding.Key] = binding
		}
		b.start()
		for _, binding := range all {
			b.settle()
			b.want(binding)
		}
		time.Sleep(time.Hour)
		if n := b.ec2.count("Authorize", "Revoke"); n != 0 {
			b.Errorf("%d calls", n)
		}
		for _, binding := range all {
			if state := b.manager.State(binding.Key); state.Progress != Ready {
				b.Errorf("%s is %+v", binding.Key.Name, state)
			}
		}
	})
}

// The ports of the merged rule stay open while one of the exact rules that replace it is refused.
func TestMergedRuleStaysUntilAllExactOnesAreThere(t *testing.T) {
	inBed(t, func(b *bed) {
		merged := rule(80, 443, "sg-lb")
		b.others("sg-node", merged)
		b.records.texts["sg-node"] = ruleset.Record{merged: {Phase: ruleset.Granted, At: time.Now()}}.String()
		b.start()
		b.want(asking("web", from("sg-lb", 80, 443)))
		b.settle()
		b.wantRules("sg-node", "tcp 80-443 from sg-lb")
		b.ec2.failWith(func(_ context.Context, op string, done bool) error {
			if op == "Authorize" && !done {
				return apiError("InvalidParameterValue")
			}
			return nil
		})
		b.want(asking("web", from("sg-lb", 80, 443, 8080)))
		time.Sleep(time.Hour)
		b.wantRules("sg-node", "tcp 80-443 from sg-lb")
		b.ec2.failWith(nil)
		time.Sleep(maxRefusedPause + time.Second)
		b.wantRules("sg-node", "tcp 443 from sg-lb", "tcp 80 from sg-lb", "tcp 8080 from sg-lb")
	})
}

// A quota of AWS that is below the setting is told with the numbers.
func TestQuotaOfAWSBelowTheSetting(t *testing.T) {
	inBed(t, func(b *bed) {
		b.ec2.mu.Lock()
		b.ec2.quota = 1
		b.ec2.mu.Unlock()
		b.start()
		b.want(asking("web", from("sg-lb", 80, 443)))
		time.Sleep(time.Second)
		b.wantRules("sg-node", "tcp 80 from sg-lb")
		b.wantState("web", Failed, ReasonRulesMissing, "EC2 does not add tcp 443 from sg-lb to security group sg-node: "+
			"RulesPerSecurityGroupLimitExceeded: said EC2 (quota: inbound rules per security group, IPv4 and IPv6 counted apart) "+
			"(it was last seen with 0 inbound rules; AWS's quota is below --security-group-rule-quota=60)")
	})
}

func TestUnchangedWishesMakeNoCall(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		before, version := len(b.ec2.calls), b.manager.bindings[keyOf("web")].version
		for range 50 {
			b.want(asking("web", from("sg-lb", 80)))
			synctest.Wait()
		}
		if n := len(b.ec2.calls) - before; n != 0 {
			b.Errorf("%d calls", n)
		}
		if b.manager.bindings[keyOf("web")].version != version {
			b.Error("the binding was looked at again")
		}
	})
}

func TestFaultySpecKeepsTheRulesAndSaysSo(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.want(asking("web", v1beta1.NetworkingIngressRule{From: []v1beta1.NetworkingPeer{{}}}))
		time.Sleep(time.Hour)
		b.wantRules("sg-node", "tcp 80 from sg-lb")
		b.wantState("web", Failed, ReasonInvalidNetworking, "spec.networking.ingress[0].from[0]: Required value: either ipBlock or securityGroup "+
			"should be specified; the rules stay as they were until this is corrected")
	})
}

func TestRecordThatCannotBeReadKeepsRulesAndStays(t *testing.T) {
	inBed(t, func(b *bed) {
		b.others("sg-node", rule(80, 80, "10.0.0.0/8"))
		b.records.texts["sg-node"] = "?"
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.wantRules("sg-node", "tcp 80 from 10.0.0.0/8", "tcp 80 from sg-lb")
		b.want(asking("web"))
		time.Sleep(time.Hour)
		b.wantRules("sg-node", "tcp 80 from 10.0.0.0/8", "tcp 80 from sg-lb")
		if b.records.texts["sg-node"] != "?" {
			b.Error("the record was written")
		}
	})
}

func TestSecurityGroupThatIsGoneIsForgotten(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.ec2.mu.Lock()
		delete(b.ec2.groups, "sg-node")
		b.ec2.mu.Unlock()
		b.want(asking("web"))
		time.Sleep(2 * ruleset.ReadLag)
		b.records.mu.Lock()
		defer b.records.mu.Unlock()
		if len(b.records.texts) != 0 {
			b.Errorf("records %q", b.records.texts)
		}
	})
}

// What was wished for while the call that revokes it was being prepared stays.
func TestRevokeIsCheckedAgainAfterTheGrants(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.ec2.failWith(func(_ context.Context, op string, done bool) error {
			if op == "Authorize" && !done {
				b.want(asking("api", from("sg-lb", 80)))
			}
			if op == "Revoke" {
				b.Error("revoked")
			}
			return nil
		})
		b.want(asking("web", from("sg-lb", 81)))
		b.settle()
		b.wantRules("sg-node", "tcp 80 from sg-lb", "tcp 81 from sg-lb")
	})
}

// A read of EC2 that fails changes nothing, and is no fault of a binding.
func TestFailedReadInADriftCheckChangesNothing(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		before := b.manager.State(keyOf("web"))
		b.ec2.failWith(func(_ context.Context, op string, _ bool) error {
			if op == "Instances" {
				return apiError("RequestLimitExceeded")
			}
			return nil
		})
		time.Sleep(time.Hour)
		if state := b.manager.State(keyOf("web")); state != before {
			b.Errorf("state %+v, before %+v", state, before)
		}
		api := asking("api", from("sg-lb", 443))
		api.Members[0].UID = "api"
		b.want(api)
		b.settle()
		b.wantState("api", Progressing, ReasonResolving,
			"cannot resolve pod ENI for pods: [shop/api: RequestLimitExceeded: said EC2]")
	})
}

// A rule that is not written down is not added: nobody would know whose it is.
func TestNothingIsGrantedWithoutTheRecord(t *testing.T) {
	inBed(t, func(b *bed) {
		b.records.failWith(func(context.Context, string, bool) error { return errors.New("the API server does not answer") })
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.wantRules("sg-node")
		b.wantState("web", Progressing, ReasonGranting, "rules are being added to security group sg-node; last: writing the record of our rules "+
			"of security group sg-node: the API server does not answer")
		b.records.failWith(nil)
		b.settle()
		time.Sleep(10 * time.Second)
		b.wantRules("sg-node", "tcp 80 from sg-lb")
	})
}

// New wishes are urgent and charged to their namespace; drift checks are neither.
func TestCallsAreChargedToClassesAndNamespaces(t *testing.T) {
	inBed(t, func(b *bed) {
		var charging sync.Mutex
		var charges []string
		b.ec2.failWith(func(ctx context.Context, op string, done bool) error {
			charging.Lock()
			defer charging.Unlock()
			if charge := budget.ChargeOf(ctx); !done {
				charges = append(charges, fmt.Sprintf("%s %s %s", op, charge.Class, charge.Tenant))
			}
			return nil
		})
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		time.Sleep(b.setting.DriftInterval)
		charging.Lock()
		defer charging.Unlock()
		slices.Sort(charges)
		want := []string{
			"Authorize register shop", "Instances other shop", "Instances register shop", "SecurityGroups other ", "SecurityGroups register shop",
		}
		if got := slices.Compact(charges); !slices.Equal(got, want) {
			b.Errorf("charges:\n got %q\nwant %q", got, want)
		}
	})
}

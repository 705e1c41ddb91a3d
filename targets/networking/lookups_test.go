// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/targetgate/targetgate/targets/retry"
)

// Pods that EC2 does not know, and that come one after the other, cost a number of calls that does not grow with theirs.
func TestMembersThatEC2DoesNotKnowCostFewCalls(t *testing.T) {
	calls := func(t *testing.T, pods int) (n int) {
		inBed(t, func(b *bed) {
			b.start()
			web := asking("web", from("sg-lb", 80))
			for n := range pods { // in 100 s
				web.Members = append(web.Members[:n:n], podOn(9, fmt.Sprint("lost-", n)))
				b.want(web)
				time.Sleep(100 * time.Second / time.Duration(pods))
			}
			time.Sleep(10 * time.Minute)
			n = b.ec2.count("Instances")
			b.ec2.node(9, "sg-node")
			time.Sleep(time.Minute + 3*time.Second)
			b.wantState("web", Ready, ReasonRulesPresent, "sg-node: tcp 80 from sg-lb")
		})
		return n
	}
	// A look a second at new ones and at those of a second before, and fewer and fewer at those that are missing for longer.
	const most = 100*4 + 10*3
	few, many := calls(t, 100), calls(t, 1000)
	if few > most || many > most+1000 {
		t.Errorf("%d calls for 100 pods, %d for 1,000, want at most %d, and one more for each pod", few, many, most)
	}
}

// A role that may not add rules is no rule's fault: soon after it may, they are there.
func TestRulesAreAddedSoonAfterTheRoleMay(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.ec2.failWith(func(_ context.Context, op string, _ bool) error {
			if op == "Authorize" {
				return apiError("UnauthorizedOperation")
			}
			return nil
		})
		b.want(asking("web", from("sg-lb", 80)))
		time.Sleep(time.Hour)
		b.ec2.failWith(nil)
		time.Sleep(retry.MaxBackoff + 5*time.Second)
		b.wantRules("sg-node", "tcp 80 from sg-lb")
	})
}

// A ConfigMap that is replaced by one without records has them again with the next drift checks, before a restart would miss them.
func TestRecordsThatAreLostAreWrittenAgain(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.records.lose()
		time.Sleep(2 * b.setting.DriftInterval)
		b.kill()
		b.list(func() { clear(b.listed) })
		b.start()
		time.Sleep(time.Minute)
		b.wantRules("sg-node")
	})
}

// While it is not known which rules are ours, bindings say why, and what to do.
func TestRecordsThatCannotBeReadAreToldInTheState(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "records", errors.New("no"))
	for name, tc := range map[string]struct {
		err  error
		want Progress
	}{
		"the API server does not answer": {err: errors.New("connection refused"), want: Progressing},
		"the API server refuses":         {err: forbidden, want: Failed},
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, func(b *bed) {
				var woken atomic.Int32
				b.setting.Wake = func(types.NamespacedName) { woken.Add(1) }
				b.records.failLoad(tc.err)
				b.start()
				web, gone := asking("web", from("sg-lb", 80)), asking("gone", from("sg-lb", 81))
				b.want(web)
				b.manager.Release(gone.Key, gone.UID, gone.Networking)
				time.Sleep(time.Minute)
				text := "no security group is changed while the records of security group rules cannot be read: " + tc.err.Error()
				b.wantState("web", tc.want, ReasonRecordsUnreadable, text)
				b.wantState("gone", tc.want, ReasonRecordsUnreadable, text)
				if n := woken.Load(); n < 1 || n > 4 {
					b.Errorf("bindings were woken %d times in a minute, want once for each", n)
				}
				b.records.failLoad(nil)
				time.Sleep(2 * maxPause)
				b.wantState("web", Ready, ReasonRulesPresent, "sg-node: tcp 80 from sg-lb")
			})
		})
	}
	if text := advice(forbidden); !strings.Contains(text, "allow targetgate get and patch") {
		t.Errorf("advice %q", text)
	}
}

// Who asks for too much hurts nobody but himself.
func TestSpecWithTooManyRulesHurtsNobodyElse(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80, 443)))
		b.settle()
		large := from("sg-lb")
		for n := range 1001 {
			large.Ports = append(large.Ports, tcp(1000+n))
		}
		b.want(asking("large", large), asking("api", from("sg-lb", 8080)), asking("web", from("sg-lb", 443)))
		b.settle()
		b.wantRules("sg-node", "tcp 443 from sg-lb", "tcp 8080 from sg-lb")
		b.wantState("large", Failed, ReasonInvalidNetworking, "spec.networking.ingress: asks for 1001 rules, and AWS has at most 1000 at a "+
			"network interface: name fewer peers or ports; the rules stay as they were until this is corrected")
		b.wantState("api", Ready, ReasonRulesPresent, "sg-node: tcp 8080 from sg-lb")
	})
}

// A failed read forgets nothing of rules that stay: they are told once.
func TestFailedReadForgetsNoRuleThatStays(t *testing.T) {
	inBed(t, func(b *bed) {
		b.others("sg-node", rule(22, 22, "10.0.0.0/8"))
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		b.ec2.failWith(func(_ context.Context, op string, _ bool) error {
			if op == "SecurityGroups" {
				return apiError("RequestLimitExceeded")
			}
			return nil
		})
		time.Sleep(b.setting.DriftInterval * 11 / 10)
		synctest.Wait()
		b.manager.mu.Lock()
		last := b.manager.groups["sg-node"].last
		b.manager.mu.Unlock()
		if last.err == nil || len(last.unowned) != 1 {
			b.Errorf("after a read that failed with %v, %v are known to stay, want one rule", last.err, last.unowned)
		}
	})
}

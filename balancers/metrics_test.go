// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/targetgate/targetgate/balancers/frontend"
	"github.com/targetgate/targetgate/balancers/ingress/objects"
	"github.com/targetgate/targetgate/balancers/stack"
)

// A group's metrics say how many members are held, what its load balancer uses and when its first certificate expires. They go with it.
func TestMetricsOfAGroup(t *testing.T) {
	group := stack.Group{Name: "metrics"}
	certificates := []string{"default", "late", "early", "given", "default"}
	balancer := stack.LoadBalancer{ARN: "arn", Scheme: "internal", Listeners: []stack.Listener{
		{Rules: make([]stack.Rule, 3)}, {Rules: make([]stack.Rule, 2), Certificates: certificates},
	}}
	p := &pass{
		Reconciler: &Reconciler{Frontend: &objects.Ingresses{}}, group: group, built: true,
		members: frontend.Members{Active: []frontend.Member{{Object: ingressOf("a", group)}}},
		wanted:  stack.Stack{Members: []stack.Member{{Name: "a", Held: true}, {Name: "b"}}},
		seen: stack.Stack{LoadBalancers: []stack.LoadBalancer{balancer}, TargetGroups: []stack.TargetGroup{
			{LoadBalancers: []string{"arn"}}, {LoadBalancers: []string{"other"}}, {},
		}},
		expiries: map[string]time.Time{"default": time.Unix(300, 0), "late": time.Unix(200, 0), "early": time.Unix(100, 0)},
	}
	gauges{p}.measure(false, time.Unix(30, 0))
	gauges{p}.measure(false, time.Unix(40, 0))
	if got := value(lastGood.WithLabelValues("metrics")); got != 30 {
		t.Errorf("last good of a group that never was: %v, want the end of its first pass", got)
	}
	gauges{p}.measure(true, time.Unix(50, 0))
	gauges{p}.measure(false, time.Unix(60, 0))
	for name, tc := range map[string]struct {
		of   *prometheus.GaugeVec
		more []string
		want float64
	}{
		"last good":     {lastGood, nil, 50},
		"failing":       {failing, nil, 1},
		"held":          {held, nil, 1},
		"rules":         {used, []string{quotaRules}, 5},
		"certificates":  {used, []string{quotaCertificates}, 3},
		"target groups": {used, []string{quotaTargetGroups}, 1},
		"expires":       {expires, nil, 100},
	} {
		if got := value(tc.of.WithLabelValues(append([]string{"metrics"}, tc.more...)...)); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	p.members = frontend.Members{}
	gauges{p}.measure(true, time.Unix(70, 0))
	for _, of := range []*prometheus.GaugeVec{lastGood, failing, held, used, expires} {
		if n := of.DeletePartialMatch(prometheus.Labels{"group": "metrics"}); n > 0 {
			t.Errorf("%d series of a group that is gone", n)
		}
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/run"
)

func TestChoose(t *testing.T) {
	cases := map[string]struct {
		names   string
		want    []string
		wantErr bool
	}{
		"all": {"all", []string{
			"one", "bare", "load", "rush", "one-binding", "unrelated", "ingress", "ingress-group", "ingress-apart", "ingress-broken", "ingress-hundred", "ingress-groups", "ingress-turns", "ingress-thousand", "admission",
			"growth-100", "growth-100-in-one", "growth-1000", "growth-1000-in-one", "growth-5000", "growth-5000-in-one",
		}, false},
		"the usual ones":    {" ", []string{"one", "rush", "ingress", "growth-1000"}, false},
		"in another order":  {"rush, one", []string{"rush", "one"}, false},
		"any size":          {"growth-20,one,growth-15000-in-one", []string{"growth-20", "one", "growth-15000-in-one"}, false},
		"unknown":           {"one,two", nil, true},
		"size is no number": {"growth-many", nil, true},
		"size is none":      {"growth-0", nil, true},
		"size is uneven":    {"growth-150-in-one", nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			chosen, err := choose(tc.names)
			var got []string
			for _, s := range chosen {
				got = append(got, s.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.wantErr {
				t.Errorf("error %v; scenarios (-want +got):\n%s", err, diff)
			}
		})
	}
}

// What -list prints can be asked for.
func TestListedScenariosCanBeChosen(t *testing.T) {
	marked := 0
	for line := range strings.Lines(listed()) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			break
		}
		if fields[0] == "*" {
			marked, fields = marked+1, fields[1:]
		}
		if chosen, err := choose(fields[0]); err != nil || len(chosen) != 1 || chosen[0].Name != fields[0] {
			t.Errorf("%s: %v, %v", fields[0], chosen, err)
		}
	}
	if want := len(usual()); marked != want || want == 0 {
		t.Errorf("%d scenarios are marked, want %d", marked, want)
	}
}

func TestGrowthSpreadsPods(t *testing.T) {
	cases := map[string]struct {
		pods                              int
		wantBindings, wantEach, wantNodes int
	}{
		"few":         {20, 20, 1, 3},
		"one each":    {100, 100, 1, 3},
		"many":        {5000, 100, 50, 11},
		"three nodes": {1400, 100, 14, 3},
		"very many":   {15000, 500, 30, 32}, // all nodes that there are
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := growth(tc.pods)
			if s.Bindings != tc.wantBindings || s.Replicas != tc.wantEach || s.nodes() != tc.wantNodes {
				t.Errorf("got %d x %d on %d nodes, want %d x %d on %d",
					s.Bindings, s.Replicas, s.nodes(), tc.wantBindings, tc.wantEach, tc.wantNodes)
			}
		})
	}
}

func TestAppsHaveNamesOfTheirOwn(t *testing.T) {
	for _, s := range append([]scenario{growth(5000), growth(5000).inOneNamespace()}, scenarios...) {
		seen := map[string]bool{}
		for _, app := range s.apps() {
			if seen[app.Name] || len(app.Name) > 32 {
				t.Errorf("%s is there twice, or too long for a load balancer", app.Name)
			}
			seen[app.Name] = true
			if shared := app.Namespace != ""; shared != s.OneNamespace {
				t.Errorf("%s: in a namespace with others: %t, want %t", app.Name, shared, s.OneNamespace)
			}
			if (app.Template != nil) != s.Unprobed {
				t.Errorf("%s: unprobed %t, template changed %t", app.Name, s.Unprobed, app.Template != nil)
			}
		}
	}
}

func TestParseOptions(t *testing.T) {
	required := []string{"-control-plane", "a", "-targetgate", "b"}
	cases := map[string]struct {
		args    []string
		wantErr bool
	}{
		"defaults":             {required, false},
		"no programs":          {nil, true},
		"one program":          {required[:2], true},
		"unknown scenario":     {append([]string{"-scenario", "two"}, required...), true},
		"unknown flag":         {append([]string{"-fast"}, required...), true},
		"a list":               {[]string{"-list"}, false},
		"quick, without files": {append([]string{"-quick", "-json", "", "-logs", ""}, required...), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := parseOptions(tc.args); (err != nil) != tc.wantErr {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestQuickMakesScenariosSmall(t *testing.T) {
	o := options{quick: true, Programs: run.Programs{ControlPlane: "a", Targetgate: "b"}, scenarios: []scenario{scenarios[2], growth(1000)}}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	if got := o.scenarios[0].pods(); got > 12 {
		t.Errorf("%d pods", got)
	}
	if got := o.scenarios[1].pods(); got != 1000 {
		t.Errorf("the growth run has %d pods, want what was asked for", got)
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"
)

// sample is a result with a goal that is met, one that is missed, and figures without one.
func sample(quick bool) *result {
	r := newResult(scenarios[0], quick)
	r.time(gateMedian, 412*time.Millisecond)
	r.time(gateMax, 2*time.Second)
	r.count(requestsAll, 40102)
	r.add(memory, 69.6, mebibytes)
	r.Calls = map[string]int{register: 1234, describeHealth: 5}
	return r
}

func TestResultComparesWithGoals(t *testing.T) {
	want := []figure{
		{Name: gateMedian, Unit: seconds, Value: 0.412, Goal: ptr.To(0.7), Incumbent: ptr.To(10.5), Met: ptr.To(true)},
		{Name: gateMax, Unit: seconds, Value: 2, Goal: ptr.To(1.5), Incumbent: ptr.To(12.0), Met: ptr.To(false)},
		{Name: requestsAll, Value: 40102},
		{Name: memory, Unit: mebibytes, Value: 69.6},
	}
	r := sample(false)
	if diff := cmp.Diff(want, r.Figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:2], r.missed()); diff != "" || r.goals() != 2 {
		t.Errorf("%d goals, want 2; missed (-want +got):\n%s", r.goals(), diff)
	}
}

func TestResultOfQuickRunHasNoGoals(t *testing.T) {
	if r := sample(true); r.goals() != 0 || len(r.missed()) != 0 {
		t.Errorf("%d goals, missed %v", r.goals(), r.missed())
	}
}

func TestExpectedKnowsFigure(t *testing.T) {
	cases := map[string]struct {
		scenario, figure string
		want             expectation
	}{
		"of the scenario":           {"growth-5000", memory, want(85, 95)},
		"not of this scenario":      {"growth-1000", memory, expectation{}},
		"of every scenario":         {"growth-1000", callsThrottled, wantOnly(0)},
		"known of the incumbent":    {"rush", callsDescribe, knownOnly(392)},
		"nothing is known":          {"rush", busy, expectation{}},
		"scenario that is not here": {"none", took, expectation{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, expected(tc.scenario, tc.figure), cmp.AllowUnexported(expectation{})); diff != "" {
				t.Errorf("expectation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExpectationsAreOfScenarios(t *testing.T) {
	names := map[string]bool{growth(5000).Name: true, growth(5000).inOneNamespace().Name: true}
	for _, s := range scenarios {
		names[s.Name] = true
	}
	for scenario := range expectations {
		if !names[scenario] {
			t.Errorf("there is no scenario %s", scenario)
		}
	}
}

func TestTable(t *testing.T) {
	r := sample(false)
	r.Error = "waited in vain\nand a log"
	want := `
one: one Deployment is rolled, 1 x 20 pods
                                           goal, <=    incumbent         ours     goal met
------------------------------------------------------------------------------------------
healthy -> gate open, median                 0.70 s      10.50 s       0.41 s          yes
healthy -> gate open, max                    1.50 s      12.00 s       2.00 s           NO
requests                                          -            -       40,102            -
peak memory of targetgate                         -            -       70 MiB            -
AWS calls by operation: DescribeTargetHealth 5, RegisterTargets 1,234
NOT RUN TO ITS END: waited in vain

`
	if diff := cmp.Diff(want, r.table()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestSummaryNamesWhatWasMissed(t *testing.T) {
	r := report{Environment: environment{Cores: 2, Go: "go1.26.8", Commit: "abc"}, Results: []result{*sample(false), *sample(false)}}
	want := `2 of 4 goals reached; 2 cores, go1.26.8, targetgate abc
  missed: one: healthy -> gate open, max: 2.00 s, goal 1.50 s
  missed: one: healthy -> gate open, max: 2.00 s, goal 1.50 s
`
	if diff := cmp.Diff(want, r.summary()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if got := (report{Quick: true}).summary(); !strings.Contains(got, "say nothing") {
		t.Errorf("summary of a quick run is %q", got)
	}
}

func TestTextHasDigitsThatMeanSomething(t *testing.T) {
	cases := map[string]struct {
		value float64
		unit  unit
		want  string
	}{
		"seconds":  {0.7, seconds, "0.70 s"},
		"count":    {1234567, number, "1,234,567"},
		"small":    {7, number, "7"},
		"rate":     {24.96, perSecond, "25.0 /s"},
		"memory":   {69.6, mebibytes, "70 MiB"},
		"share":    {95.5, percent, "96 %"},
		"thousand": {1000, number, "1,000"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := text(tc.value, tc.unit); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSaveWritesJSON(t *testing.T) {
	want := report{
		Date: start, Environment: environment{Cores: 2, Go: "go1.26.8", Commit: "abc"}, Results: []result{*sample(false)},
	}
	path := filepath.Join(t.TempDir(), "bench.json")
	if err := want.save(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(result{})); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if err := want.save(""); err != nil {
		t.Errorf("saving nowhere: %v", err)
	}
	if err := want.save(filepath.Join(path, "below a file")); err == nil {
		t.Error("saved below a file")
	}
}

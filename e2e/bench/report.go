// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/targetgate/targetgate/e2e/run"
)

// report is all that a run of the bench found.
type report struct {
	Date        time.Time   `json:"date"`
	Environment environment `json:"environment"`
	// Quick is a run of small scenarios, whose figures say nothing.
	Quick   bool     `json:"quick,omitempty"`
	Results []result `json:"results"`
}

// environment is what figures depend on besides the code.
type environment struct {
	Cores int `json:"cores"`
	// Go is the version that targetgate was built with.
	Go string `json:"go"`
	// Commit is what targetgate calls itself: make sets the commit, with -dirty when there was more.
	Commit string `json:"commit"`
}

// result is what came of one scenario.
type result struct {
	Scenario string         `json:"scenario"`
	Title    string         `json:"title"`
	Bindings int            `json:"bindings"`
	Replicas int            `json:"replicas"`
	Figures  []figure       `json:"figures"`
	Calls    map[string]int `json:"calls,omitempty"` // to AWS, by operation
	// Error says why there are not all figures.
	Error string `json:"error,omitempty"`

	quick bool
}

// figure is one number. Goal is what to reach at most; Met is nil when there is no goal.
type figure struct {
	Name      string   `json:"name"`
	Unit      unit     `json:"unit,omitempty"`
	Value     float64  `json:"value"`
	Goal      *float64 `json:"goal,omitempty"`
	Incumbent *float64 `json:"incumbent,omitempty"`
	Met       *bool    `json:"met,omitempty"`
}

// unit is what a value is counted in; none is a plain number.
type unit string

const (
	number       unit = ""
	seconds      unit = "s"
	milliseconds unit = "ms"
	microseconds unit = "µs"
	bytesOf      unit = "B"
	mebibytes    unit = "MiB"
	perSecond    unit = "1/s"
	percent      unit = "%"
)

func newResult(s scenario, quick bool) *result {
	return &result{Scenario: s.Name, Title: s.Title, Bindings: s.Bindings, Replicas: s.Replicas, quick: quick}
}

// add adds a figure, with what is expected of it unless the scenario was made small.
func (r *result) add(name string, value float64, in unit) {
	f := figure{Name: name, Unit: in, Value: value}
	if !r.quick {
		known := expected(r.Scenario, name)
		f.Goal, f.Incumbent = known.goal, known.incumbent
	}
	if f.Goal != nil {
		met := value <= *f.Goal
		f.Met = &met
	}
	r.Figures = append(r.Figures, f)
}

func (r *result) count(name string, value int) { r.add(name, float64(value), number) }

func (r *result) time(name string, value time.Duration) { r.add(name, value.Seconds(), seconds) }

// shortTime is time for what takes less than a second.
func (r *result) shortTime(name string, value time.Duration) {
	r.add(name, float64(value)/float64(time.Millisecond), milliseconds)
}

// microTime is time for what takes less than a millisecond.
func (r *result) microTime(name string, value time.Duration) {
	r.add(name, float64(value)/float64(time.Microsecond), microseconds)
}

// missed are the figures that are not at their goal.
func (r *result) missed() []figure {
	var missed []figure
	for _, f := range r.Figures {
		if f.Met != nil && !*f.Met {
			missed = append(missed, f)
		}
	}
	return missed
}

// goals is how many figures have one.
func (r *result) goals() int {
	count := 0
	for _, f := range r.Figures {
		if f.Goal != nil {
			count++
		}
	}
	return count
}

// save writes the report as JSON; an empty path is nowhere.
func (r report) save(path string) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// environmentOf asks targetgate what it is.
func environmentOf(ctx context.Context, programs run.Programs) (environment, error) {
	info, err := buildinfo.ReadFile(programs.Targetgate)
	if err != nil {
		return environment{}, fmt.Errorf("reading how %s was built: %w", programs.Targetgate, err)
	}
	version, err := programs.Version(ctx)
	return environment{Cores: runtime.NumCPU(), Go: info.GoVersion, Commit: version}, err
}

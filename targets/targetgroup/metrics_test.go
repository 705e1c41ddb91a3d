// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// observed is what was counted of deregistrations until a moment.
type observed struct {
	AtOnce, WithDeadline, Late int
	Took, Margin               float64 // sums, in seconds
}

func observedSoFar(t *testing.T) observed {
	t.Helper()
	atOnce, margin := read(t, deregisteredSeconds).GetHistogram(), read(t, marginSeconds).GetHistogram()
	return observed{
		AtOnce: int(atOnce.GetSampleCount()), Took: atOnce.GetSampleSum(),
		WithDeadline: int(margin.GetSampleCount()), Margin: margin.GetSampleSum(),
		Late: int(read(t, lateTotal).GetCounter().GetValue()),
	}
}

func (o observed) since(before observed) observed {
	return observed{
		o.AtOnce - before.AtOnce, o.WithDeadline - before.WithDeadline, o.Late - before.Late,
		o.Took - before.Took, o.Margin - before.Margin,
	}
}

func read(t *testing.T, metric prometheus.Metric) *dto.Metric {
	t.Helper()
	out := &dto.Metric{}
	if err := metric.Write(out); err != nil {
		t.Fatal(err)
	}
	return out
}

// A deregistration with a deadline may wait on purpose: how long it took says nothing, and what was left says all.
func TestDeregistrationsAreMeasuredByTheirDeadlines(t *testing.T) {
	deleted := noon.Add(-4 * time.Second)
	inTime, late := noon.Add(2*time.Second), noon.Add(-time.Second)
	for name, tc := range map[string]struct {
		d    Deregistration
		want observed
	}{
		"at once":                     {Deregistration{Since: deleted}, observed{AtOnce: 1, Took: 4}},
		"deleted by a clock ahead":    {Deregistration{Since: noon.Add(time.Second)}, observed{AtOnce: 1}},
		"of no deleted pod":           {Deregistration{}, observed{}},
		"in time":                     {Deregistration{Since: deleted, Deadline: inTime}, observed{WithDeadline: 1, Margin: 2}},
		"at the deadline":             {Deregistration{Since: deleted, Deadline: noon}, observed{WithDeadline: 1}},
		"late":                        {Deregistration{Since: deleted, Deadline: late}, observed{WithDeadline: 1, Margin: -1, Late: 1}},
		"of a node that leaves, late": {Deregistration{Deadline: late}, observed{WithDeadline: 1, Margin: -1, Late: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			before := observedSoFar(t)
			observeDeregistered(Deregistrations{one: tc.d}, noon)
			if diff := cmp.Diff(tc.want, observedSoFar(t).since(before)); diff != "" {
				t.Errorf("observed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLeastMarginHasNoSeriesBeforeTheFirst(t *testing.T) {
	l := &least{desc: prometheus.NewDesc("least_seconds", "The least.", nil, nil)}
	for _, step := range []struct {
		observe []time.Duration
		want    []float64
	}{
		{},
		{observe: []time.Duration{2 * time.Second}, want: []float64{2}},
		{observe: []time.Duration{3 * time.Second}, want: []float64{2}},
		{observe: []time.Duration{-time.Second, 0}, want: []float64{-1}},
	} {
		for _, d := range step.observe {
			l.observe(d)
		}
		found := make(chan prometheus.Metric, 2)
		l.Collect(found)
		close(found)
		var got []float64
		for metric := range found {
			got = append(got, read(t, metric).GetGauge().GetValue())
		}
		if !slices.Equal(step.want, got) {
			t.Errorf("after %v: %v, want %v", step.observe, got, step.want)
		}
	}
}

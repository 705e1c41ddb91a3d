// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAlertFiresOnlyAfterItsDuration(t *testing.T) {
	tests := map[string]struct {
		notation string
		want     int
	}{
		"exactly as long":   {`up{job="a"} _x5 0x10`, 1},
		"a minute less":     {`up{job="a"} _x6 0x10`, 0},
		"with a pause":      {`up{job="a"} 0x6 1 0x10`, 0},
		"since long ago":    {`up{job="a"} 0x30`, 1},
		"over":              {`up{job="a"} 0x9 1x10`, 0},
		"never":             {`up{job="a"} 1x30`, 0},
		"missing, but late": {`up{job="a"} 0x3 _x4 0x10`, 1}, // Prometheus goes on with the last sample for five minutes
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			series := &Series{}
			if err := series.Write(tc.notation); err != nil {
				t.Fatal(err)
			}
			got, err := series.Firing(t.Context(), Alert{Expr: "up == 0", For: 5 * time.Minute}, 10*time.Minute)
			if err != nil || len(got) != tc.want {
				t.Errorf("fires for %v, error %v, want %d", got, err, tc.want)
			}
		})
	}
}

// Results that follow each other are not one that lasts.
func TestAlertFiresForEachResultByItself(t *testing.T) {
	series := &Series{}
	if err := series.Write(`up{job="a"} 0x7 1x10`, `up{job="b"} 1x6 0x10`, `up{job="c"} 0x20`); err != nil {
		t.Fatal(err)
	}
	got, err := series.Firing(t.Context(), Alert{Expr: "up == 0", For: 5 * time.Minute}, 10*time.Minute)
	if err != nil || len(got) != 1 || got[0].Labels["job"] != "c" {
		t.Errorf("fires for %v, error %v, want job c", got, err)
	}
}

func TestScrapeKeepsTheLabelsThatAreTold(t *testing.T) {
	series := &Series{}
	const told = `# TYPE waits histogram
waits_bucket{namespace="shop",account="",le="1"} 2
waits_bucket{namespace="shop",account="",le="+Inf"} 3
waits_sum{namespace="shop",account=""} 7
waits_count{namespace="shop",account=""} 3
`
	if err := series.Scrape(strings.NewReader(told), time.Minute, map[string]string{"namespace": "system", "pod": "a"}); err != nil {
		t.Fatal(err)
	}
	got, err := series.At(t.Context(), `waits_bucket{le="+Inf"}`, time.Minute)
	want := []Result{{map[string]string{"__name__": "waits_bucket", "namespace": "shop", "pod": "a", "le": "+Inf"}, 3}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, result (-want +got):\n%s", err, diff)
	}
}

func TestTextNeedsTheLabelsOfItsResult(t *testing.T) {
	alert := Alert{Annotations: map[string]string{"summary": "{{ $labels.name }} took {{ $value | humanizeDuration }}"}}
	got, err := alert.Text("summary", Result{map[string]string{"name": "web"}, 90})
	if got != "web took 1m30s" || err != nil {
		t.Errorf("%q, error %v", got, err)
	}
	if got, err := alert.Text("summary", Result{map[string]string{}, 90}); err == nil {
		t.Errorf("%q without the label, want an error", got)
	}
}

func TestUsesAreMetricsWithTheirLabels(t *testing.T) {
	got, err := Uses(`sum by (le, a) (rate(x_bucket{b="1"}[5m])) / on (c) y unless max by (d) (z)`)
	want := []Use{{"x_bucket", []string{"a", "b", "c", "le"}}, {"y", []string{"c"}}, {"z", []string{"d"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, uses (-want +got):\n%s", err, diff)
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
	"time"
)

func TestParseCPU(t *testing.T) {
	const rest = " S 1 2 3 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 9 0 12345"
	cases := map[string]struct {
		stat    string
		want    time.Duration
		wantErr bool
	}{
		"plain":             {"42 (targetgate)" + rest, 2 * time.Second, false},
		"name with spaces":  {"42 (a ) b 7)" + rest, 2 * time.Second, false},
		"cut short":         {"42 (targetgate) S 1 2", 0, true},
		"not even a name":   {"", 0, true},
		"no number":         {"42 (x) S 1 2 3 0 -1 4194560 100 0 0 0 many 50 0", 0, true},
		"nothing used yet ": {"42 (x) S 1 2 3 0 -1 4194560 100 0 0 0 0 0 0", 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseCPU(tc.stat)
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("got %s, %v, want %s", got, err, tc.want)
			}
		})
	}
}

func TestParsePeak(t *testing.T) {
	cases := map[string]struct {
		status  string
		want    float64
		wantErr bool
	}{
		"among others": {"Name:\tx\nVmHWM:\t   71680 kB\nVmRSS:\t   1024 kB\n", 70, false},
		"missing":      {"Name:\tx\nVmRSS:\t   1024 kB\n", 0, true},
		"no number":    {"VmHWM:\t much\n", 0, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parsePeak(tc.status)
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("got %v, %v, want %v", got, err, tc.want)
			}
		})
	}
}

func TestParseMachine(t *testing.T) {
	cases := map[string]struct {
		stat    string
		want    machine
		wantErr bool
	}{
		"all cores":  {"cpu  100 0 50 600 50 0 0 200 90 0\ncpu0 1 2 3\n", machine{3500 * time.Millisecond, 10 * time.Second}, false},
		"cut short":  {"cpu  100 0 50\n", machine{}, true},
		"other line": {"cpu0 100 0 50 600 50 0 0 200 90 0\n", machine{}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseMachine(tc.stat)
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
}

func TestBusySinceIsAShareOfAllCores(t *testing.T) {
	before := machine{busy: 10 * time.Second, all: 100 * time.Second}
	if got := (machine{busy: 13 * time.Second, all: 104 * time.Second}).busySince(before); got != 75 {
		t.Errorf("got %v %%, want 75", got)
	}
	if got := before.busySince(before); got != 0 {
		t.Errorf("got %v %% of no time, want 0", got)
	}
}

func TestUsageOfThisProcess(t *testing.T) {
	used, err := usageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if used.peak <= 1 || used.cpu < 0 {
		t.Errorf("got %+v", used)
	}
	if _, err := readMachine(); err != nil {
		t.Error(err)
	}
}

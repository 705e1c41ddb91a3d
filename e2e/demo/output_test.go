// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/load"
)

// sample is a report as a run gives it.
func sample() report {
	gated := timeline(oneOfEach(), "web", group, "2", start)
	plain := []lane{
		{Pod: "plain-5b49dfbc54-<old>", At: map[moment]time.Duration{deleted: s(1), sigterm: s(1), deregistered: s(2), gone: s(2), lastRequest: s(5)},
			Failed: []time.Duration{s(3), s(4)}},
		{Pod: "plain-8c5bc4cdc-new", New: true, At: map[moment]time.Duration{created: s(0), containersReady: s(1), ready: s(1), registered: s(1), healthy: s(4)}},
	}
	first := act{
		From: s(-1), To: s(20),
		Gated: rollout{Name: "gated", Gated: true, Setup: []setting{{"preStop sleep", "30 s (6 s here)"}}, Lanes: gated, Took: s(7),
			Load: load.Result{Requests: 12345, ByStatus: map[string]int{"200": 12345}, P50: 16 * time.Millisecond}},
		Plain: rollout{Name: "plain", Setup: []setting{{"preStop sleep", "none"}}, Lanes: plain, Took: s(1), Failed: []time.Duration{s(3), s(4)},
			Load: load.Result{Requests: 12340, Failed: 2, ByStatus: map[string]int{"200": 12338, "502": 1, load.Reset: 1}}},
	}
	return report{Scale: 0.2, Replicas: 1, Rate: 100, First: first, Second: sampleSecond(), Third: sampleThird(), Version: "v0", Date: start}
}

func sampleThird() thirdAct {
	return thirdAct{
		LoadBalancer: "internal-k8s-shop-shop-0123456789.eu-west-1.elb.amazonaws.com", Replaced: s(7), Inserted: s(1),
		Page: load.Result{Requests: 700, ByStatus: map[string]int{"200": 700}},
		API:  load.Result{Requests: 701, ByStatus: map[string]int{"200": 701}},
	}
}

// sampleSecond is an act in which gated stops, and plain goes on.
func sampleSecond() act {
	setup := []setting{{"preStop sleep", "none"}}
	return act{
		From: s(-1), To: s(5),
		Gated: rollout{Name: "gated", Gated: true, Setup: setup, Load: load.Result{Requests: 500}, Lanes: []lane{
			{Pod: "gated-2-old"}, {Pod: "gated-3-new", New: true, At: map[moment]time.Duration{containersReady: s(1)}},
		}},
		Plain: rollout{
			Name: "plain", Setup: setup, Took: s(1), Failed: []time.Duration{s(2), s(4)},
			Load: load.Result{Requests: 500, Failed: 2, ByStatus: map[string]int{"502": 1, "503": 1}},
			Lanes: []lane{
				{Pod: "plain-2-old", At: map[moment]time.Duration{deleted: s(1), sigterm: s(1)}, Failed: []time.Duration{s(2)}},
				{Pod: "plain-3-new", New: true, At: map[moment]time.Duration{ready: s(1)}, Failed: []time.Duration{s(4)}},
			},
		},
	}
}

func TestTerminalTableIsNarrowAndPlain(t *testing.T) {
	var out bytes.Buffer
	if err := writeTerminal(&out, sample(), paint{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("escape codes without colours")
	}
	for _, want := range []string{"12,345", "2 (0.0 %)", "502 Bad Gateway", "connection reset", "! 3.0 s before healthy",
		"! 4.0 s before last request", "2.0 s after healthy", "5 times faster", "ACT 2", "0 of 1", "ACT 3", "after 7.0 s", "targetgate v0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

func TestTerminalColoursKeepTheText(t *testing.T) {
	var plain, coloured bytes.Buffer
	for out, p := range map[*bytes.Buffer]paint{&plain: {}, &coloured: {colours: true}} {
		if err := writeTerminal(out, sample(), p); err != nil {
			t.Fatal(err)
		}
	}
	stripped := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(coloured.String(), "")
	if stripped == coloured.String() {
		t.Error("no colours")
	}
	if diff := cmp.Diff(plain.String(), stripped); diff != "" {
		t.Errorf("text (-plain +coloured):\n%s", diff)
	}
}

func TestPaintOnlyOnTerminals(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if newPaint(file).colours {
		t.Error("colours in a file")
	}
}

func TestPadFillsAndCuts(t *testing.T) {
	for text, want := range map[string]string{"ab": "ab  ", "abcdef": "abc ", "äö": "äö  "} {
		if got := pad(text, 4); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestExplanationFollowsTheOutcome(t *testing.T) {
	broken := sample()
	broken.First.Gated.Load.Failed, broken.First.Plain.Load.Failed = 3, 0
	for _, stories := range [][]string{broken.First.firstStories(), broken.First.secondStories()} {
		text := strings.Join(stories, " ")
		for _, want := range []string{"plain lost nothing", "gated lost 3 requests. That is a bug"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in: %s", want, text)
			}
		}
	}
}

func TestStoriesSayWhereFailedRequestsWent(t *testing.T) {
	r := sample()
	text := strings.Join(append(r.First.firstStories(), r.Second.secondStories()...), "\n")
	for _, want := range []string{
		"plain lost 2 requests: 2 went to old pods after SIGTERM, none to new pods",
		"0 of 1 became Ready, and 1 of 1 old pods kept serving. None of them was deleted",
		"1 went to old pods after SIGTERM, 1 to new pods", "In the last second 1 of 1 requests failed.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in: %s", want, text)
		}
	}
}

func savedPage(t *testing.T, r report) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "demo.html")
	if err := savePage(path, r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPageStandsAlone(t *testing.T) {
	text := savedPage(t, sample())
	if external := regexp.MustCompile(`<script|<link|<img|@import|https?://|url\([^#]`).FindString(text); external != "" {
		t.Errorf("the page needs something else: %s", external)
	}
	for _, want := range []string{"No failed request", `class="draining"`, `class="waiting"`, "2 failed", "prefers-color-scheme", "&lt;old&gt;"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(text, "ZgotmplZ") {
		t.Error("the template engine has refused a value")
	}
}

// The pictures are well-formed XML, and each has a title and a description.
func TestPagePicturesAreWellFormed(t *testing.T) {
	pictures := regexp.MustCompile(`(?s)<svg[^>]*role="img".*?</svg>`).FindAllString(savedPage(t, sample()), -1)
	if len(pictures) != 4 {
		t.Fatalf("got %d pictures, want 4", len(pictures))
	}
	for _, picture := range pictures {
		decoder := xml.NewDecoder(strings.NewReader(picture))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(picture, "<desc id=") || !strings.Contains(picture, "<title id=") {
			t.Error("a picture without title or description")
		}
	}
}

func TestPageSaysWhenNothingIsProven(t *testing.T) {
	r := sample()
	r.Second.Plain.Load.Failed = 0
	if text := savedPage(t, r); !strings.Contains(text, "This run does not show what it should") {
		t.Error("the page claims success")
	}
}

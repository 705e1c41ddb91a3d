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
	return report{
		Scale: 0.2, Replicas: 1, Rate: 100, From: s(-1), To: s(20),
		Gated: rollout{Name: "gated", Gated: true, Setup: "labelled", Lanes: gated, Took: s(7),
			Load: load.Result{Requests: 12345, ByStatus: map[string]int{"200": 12345}, P50: 16 * time.Millisecond}},
		Plain: rollout{Name: "plain", Setup: "not labelled", Lanes: plain, Took: s(1), Failed: []time.Duration{s(3), s(4)},
			Load: load.Result{Requests: 12340, Failed: 2, ByStatus: map[string]int{"200": 12338, "502": 1, load.Reset: 1}}},
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
		"! 4.0 s before last request", "2.0 s after healthy", "5 times faster"} {
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
	broken.Gated.Load.Failed, broken.Plain.Load.Failed = 3, 0
	text := strings.Join(explanation(broken), " ")
	for _, want := range []string{"plain lost nothing", "gated lost 3 requests. That is a fault"} {
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
	for _, want := range []string{"No failed requests", `class="draining"`, `class="waiting"`, "2 failed", "prefers-color-scheme", "&lt;old&gt;"} {
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
	if len(pictures) != 2 {
		t.Fatalf("got %d pictures, want 2", len(pictures))
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
	r.Plain.Load.Failed = 0
	if text := savedPage(t, r); !strings.Contains(text, "This run does not show what it should") {
		t.Error("the page claims success")
	}
}

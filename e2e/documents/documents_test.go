// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := parse("A.md", "# A\n```sh\none\ntwo\n```\n```promql\nthree\n```\n1. A list:\n\n   ```sh\n   four\n   ```\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Document: "A.md", Line: 3, Commands: "one\ntwo\n"},
		{Document: "A.md", Line: 12, Commands: "   four\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestParseRefusesBlocksThatWouldRunNowhere(t *testing.T) {
	for _, text := range []string{"```bash\none\n```\n", "```console\n$ one\n```\n", "```sh\none\n"} {
		if blocks, err := parse("A.md", text); err == nil {
			t.Errorf("%q: got %v, want an error", text, blocks)
		}
	}
}

func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun(t *testing.T) {
	shell := Shell{
		Programs: map[string]string{"kubectl": program(t, `echo "$@"`), "helm": program(t, "exit 1")},
		Values:   map[string]string{"NAME": "web", "NAMESPACE": "shop", "vpc-ID": "vpc-1"},
		Dir:      t.TempDir(),
	}
	tests := []struct{ name, commands, out, err string }{
		{name: "values stand for whole words", commands: "kubectl NAME -n NAMESPACE NAMES x=vpc-ID", out: "web -n shop NAMES x=vpc-1\n"},
		{name: "a program fails in a pipe", commands: "helm list | cat\nkubectl on", out: "on\n", err: "helm list failed"},
		{name: "grep finds nothing", commands: "kubectl NAME | grep -i other\nkubectl on", out: "on\n"},
		{name: "grep -q answers", commands: "if kubectl NAME | grep -q other; then kubectl no; fi\nkubectl on", out: "on\n"},
		{name: "grep is asked wrongly", commands: "kubectl NAME | grep -e '['", err: "grep -e [ failed"},
		{name: "a program that there is not", commands: "typo", err: "typo"},
		{name: "a typo before a good command", commands: "typo\nkubectl on", err: "typo"},
		{name: "a typo in a pipe", commands: "typo | cat", err: "typo"},
		{name: "a variable that there is not", commands: "kubectl $TG", err: "TG"},
		{name: "a variable that there is not, in a pipe", commands: "kubectl $TG | grep on", err: "TG"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := shell.Run(t.Context(), Block{Document: "A.md", Line: 3, Commands: tt.commands})
			if tt.err == "" && (err != nil || out != tt.out) {
				t.Errorf("printed %q, %v, want %q", out, err, tt.out)
			}
			if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || !strings.HasPrefix(err.Error(), "A.md:3: ")) {
				t.Errorf("error %v, want %q of A.md:3", err, tt.err)
			}
		})
	}
}

// A document whose blocks are of another type would run nowhere.
func TestRead(t *testing.T) {
	blocks, err := Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, block := range blocks {
		count[block.Document]++
	}
	for _, document := range []string{
		"README.md", "readiness/README.md", "charts/targetgate/README.md", "charts/targetgate/MOVING.md", "charts/targetgate/RUNBOOK.md",
	} {
		if count[document] == 0 {
			t.Errorf("%s has no commands", document)
		}
	}
}

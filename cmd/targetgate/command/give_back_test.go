// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGiveBackSaysHowItEnded(t *testing.T) {
	tests := map[string]struct {
		args     []string
		answer   int // of the API server
		want     int
		contains string
	}{
		"help":                   {args: []string{"--help"}, want: 0, contains: "--timeout"},
		"its lease, in a pod":    {args: []string{"--help"}, want: 0, contains: `(default "kube-system")`},
		"its lease's name":       {args: []string{"--help"}, want: 0, contains: `(default "targetgate-leader")`},
		"unknown flag":           {args: []string{"--now"}, want: 2, contains: "unknown flag: --now"},
		"stray word":             {args: []string{"shop"}, want: 2, contains: `unexpected argument "shop"`},
		"unknown context":        {args: []string{"--context=none"}, want: 1, contains: `context "none" does not exist`},
		"the API server refuses": {answer: http.StatusForbidden, want: 1, contains: "left with targetgate:"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", "kube-system")
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tc.answer) }))
			defer server.Close()
			config := filepath.Join(t.TempDir(), "config")
			content := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: " + server.URL + "}}]\n" +
				"contexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"
			if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if got := GiveBack(t.Context(), append(tc.args, "--kubeconfig="+config, "--timeout=1ms"), &out, &out); got != tc.want {
				t.Errorf("exit code %d, want %d", got, tc.want)
			}
			if !strings.Contains(out.String(), tc.contains) {
				t.Errorf("output %q does not say %q", out.String(), tc.contains)
			}
		})
	}
}

func TestGiveBackIsAskedForByItsName(t *testing.T) {
	for command, want := range map[string]bool{
		"/targetgate give-back": true, "kubectl-targetgate give-back --timeout=1m": true, "kubectl-targetgate explain": false,
		"/targetgate --beside": false, "/targetgate": false,
	} {
		if got := AsksToGiveBack(strings.Fields(command)); got != want {
			t.Errorf("%q asks to give back: %t, want %t", command, got, want)
		}
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const guardPod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"guard-x"},"status":{"conditions":[{"type":"targetgate.dev/MayLeave",` +
	`"status":"True","reason":"NodeDrained"}]}}`

func TestGuardSaysHowItEnded(t *testing.T) {
	tests := map[string]struct {
		args     []string
		unnamed  bool   // it does not know which pod is its own
		answer   string // of the API server
		want     int
		contains string
	}{
		"help":          {args: []string{"--help"}, contains: "--longest-wait"},
		"longest wait":  {args: []string{"--help"}, contains: "(default 6m0s)"},
		"unknown flag":  {args: []string{"--now"}, want: 2, contains: "unknown flag: --now"},
		"stray word":    {args: []string{"shop"}, want: 2, contains: `unexpected argument "shop"`},
		"negative wait": {args: []string{"--longest-wait=-1s"}, want: 2, contains: "--longest-wait=-1s: must be 0 or more"},
		"no name":       {unnamed: true, want: 1, contains: "POD_NAME and POD_NAMESPACE must be set"},
		"may leave":     {answer: guardPod, contains: `"reason":"NodeDrained"`},
		"longest wait is over": {
			args: []string{"--longest-wait=1ms"}, answer: `{"kind":"Pod","apiVersion":"v1"}`, contains: `"reason":"LongestWait"`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if !tc.unnamed {
				t.Setenv("POD_NAME", "guard-x")
				t.Setenv("POD_NAMESPACE", "targetgate-system")
			}
			signalled, signal := context.WithCancel(t.Context())
			signal()
			var out bytes.Buffer
			config, _ := apiServerSaying(t, tc.answer)
			if got := Guard(signalled, append(tc.args, "--kubeconfig="+config), &out, &out); got != tc.want {
				t.Errorf("exit code %d, want %d", got, tc.want)
			}
			if !strings.Contains(out.String(), tc.contains) {
				t.Errorf("output %q does not say %q", out.String(), tc.contains)
			}
		})
	}
}

// It reads its own pod and nothing else, and with no call that needs more than that: no list, no watch, no discovery.
func TestGuardReadsItsOwnPodOnly(t *testing.T) {
	t.Setenv("POD_NAME", "guard-x")
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	config, asked := apiServerSaying(t, guardPod)
	signalled, signal := context.WithCancel(t.Context())
	go func() {
		defer signal()
		<-asked.first
	}()
	var out bytes.Buffer
	if got := Guard(signalled, []string{"--kubeconfig=" + config}, &out, &out); got != 0 {
		t.Errorf("exit code %d, want 0", got)
	}
	got := asked.all()
	for _, request := range got {
		if request != "GET /api/v1/namespaces/targetgate-system/pods/guard-x" {
			t.Errorf("it asked for %s", request)
		}
	}
	if len(got) != 2 {
		t.Errorf("%d requests, want one at the start and one when it was told to leave", len(got))
	}
}

// requests are those that an API server has got.
type requests struct {
	first chan struct{} // closed when there is one

	mu   sync.Mutex
	have []string
}

func (r *requests) add(request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.have) == 0 {
		close(r.first)
	}
	r.have = append(r.have, request.Method+" "+request.URL.String())
}

func (r *requests) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.have
}

// apiServerSaying returns the kubeconfig of an API server that gives every request this answer, and the requests that it gets.
func apiServerSaying(t *testing.T, answer string) (kubeconfig string, asked *requests) {
	t.Helper()
	asked = &requests{first: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.add(r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer)) // a client that is gone needs none
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "config")
	content := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: " + server.URL + "}}]\n" +
		"contexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig, asked
}

func TestGuardIsAskedForByItsName(t *testing.T) {
	for command, want := range map[string]bool{
		"/targetgate guard": true, "/targetgate guard --longest-wait=1m": true, "/targetgate --beside": false, "/targetgate": false,
	} {
		if got := AsksToGuard(strings.Fields(command)); got != want {
			t.Errorf("%q asks to guard: %t, want %t", command, got, want)
		}
	}
}

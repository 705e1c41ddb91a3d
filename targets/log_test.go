// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// An operator's first question is what was registered and deregistered, and why.
func TestRegistrarLogsWhatItChanges(t *testing.T) {
	pod := withFinalizer(newPod("web-0", "10.0.0.1"))
	inBed(t, func(b *bed) {
		var mu sync.Mutex
		var lines []string
		b.begin(logr.NewContext(b.calls.Context, funcr.New(func(_, args string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, args)
		}, funcr.Options{Verbosity: 1})))
		b.settle()
		b.aws.SetHealth(testARN, one, healthy)
		b.after(time.Second)
		b.must(b.cluster.Delete(t.Context(), pod))
		b.settle()
		mu.Lock()
		defer mu.Unlock()
		want := []string{
			`"level"=0 "msg"="Registered targets" "binding"={"name"="web" "namespace"="shop"} "targetGroup"="` + testARN +
				`" "targets"=["10.0.0.1:8080"]`,
			`"level"=1 "msg"="Opened readiness gate"`,
			`"level"=0 "msg"="Deregistered targets" "binding"={"name"="web" "namespace"="shop"} "targetGroup"="` + testARN +
				`" "reason"="terminating" "targets"=["10.0.0.1:8080"]`,
		}
		for i, prefix := range want {
			if i >= len(lines) || !strings.HasPrefix(lines[i], prefix) {
				t.Fatalf("log:\n%s\nwant line %d to begin with\n%s", strings.Join(lines, "\n"), i, prefix)
			}
		}
	}, pod, newSlice("web-1", pod))
}

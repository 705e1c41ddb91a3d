// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

func TestReadyOnlyWhenCachesHaveSynced(t *testing.T) {
	var caches cachesSynced
	if caches.NeedLeaderElection() {
		t.Error("replicas that do not lead would never be ready")
	}
	if err := caches.check(nil); err == nil {
		t.Error("ready before the caches have synced")
	}
	if err := caches.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := caches.check(nil); err != nil {
		t.Errorf("not ready after the caches have synced: %v", err)
	}
}

func get(handler http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return w
}

func TestProbesTellWhichCheckFails(t *testing.T) {
	pages := probePages(map[string]healthz.Checker{"good": healthz.Ping, "bad": func(*http.Request) error { return errors.New("no") }})
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/healthz/ping": http.StatusOK, "/readyz": http.StatusInternalServerError, "/readyz/good": http.StatusOK,
		"/readyz/bad": http.StatusInternalServerError, "/": http.StatusNotFound,
	} {
		if w := get(pages, path); w.Code != want {
			t.Errorf("%s: %d, want %d: %s", path, w.Code, want, w.Body)
		}
	}
	if text := get(pages, "/readyz").Body.String(); !strings.Contains(text, "[+]good ok") || !strings.Contains(text, "[-]bad failed") {
		t.Errorf("/readyz says %q", text)
	}
}

// Each scrape takes memory for the whole page.
func TestFewScrapesAreAnsweredAtATime(t *testing.T) {
	var begun, ended sync.WaitGroup
	done := make(chan struct{})
	begun.Add(maxScrapes)
	page := metricsPage(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		begun.Done()
		<-done
		return nil, nil
	}))
	for range maxScrapes {
		ended.Go(func() {
			if w := get(page, "/metrics"); w.Code != http.StatusOK {
				t.Errorf("one of %d scrapes is answered %d", maxScrapes, w.Code)
			}
		})
	}
	begun.Wait()
	if w := get(page, "/metrics"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one more is answered %d, want %d", w.Code, http.StatusServiceUnavailable)
	}
	close(done)
	ended.Wait()
}

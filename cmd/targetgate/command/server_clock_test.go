// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestServerClock(t *testing.T) {
	here := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		date string
		want time.Time
	}{
		"an hour ahead": {"Thu, 01 Jan 2026 13:00:00 GMT", here.Add(time.Hour)},
		"an hour back":  {"Thu, 01 Jan 2026 11:00:00 GMT", here.Add(-time.Hour)},
		"not told":      {"", here},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Date"] = []string{tc.date}
			}))
			defer server.Close()
			clock := &serverClock{PassiveClock: clocktesting.NewFakePassiveClock(here)}
			response, err := (&http.Client{Transport: clock.wrap(http.DefaultTransport)}).Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if now, since := clock.Now(), clock.Since(here); !now.Equal(tc.want) || since != tc.want.Sub(here) {
				t.Errorf("%s, and %s since %s: want %s", now, since, here, tc.want)
			}
		})
	}
}

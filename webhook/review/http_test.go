// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/targetgate/targetgate/webhook/webhooktest"
)

func TestTimedTellsHalfMilliseconds(t *testing.T) {
	w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/timed", repeated("0", 1))
	Timed("/timed", echo(NewLimiter())).ServeHTTP(w, req)
	if got := webhooktest.Scrape(t, `targetgate_webhook_seconds_count{webhook_name="/timed"}`); got != "1" {
		t.Errorf("%s calls are timed, want 1", got)
	}
	if webhooktest.Scrape(t, `targetgate_webhook_seconds_bucket{webhook_name="/timed",le="0.0005"}`) == "" {
		t.Error("there is no bucket of 0.5 ms")
	}
}

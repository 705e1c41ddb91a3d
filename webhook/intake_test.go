// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/utils/clock"
)

const mib = 1 << 20

// echo answers with what it gets.
var echo = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { _, _ = io.Copy(w, req.Body) })

// recorder is a response that has a deadline, as those of servers have.
type recorder struct{ *httptest.ResponseRecorder }

func (recorder) SetReadDeadline(time.Time) error { return nil }

// repeated is a reader of that many times the text.
func repeated(text string, times int) io.Reader {
	return strings.NewReader(strings.Repeat(text, times))
}

func TestIntakeTakesWhatFits(t *testing.T) {
	tests := map[string]struct {
		room   int64
		length int64 // as it is told, -1 when it is not
		body   io.Reader
		want   int
	}{
		"nothing":                          {0, 0, http.NoBody, 200},
		"as much as there is room":         {10, 10, repeated("0", 10), 200},
		"more than there is room":          {10, 11, repeated("0", 11), 503},
		"many values count for more":       {10 + 9*valueWeight, 10, repeated(",", 10), 503},
		"there is room for them":           {10 + 10*valueWeight, 10, repeated(",", 10), 200},
		"more values than ever fit":        {64 * mib, mib, repeated(",", mib), 413},
		"commas may be text":               {64 * mib, mib, strings.NewReader(`"\""` + strings.Repeat(",", 100) + `"` + strings.Repeat(",", mib-105)), 200},
		"unknown length counts in steps":   {firstStep - 1, -1, repeated("0", 1), 503},
		"unknown length":                   {firstStep, -1, repeated("0", 1), 200},
		"what is copied counts twice":      {3*firstStep - 1, 2 * firstStep, repeated("0", 2*firstStep), 503},
		"there is room for the copy":       {3 * firstStep, 2 * firstStep, repeated("0", 2*firstStep), 200},
		"the largest":                      {64 * mib, 16 * mib, repeated("0", 16*mib), 200},
		"larger than that":                 {64 * mib, 16*mib + 1, repeated("0", 16*mib+1), 413},
		"the largest, unknown length":      {64 * mib, -1, repeated("0", 16*mib), 200},
		"larger than that, unknown length": {64 * mib, -1, repeated("0", 16*mib+1), 413},
		"shorter than it says":             {64 * mib, 10, repeated("0", 9), 500},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			i := &intake{room: semaphore.NewWeighted(tc.room), timeout: readTimeout}
			w, req := recorder{httptest.NewRecorder()}, httptest.NewRequest(http.MethodPost, podPath, tc.body)
			req.ContentLength = tc.length
			i.guard(mutation, echo).ServeHTTP(w, req)
			if w.Code != tc.want {
				t.Errorf("status %d, want %d: %.100s", w.Code, tc.want, w.Body)
			}
			if !i.room.TryAcquire(tc.room) {
				t.Error("the room is not given back")
			}
		})
	}
}

// A full house is told at once, and takes again when one has left.
func TestIntakeIsBusyWhileRoomIsTaken(t *testing.T) {
	arrived, leave := make(chan struct{}), make(chan struct{})
	i := &intake{room: semaphore.NewWeighted(15), timeout: readTimeout}
	server := httptest.NewServer(i.guard(mutation, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-leave
	})))
	defer server.Close()
	ask := func() int {
		resp, err := http.Post(server.URL, "application/json", repeated("0", 10))
		if err != nil {
			t.Error(err)
			return 0
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	first := make(chan int)
	go func() { first <- ask() }()
	<-arrived
	before := scrape(t, tooBusy)
	if got := ask(); got != http.StatusServiceUnavailable {
		t.Errorf("status %d while the room is taken, want 503", got)
	}
	if scrape(t, tooBusy) == before {
		t.Error("it is not counted")
	}
	close(leave)
	if got := <-first; got != http.StatusOK {
		t.Errorf("status %d for the one that had the room, want 200", got)
	}
	go func() { <-arrived }()
	if got := ask(); got != http.StatusOK {
		t.Errorf("status %d when the room is free, want 200", got)
	}
}

// Announcing is cheap: only what has arrived keeps others out.
func TestIntakeHasRoomWhileLargeReviewsStall(t *testing.T) {
	i := newIntake()
	i.timeout = time.Minute
	reading := make(chan struct{})
	stalled := func(bytes int) func() int {
		body, stop := io.Pipe()
		req := httptest.NewRequest(http.MethodPost, podPath, body)
		req.ContentLength = largestReview
		status := make(chan int)
		go func() {
			w := recorder{httptest.NewRecorder()}
			i.guard(mutation, echo).ServeHTTP(w, req)
			status <- w.Code
		}()
		go func() {
			_, _ = io.Copy(stop, repeated("0", bytes))
			reading <- struct{}{}
		}()
		return func() int {
			_ = stop.CloseWithError(io.ErrUnexpectedEOF)
			return <-status
		}
	}
	var ends []func() int
	for range allReviews / largestReview {
		ends = append(ends, stalled(firstStep+1))
		<-reading
	}
	w := recorder{httptest.NewRecorder()}
	i.guard(mutation, echo).ServeHTTP(w, httptest.NewRequest(http.MethodPost, podPath, repeated("0", 10_000)))
	if w.Code != http.StatusOK {
		t.Errorf("status %d beside %d stalled reviews, want 200", w.Code, len(ends))
	}
	for _, end := range ends {
		if got := end(); got != http.StatusInternalServerError {
			t.Errorf("status %d for a review that stalls, want 500", got)
		}
	}
	if !i.room.TryAcquire(allReviews) {
		t.Error("the room is not given back")
	}
}

const tooBusy = `awslbc_webhook_mutation_failure_total{error_type="Service Unavailable",webhook_name="/"}`

// A caller that stops in the middle is not waited for; a hook has more time than its review has to arrive.
func TestIntakeHasADeadlineForArrivalOnly(t *testing.T) {
	i := &intake{room: semaphore.NewWeighted(mib), timeout: 50 * time.Millisecond}
	server := httptest.NewServer(i.guard(mutation, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		select {
		case <-req.Context().Done():
			w.WriteHeader(http.StatusGatewayTimeout)
		case <-time.After(2 * i.timeout):
		}
	})))
	defer server.Close()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	say := func(length int, body string) (status int) {
		_, _ = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", length, body)
		resp, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	for range 2 {
		if got := say(4, "full"); got != http.StatusOK {
			t.Errorf("status %d, want 200", got)
		}
	}
	if got := say(4, "ha"); got != http.StatusInternalServerError {
		t.Errorf("status %d for half a body, want 500", got)
	}
	if err := i.room.Acquire(context.Background(), mib); err != nil {
		t.Errorf("the room is not given back: %v", err)
	}
}

func TestTimedTellsHalfMilliseconds(t *testing.T) {
	w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/timed", repeated("0", 1))
	timed("/timed", echo).ServeHTTP(w, req)
	if got := scrape(t, `targetgate_webhook_seconds_count{webhook_name="/timed"}`); got != "1" {
		t.Errorf("%s calls are timed, want 1", got)
	}
	if scrape(t, `targetgate_webhook_seconds_bucket{webhook_name="/timed",le="0.0005"}`) == "" {
		t.Error("there is no bucket of 0.5 ms")
	}
}

// hostilePods are those that take the most memory for their length.
func hostilePods() map[string]string {
	var labels strings.Builder
	for i := 0; labels.Len() < mib; i++ {
		fmt.Fprintf(&labels, `"%x":"",`, i)
	}
	const web = `"metadata":{"labels":{"app":"web"}}`
	return map[string]string{
		"containers":       `{` + web + `,"spec":{"containers":[` + strings.Repeat("{},", mib/3) + `{}]}}`,
		"nothing":          `{` + web + `,"spec":{"containers":[` + strings.Repeat("null,", mib/5) + `{}]}}`,
		"gates":            `{` + web + `,"spec":{"readinessGates":[` + strings.Repeat("{},", mib/3) + `{}]}}`,
		"hooks":            `{` + web + `,"spec":{"containers":[` + strings.Repeat(`{"lifecycle":{"preStop":{"sleep":{}}}},`, mib/39) + `{}]}}`,
		"labels":           `{"metadata":{"labels":{` + labels.String() + `"app":"web"}},"spec":{}}`,
		"what nobody read": `{` + web + `,"spec":{"x":[` + strings.Repeat("{},", mib/3) + `{}]}}`,
		"deep":             `{` + web + `,"spec":{"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`,
		"a list's limit":   `{` + web + `,"spec":{"containers":[` + strings.Repeat("{},", longestList-1) + `{}]}}`,
		"long strings":     `{` + web + `,"spec":{"containers":[{"name":"` + strings.Repeat("x", mib) + `"}]}}`,
		"escapes":          `{"metadata":{"labels":{"app":"web","x":"` + strings.Repeat(`\u0001`, mib/6) + `"}},"spec":{}}`,
		"a long annotation": `{"metadata":{"labels":{"app":"web"},"annotations":{"` + delayAnnotation + `":"` + strings.Repeat("x", mib) +
			`"}},"spec":{"containers":[{}]}}`,
	}
}

// No review takes much more memory than it is counted for.
func TestReviewMemoryIsBounded(t *testing.T) {
	const slack = 2 * mib // of a patch of the longest list
	handler := newHandler(newReader(t, oldService("web", webLabels), newBinding("web")), clock.RealClock{})
	for name, pod := range hostilePods() {
		t.Run(name, func(t *testing.T) {
			body := []byte(reviewOf(pod))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = handler.review(t.Context(), body) // that some are errors is not what matters here
			runtime.ReadMemStats(&after)
			took, counted := int64(after.TotalAlloc-before.TotalAlloc), int64(len(body))+valuesWeight(body)
			if took > counted+slack {
				t.Errorf("took %d bytes for %d, counted %d", took, len(body), counted)
			}
		})
	}
}

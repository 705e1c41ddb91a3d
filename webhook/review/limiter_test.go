// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// echo is a hook that answers with what it gets.
func echo(l *Limiter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, done, err := l.Read(w, req)
		if err != nil {
			Fail(w, req, MutationFailures, err)
			return
		}
		defer done()
		_, _ = w.Write(body)
	})
}

// repeated is a reader of that many times the text.
func repeated(text string, times int) io.Reader {
	return strings.NewReader(strings.Repeat(text, times))
}

// ask posts a body of that length, as it is told.
func ask(hook http.Handler, length int64, body io.Reader) (status int) {
	w, req := webhooktest.NewRecorder(), httptest.NewRequest(http.MethodPost, webhooktest.Path, body)
	req.ContentLength = length
	hook.ServeHTTP(w, req)
	return w.Code
}

func TestLimiterTakesWhatFits(t *testing.T) {
	tests := map[string]struct {
		length int64 // as it is told, -1 when it is not
		body   io.Reader
		want   int
	}{
		"nothing":              {0, http.NoBody, 200},
		"a small one":          {10, repeated("0", 10), 200},
		"the largest":          {largestReview, repeated("0", largestReview), 200},
		"larger than that":     {largestReview + 1, repeated("0", largestReview+1), 413},
		"unknown length":       {-1, repeated("0", 1), 411},
		"shorter than it says": {10, repeated("0", 9), 500},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l := NewLimiter()
			if got := ask(echo(l), tc.length, tc.body); got != tc.want {
				t.Errorf("status %d, want %d", got, tc.want)
			}
			if !l.small.bytes.TryAcquire(smallMemory) || !l.large.bytes.TryAcquire(largeMemory) {
				t.Error("the memory is not given back")
			}
		})
	}
}

// A review that finds no memory waits a moment, those before it first. Then it is told that we are busy, and counted.
func TestLimiterWaitsForMemory(t *testing.T) {
	tests := map[string]struct {
		freed time.Duration
		want  int
	}{
		"memory comes in time": {smallWait / 2, http.StatusOK},
		"memory comes late":    {2 * smallWait, http.StatusServiceUnavailable},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := NewLimiter()
				done, err := l.small.take(t.Context(), smallMemory)
				if err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(tc.freed, done)
				before, begun := webhooktest.Scrape(t, tooBusy), time.Now()
				if got := ask(echo(l), 10, repeated("0", 10)); got != tc.want {
					t.Errorf("status %d, want %d", got, tc.want)
				}
				if took := time.Since(begun); took > smallWait {
					t.Errorf("it waited %s, want at most %s", took, smallWait)
				}
				if counted := webhooktest.Scrape(t, tooBusy) != before; counted != (tc.want == http.StatusServiceUnavailable) {
					t.Errorf("counted: %v", counted)
				}
				time.Sleep(tc.freed) // of the bubble
			})
		})
	}
}

// Whatever the large reviews do, the small ones come in.
func TestLimiterHasMemoryForSmallReviewsBesideLargeOnes(t *testing.T) {
	l := NewLimiter()
	l.timeout = time.Minute
	reading := make(chan struct{})
	stalled := func() (end func() int) {
		body, stop := io.Pipe()
		status := make(chan int)
		go func() { status <- ask(echo(l), largestReview, body) }()
		go func() {
			_, _ = stop.Write([]byte("0"))
			reading <- struct{}{}
		}()
		return func() int {
			_ = stop.CloseWithError(io.ErrUnexpectedEOF)
			return <-status
		}
	}
	var ends []func() int
	for range largeMemory / Weight(largestReview) {
		ends = append(ends, stalled())
		<-reading
	}
	l.large.wait = time.Millisecond
	if got := ask(echo(l), largestReview, repeated("0", largestReview)); got != http.StatusServiceUnavailable {
		t.Errorf("status %d for one more large review, want 503", got)
	}
	if got := ask(echo(l), smallReview, repeated("0", smallReview)); got != http.StatusOK {
		t.Errorf("status %d for a small review beside %d large ones that stall, want 200", got, len(ends))
	}
	for _, end := range ends {
		if got := end(); got != http.StatusInternalServerError {
			t.Errorf("status %d for a review that stalls, want 500", got)
		}
	}
	if !l.large.bytes.TryAcquire(largeMemory) {
		t.Error("the memory is not given back")
	}
}

// Large reviews are decoded one after the other, and the small ones beside them.
func TestLimiterDecodesOneLargeReviewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter()
		var largest, now int
		work := func([]byte) error {
			now++
			largest = max(largest, now)
			time.Sleep(100 * time.Millisecond) // of the bubble
			now--
			return nil
		}
		errs := make([]error, 20)
		var all sync.WaitGroup
		for n := range errs {
			all.Go(func() { errs[n] = l.Decode(t.Context(), make([]byte, smallReview+1), work) })
		}
		synctest.Wait()
		if err := l.Decode(t.Context(), make([]byte, smallReview), func([]byte) error { return nil }); err != nil {
			t.Errorf("a small review: %v", err)
		}
		all.Wait()
		busy := 0
		for _, err := range errs {
			if errors.Is(err, ErrBusy) {
				busy++
			}
		}
		if largest != 1 || busy == 0 || busy > 11 {
			t.Errorf("%d large reviews were decoded at a time and %d refused, want 1, and those that would have waited for more than %s", largest, busy, largeWait)
		}
	})
}

const tooBusy = `awslbc_webhook_mutation_failure_total{error_type="Service Unavailable",webhook_name="/mutate-v1-pod"}`

// A caller that stops in the middle is not waited for; a hook has more time than its review has to arrive.
func TestLimiterHasADeadlineForArrivalOnly(t *testing.T) {
	l := NewLimiter()
	l.timeout = 50 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, done, err := l.Read(w, req)
		if err != nil {
			Fail(w, req, MutationFailures, err)
			return
		}
		defer done()
		select {
		case <-req.Context().Done():
			w.WriteHeader(http.StatusGatewayTimeout)
		case <-time.After(2 * l.timeout):
		}
	}))
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
	if err := l.small.bytes.Acquire(context.Background(), smallMemory); err != nil {
		t.Errorf("the memory is not given back: %v", err)
	}
}

// On a busy machine the wait may be over before anything was tried.
func TestMemoryThatIsFreeIsTakenAtOnce(t *testing.T) {
	m := memory{bytes: semaphore.NewWeighted(smallMemory), wait: 0}
	done, err := m.take(t.Context(), smallReview)
	if err != nil {
		t.Fatalf("%v, although there is memory", err)
	}
	done()
	l := NewLimiter()
	l.large.wait = 0
	if err := l.Decode(t.Context(), make([]byte, smallReview+1), func([]byte) error { return nil }); err != nil {
		t.Errorf("%v, although nothing is being decoded", err)
	}
}

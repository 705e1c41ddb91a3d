// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Options says what to ask and how often. URL and Rate are required.
type Options struct {
	URL string
	// Rate is in requests per second, above 0.
	Rate float64
	// Workers is the most requests in flight at a time, default 16.
	Workers int
	// Timeout bounds one request from connecting to the last byte of the answer, default 10 s.
	Timeout time.Duration
	// KeepAlive keeps each worker's connection open between requests.
	KeepAlive bool
	// Header is added to every request; a Host in it is sent as the request's host.
	Header http.Header
	// Dial connects to a host and port; nil is an ordinary dialer. See package names.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Answered reports whether the one has answered who should have; nil is for anybody. An answer of 200 by another is a failure.
	Answered func(http.Header) bool
	// TLS is for https. Its ServerName is the URL's host when empty.
	TLS *tls.Config
}

// Load is a running load. It is safe for concurrent use.
type Load struct {
	options Options
	request *http.Request
	tally   tally
	due     chan time.Time
	cancel  context.CancelFunc
	workers sync.WaitGroup
	done    chan struct{} // closed when every request has its answer
}

// Start begins to send requests until ctx ends or Stop is called; those in flight then still get their answer.
func Start(ctx context.Context, options Options) (*Load, error) {
	request, err := options.request()
	if err != nil {
		return nil, fmt.Errorf("reading options: %w", err)
	}
	if options.Workers == 0 {
		options.Workers = 16
	}
	if options.Timeout == 0 {
		options.Timeout = 10 * time.Second
	}
	l := &Load{options: options, request: request, due: make(chan time.Time), done: make(chan struct{})}
	ctx, l.cancel = context.WithCancel(ctx)
	l.tally.start(time.Now())
	for range options.Workers {
		l.workers.Go(l.work)
	}
	go func() {
		l.schedule(ctx)
		close(l.due)
		l.workers.Wait()
		l.tally.stop(time.Now())
		close(l.done)
	}()
	return l, nil
}

// Stop sends no more requests, waits for the answers that are due, at most Timeout, and returns what came of all of them.
// It may be called again.
func (l *Load) Stop() Result {
	l.cancel()
	<-l.done
	return l.tally.result()
}

// Snapshot returns what came of the requests answered so far.
func (l *Load) Snapshot() Result { return l.tally.result() }

// schedule hands out each request when it is due. When all workers are busy it lags, and catches up afterwards.
func (l *Load) schedule(ctx context.Context) {
	start, gap := time.Now(), float64(time.Second)/l.options.Rate
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := 0; ; i++ {
		due := start.Add(time.Duration(float64(i) * gap))
		timer.Reset(time.Until(due))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		select {
		case l.due <- due:
		case <-ctx.Done():
			return
		}
	}
}

// work sends requests, one at a time, on one connection.
func (l *Load) work() {
	w := worker{
		request: l.request, timeout: l.options.Timeout, keepAlive: l.options.KeepAlive,
		dial: l.options.Dial, answered: l.options.Answered, tls: l.options.tls(l.request.URL.Hostname()),
	}
	defer w.close()
	for due := range l.due {
		sent := time.Now()
		status := w.ask()
		l.tally.add(Answer{Due: due, Sent: sent, Status: status, Latency: time.Since(due)})
	}
}

// tls is nil for http.
func (o Options) tls(host string) *tls.Config {
	if !strings.HasPrefix(o.URL, "https:") {
		return nil
	}
	config := o.TLS.Clone()
	if config == nil {
		config = &tls.Config{}
	}
	config.ServerName = cmp.Or(config.ServerName, host)
	return config
}

func (o Options) request() (*http.Request, error) {
	target, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	if target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		return nil, fmt.Errorf("want an http or https URL, not %q", o.URL)
	}
	if o.Rate <= 0 {
		return nil, errors.New("rate must be above 0")
	}
	request, err := http.NewRequest(http.MethodGet, o.URL, nil)
	if err != nil {
		return nil, err
	}
	if o.Header != nil {
		request.Header = o.Header.Clone()
		request.Host = o.Header.Get("Host")
	}
	request.Close = !o.KeepAlive
	return request, nil
}

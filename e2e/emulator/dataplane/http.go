// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// statusClientLeft is what an ALB logs when the client closes before it was answered.
const statusClientLeft = 460

var (
	errCut        = errors.New("cut: the target is gone")
	errClientLeft = errors.New("the client left")
	errBroken     = errors.New("the answer broke off")

	quiet = log.New(io.Discard, "", 0)
)

// prepareHTTP has the door proxy the requests that come through its sockets, each of them as layer makes it.
func (d *door) prepareHTTP(layer func(net.Listener) net.Listener) {
	opts := d.plane.opts
	transport := &http.Transport{
		DialContext:           d.dialTarget,
		ResponseHeaderTimeout: d.plane.cloud.Region.Scaled(opts.IdleTimeout),
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   100,
		DisableCompression:    true,
		TLSClientConfig:       &tls.Config{InsecureSkipVerify: true}, // an ALB does not verify targets either
	}
	server := &http.Server{
		Handler:           &httpDoor{door: d, transport: oneAttempt{transport}},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          quiet,
	}
	d.serve = func(socket net.Listener) {
		d.plane.work.Go(func() { _ = server.Serve(layer(socket)) }) // always ends with an error, that of close
	}
	d.close = func() {
		_ = server.Close() // what is open breaks off, as it should
		transport.CloseIdleConnections()
	}
	context.AfterFunc(d.plane.ctx, d.close)
}

// scheme is how a group's targets are spoken to.
func (d *door) scheme(group string) string {
	groups, err := d.plane.machine.Groups(state.GroupFilter{Account: accountOf(group), ARNs: []string{group}})
	if err == nil && groups[0].Protocol == state.ProtocolHTTPS {
		return "https"
	}
	return "http"
}

func accountOf(arn string) string { return strings.Split(arn, ":")[4] }

// oneAttempt keeps http.Transport from sending a request again by itself when a kept connection turns out to be closed:
// a request with a body that cannot be rewound is never sent twice.
type oneAttempt struct {
	http.RoundTripper
}

// RoundTrip sends the request once.
func (o oneAttempt) RoundTrip(r *http.Request) (*http.Response, error) {
	once := r.WithContext(r.Context())
	once.GetBody = nil
	if once.Body == nil || once.Body == http.NoBody {
		once.Body = emptyBody{}
	}
	return o.RoundTripper.RoundTrip(once)
}

// emptyBody is a body of no bytes that http.Transport does not recognize as none.
type emptyBody struct{}

// Read is at the end.
func (emptyBody) Read([]byte) (int, error) { return 0, io.EOF }

// Close does nothing.
func (emptyBody) Close() error { return nil }

type httpDoor struct {
	*door
	transport http.RoundTripper
}

// ServeHTTP does with a request what the rules in force say.
func (d *httpDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := d.plane.now()
	answer := &answer{ResponseWriter: w}
	if d.callback(answer, r) {
		d.record(Request{Start: start, Status: answer.status}, nil)
		return
	}
	rule, ok := d.plane.machine.Decide(d.listener.ARN, d.question(r))
	switch {
	case !d.mayPass(answer, r, rule.Action.Auth):
	case rule.Action.Redirect != nil:
		answer.redirect(r, rule.Action.Redirect, d.listener)
	case rule.Action.Fixed != nil:
		answer.fixed(rule.Action.Fixed)
	case ok:
		d.forward(answer, r, start, rule)
		return
	default: // the listener is gone
		answer.refuse(http.StatusServiceUnavailable)
	}
	d.record(Request{Start: start, Rule: rule.ARN, Status: answer.status}, nil)
}

// forward sends one request to one target of one of the rule's groups.
func (d *httpDoor) forward(answer *answer, r *http.Request, start time.Time, rule state.Decision) {
	group := d.choose(rule.ListenerRule)
	target, address, err := d.pick(rule, group)
	defer func() {
		d.record(Request{Start: start, Rule: rule.ARN, Group: group, Target: target.Key, Status: answer.status}, err)
	}()
	if err != nil {
		answer.refuse(statusOf(err))
		return
	}
	flight, landed := d.board(r.Context(), group, target)
	defer landed()
	proxy := httputil.ReverseProxy{
		Transport: d.transport,
		ErrorLog:  quiet,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: d.scheme(group), Host: address})
			p.Out.Host = routing.Apply(rule.Transforms, routing.HostRewrite, r.Host)
			rewriteURL(p.Out, rule.ListenerRule)
			p.SetXForwarded()
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, failed error) {
			err = blame(r.Context(), flight, failed)
			answer.refuse(statusOf(err))
		},
	}
	finished := false
	defer func() {
		if !finished { // the proxy gives up by a panic when the answer breaks off half-way
			err = blame(r.Context(), flight, errBroken)
		}
	}()
	proxy.ServeHTTP(answer, r.WithContext(context.WithValue(flight, routeKey{}, route{group: group, target: target})))
	finished = true
}

// blame finds out who ended a request.
func blame(client, flight context.Context, err error) error {
	switch {
	case client.Err() != nil:
		return errClientLeft
	case flight.Err() != nil:
		return errCut
	}
	return err
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, errNoTarget):
		return http.StatusServiceUnavailable
	case errors.Is(err, errClientLeft):
		return statusClientLeft
	case timedOut(err):
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// answer remembers the status that was sent.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader passes the status on; informational ones are not the answer.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets the proxy reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// refuse is an answer of the load balancer's own.
func (a *answer) refuse(status int) {
	a.Header().Set("Server", "awselb/2.0")
	a.Header().Set("Content-Type", "text/html")
	a.WriteHeader(status)
	_, _ = io.WriteString(a, "<html><body><h1>"+http.StatusText(status)+"</h1></body></html>\r\n") // the client may have left
}

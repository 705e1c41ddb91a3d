// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"cmp"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// question is what rules may ask about a request.
func (d *door) question(r *http.Request) routing.Request {
	return routing.Request{
		Method: r.Method,
		Host:   hostOf(r.Host),
		Path:   r.URL.EscapedPath(),
		Query:  r.URL.RawQuery,
		Header: r.Header,
		Source: d.plane.client(r.RemoteAddr),
	}
}

// hostOf is a Host header without its port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// client is the address of a client as security groups and rules see it.
func (p *Plane) client(address string) netip.Addr {
	from, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Addr{}
	}
	return p.opts.Client(from.Addr().Unmap())
}

// redirect answers with the place that the action makes of the request.
func (a *answer) redirect(r *http.Request, to *routing.Redirect, l state.Listener) {
	code := http.StatusFound
	if to.Status == "HTTP_301" {
		code = http.StatusMovedPermanently
	}
	a.Header().Set("Location", location(r, to, l))
	a.refuse(code)
}

// location fills in the placeholders.
func location(r *http.Request, to *routing.Redirect, l state.Listener) string {
	fill := strings.NewReplacer(
		"#{protocol}", strings.ToLower(l.Protocol), "#{host}", hostOf(r.Host), "#{port}", strconv.Itoa(l.Port),
		"#{path}", strings.TrimPrefix(r.URL.EscapedPath(), "/"), "#{query}", r.URL.RawQuery,
	).Replace
	place := strings.ToLower(fill(to.Protocol)) + "://" + fill(to.Host) + ":" + fill(to.Port) + fill(to.Path)
	if query := fill(to.Query); query != "" {
		place += "?" + query
	}
	return place
}

// fixed answers with a page of the load balancer's own.
func (a *answer) fixed(page *routing.FixedResponse) {
	code, err := strconv.Atoi(page.Status)
	if err != nil { // not reached: it was checked
		code = http.StatusInternalServerError
	}
	a.Header().Set("Server", "awselb/2.0")
	a.Header().Set("Content-Type", cmp.Or(page.ContentType, "text/plain")+"; charset=utf-8")
	a.WriteHeader(code)
	_, _ = io.WriteString(a, page.Body) // the client may have left
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probe has readiness probes, as a kubelet runs them.
package probe

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
)

// Agent is how the User-Agent of a probe begins.
const Agent = "kube-probe/"

// Prober asks one container, over its socket, whether it is ready.
type Prober struct {
	Clock clock.Clock
	Spec  corev1.Probe
	Ports []corev1.ContainerPort
	Host  string // where the container listens
	Scale func(seconds int32) time.Duration
}

// Run probes every period until ctx ends, the first time at once, and reports what the thresholds make of it whenever
// that changes. As in the kubelet, the initial delay skips the probes that fall into it; it starts no probe of its own.
func (p *Prober) Run(ctx context.Context, report func(ready bool)) {
	start, streak := p.Clock.Now(), streak{}
	for ctx.Err() == nil {
		began := p.Clock.Now()
		if began.Sub(start) >= p.Scale(p.Spec.InitialDelaySeconds) {
			ok := p.probe(ctx)
			if ctx.Err() == nil && streak.add(ok, p.Spec) {
				report(streak.ready)
			}
		}
		p.pause(ctx, began.Add(p.Scale(orDefault(p.Spec.PeriodSeconds, 10))))
	}
}

func (p *Prober) pause(ctx context.Context, until time.Time) {
	timer := p.Clock.NewTimer(until.Sub(p.Clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// probe asks once. The timeout is real time: what it bounds is a real socket.
func (p *Prober) probe(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(orDefault(p.Spec.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	switch {
	case p.Spec.HTTPGet != nil:
		return p.get(ctx, p.Spec.HTTPGet)
	case p.Spec.TCPSocket != nil:
		return p.dial(ctx, p.Spec.TCPSocket.Port)
	default:
		return false
	}
}

func (p *Prober) get(ctx context.Context, action *corev1.HTTPGetAction) bool {
	target, err := url.Parse(action.Path)
	if err != nil {
		return false
	}
	target.Scheme, target.Host = "http", p.address(action.Port)
	if action.Scheme == corev1.URISchemeHTTPS {
		target.Scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return false
	}
	request.Header.Set("User-Agent", Agent+"1.37")
	for _, header := range action.HTTPHeaders {
		request.Header.Set(header.Name, header.Value)
	}
	response, err := probeClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close() // nothing depends on the body
	return response.StatusCode >= 200 && response.StatusCode < 400
}

func (p *Prober) dial(ctx context.Context, port intstr.IntOrString) bool {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address(port))
	if err != nil {
		return false
	}
	_ = connection.Close() // it was opened, that is the answer
	return true
}

// address resolves a named port as the kubelet does; port 0, which refuses, stands for a name that is not there.
func (p *Prober) address(port intstr.IntOrString) string {
	number := port.IntValue()
	for _, candidate := range p.Ports {
		if port.Type == intstr.String && candidate.Name == port.StrVal {
			number = int(candidate.ContainerPort)
		}
	}
	return net.JoinHostPort(p.Host, strconv.Itoa(number))
}

// probeClient opens a connection for each probe and takes a redirect for an answer.
var probeClient = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// streak counts equal probe results in a row.
type streak struct {
	ready bool // what the thresholds have made of it so far
	last  bool
	run   int32
}

// add takes one result and returns whether ready changed.
func (s *streak) add(ok bool, spec corev1.Probe) bool {
	if ok != s.last {
		s.run = 0
	}
	s.last = ok
	s.run++
	need := orDefault(spec.FailureThreshold, 3)
	if ok {
		need = orDefault(spec.SuccessThreshold, 1)
	}
	if ok == s.ready || s.run < need {
		return false
	}
	s.ready = ok
	return true
}

// orDefault returns the value, or the default where the API server would have filled it in.
func orDefault(value, otherwise int32) int32 {
	if value < 1 {
		return otherwise
	}
	return value
}

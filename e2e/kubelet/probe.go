// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

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

const probeAgent = "kube-probe/"

// prober asks one container, over its socket, whether it is ready.
type prober struct {
	clock clock.Clock
	spec  corev1.Probe
	ports []corev1.ContainerPort
	host  string // where the container listens
	scale func(seconds int32) time.Duration
}

// run probes every period until ctx ends, the first time at once, and reports what the thresholds make of it whenever
// that changes. As in the kubelet, the initial delay skips the probes that fall into it; it starts no probe of its own.
func (p *prober) run(ctx context.Context, report func(ready bool)) {
	start, streak := p.clock.Now(), streak{}
	for ctx.Err() == nil {
		began := p.clock.Now()
		if began.Sub(start) >= p.scale(p.spec.InitialDelaySeconds) {
			ok := p.probe(ctx)
			if ctx.Err() == nil && streak.add(ok, p.spec) {
				report(streak.ready)
			}
		}
		p.pause(ctx, began.Add(p.scale(orDefault(p.spec.PeriodSeconds, 10))))
	}
}

func (p *prober) pause(ctx context.Context, until time.Time) {
	timer := p.clock.NewTimer(until.Sub(p.clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// probe asks once. The timeout is real time: what it bounds is a real socket.
func (p *prober) probe(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(orDefault(p.spec.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	switch {
	case p.spec.HTTPGet != nil:
		return p.get(ctx, p.spec.HTTPGet)
	case p.spec.TCPSocket != nil:
		return p.dial(ctx, p.spec.TCPSocket.Port)
	default:
		return false
	}
}

func (p *prober) get(ctx context.Context, action *corev1.HTTPGetAction) bool {
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
	request.Header.Set("User-Agent", probeAgent+"1.37")
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

func (p *prober) dial(ctx context.Context, port intstr.IntOrString) bool {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address(port))
	if err != nil {
		return false
	}
	_ = connection.Close() // it was opened, that is the answer
	return true
}

// address resolves a named port as the kubelet does; port 0, which refuses, stands for a name that is not there.
func (p *prober) address(port intstr.IntOrString) string {
	number := port.IntValue()
	for _, candidate := range p.ports {
		if port.Type == intstr.String && candidate.Name == port.StrVal {
			number = int(candidate.ContainerPort)
		}
	}
	return net.JoinHostPort(p.host, strconv.Itoa(number))
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

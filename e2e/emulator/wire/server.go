// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/targetgate/targetgate/e2e/emulator/record"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// Server answers AWS calls for one machine.
type Server struct {
	machine  *state.Machine
	opts     Options
	throttle throttle
	faults   faults
	sessions sessions
	calls    *record.Log[Call]

	permissions *permissions
}

// New makes a Server; it is an http.Handler.
func New(machine *state.Machine, opts Options) *Server {
	s := &Server{
		machine:  machine,
		opts:     opts.withDefaults(),
		sessions: sessions{byKey: map[string]session{}},
		calls:    record.New[Call](0),

		permissions: newPermissions(opts.Policies),
	}
	s.throttle.set(*s.opts.Limits)
	return s
}

// Calls returns the answered calls from position since on, in order of their answers.
func (s *Server) Calls(since int) []Call { return s.calls.Since(since) }

// SetLimits replaces the token buckets by full ones.
func (s *Server) SetLimits(l Limits) { s.throttle.set(l) }

// Inject arms a fault; the function takes it back.
func (s *Server) Inject(f Fault) (remove func()) { return s.faults.add(f, s.opts.Clock.Now()) }

// request is a call on its way through the stations.
type request struct {
	*params
	service   service
	operation string
	caller    principal
	fault     Fault
	log       Call
}

// ServeHTTP takes a call through all stations.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := &request{log: Call{Received: s.opts.Clock.Now(), RequestID: uuid.NewString()}}
	s.wait(r, s.opts.Latency/2)
	result, err := s.process(q, r)
	s.wait(r, s.opts.Latency/2)
	body, status := q.render(result, err)
	if q.fault.Drop {
		status = 0
	}
	q.log.Status = status
	q.log.Answered = s.opts.Clock.Now()
	s.calls.Append(q.log)
	q.send(w, status, body)
}

// wait lets time pass, or returns when the client is gone.
func (s *Server) wait(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := s.opts.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-r.Context().Done():
	}
}

func (s *Server) process(q *request, r *http.Request) (any, error) {
	act, err := q.parse(r)
	if err != nil {
		return nil, err
	}
	q.caller, err = s.authenticate(r)
	q.log.Principal = q.caller.name
	if err != nil {
		return nil, err
	}
	now := s.opts.Clock.Now()
	if !s.throttle.admit(q.caller.account, q, now) {
		q.log.Throttled = true
		return nil, &q.service.overload
	}
	if err := s.authorize(q); err != nil {
		return nil, err
	}
	if err := q.caller.owns(q.operation, r.PostForm); err != nil {
		return nil, err
	}
	q.fault = s.faults.hit(q.log, now)
	s.wait(r, q.fault.Hang)
	if q.fault.Code != "" {
		return nil, state.Refuse(q.fault.Code, "%s", q.fault.Message)
	}
	return act(s, q)
}

// parse reads the form and finds the operation by its name and version, or both as the JSON protocol has them.
func (q *request) parse(r *http.Request) (action, error) {
	if strings.HasPrefix(r.URL.Path, route53Path) {
		return q.parseRoute53(r)
	}
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		return q.parseJSON(r, target)
	}
	q.service = elbv2Service // the form of errors for what cannot be understood
	if err := r.ParseForm(); err != nil {
		return nil, state.Refuse("MalformedQueryString", "The request could not be read: %v", err)
	}
	q.params = parseParams(r.PostForm)
	q.operation = q.text("Action")
	q.log.Operation = q.operation
	q.log.TargetGroup = q.text("TargetGroupArn")
	q.log.SecurityGroups = q.securityGroups()
	version := q.text("Version")
	if found, ok := services[version]; ok {
		q.service = found
	}
	act, ok := q.service.actions[q.operation]
	if !ok || q.service.version != version {
		return nil, state.Refuse("InvalidAction", "Could not find operation %s for version %s", q.operation, version)
	}
	return act, nil
}

// render makes the body and status, and notes the error code.
func (q *request) render(result any, err error) (body []byte, status int) {
	if err == nil {
		body, err = q.service.answer(q.service.namespace, q.operation, q.log.RequestID, result)
		if raw, is := result.(rawAnswer); is {
			return body, raw.status
		}
		if err == nil {
			return body, http.StatusOK
		}
	}
	refusal := asError(err)
	q.log.Code = refusal.Code
	status = statusOf(refusal.Code)
	if q.fault.Status != 0 {
		status = q.fault.Status
	}
	body, err = q.service.refusal(q.service.namespace, q.log.RequestID, status, refusal)
	if err != nil {
		return []byte(err.Error()), http.StatusInternalServerError
	}
	return body, status
}

// send writes the answer, or as much of it as the fault allows.
func (q *request) send(w http.ResponseWriter, status int, body []byte) {
	if q.fault.Drop {
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	w.Header().Set("Content-Type", cmp.Or(q.service.contentType, "text/xml"))
	w.Header().Set("X-Amzn-Requestid", q.log.RequestID)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if q.fault.Truncate {
		body = body[:len(body)/2]
	}
	_, err := w.Write(body)
	if q.fault.Truncate || err != nil {
		panic(http.ErrAbortHandler)
	}
}

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

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/record"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
	"github.com/targetgate/targetgate/e2e/emulator/wire/ec2api"
	"github.com/targetgate/targetgate/e2e/emulator/wire/elbapi"
	"github.com/targetgate/targetgate/e2e/emulator/wire/jsonapi"
)

// Server answers AWS calls for one cloud.
type Server struct {
	cloud    *cloud.Cloud
	opts     Options
	throttle throttle
	faults   faults
	sessions sessions
	calls    *record.Log[Call]

	permissions *permissions
	services    map[string]*call.Service // of the query protocol, by version
}

// New makes a Server; it is an http.Handler.
func New(aws *cloud.Cloud, opts Options) *Server {
	s := &Server{
		cloud:    aws,
		opts:     opts.withDefaults(),
		sessions: sessions{byKey: map[string]session{}},
		calls:    record.New[Call](0),

		permissions: newPermissions(opts.Policies),
	}
	s.services = map[string]*call.Service{}
	for _, service := range []*call.Service{&elbapi.Service, &ec2api.Service, s.stsService()} {
		s.services[service.Version] = service
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
	call.Request
	fault Fault
	log   Call
}

// ServeHTTP takes a call through all stations.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := &request{log: Call{Received: s.opts.Clock.Now(), RequestID: uuid.NewString()}}
	q.Request = call.Request{
		Tree: &call.Tree{}, ID: q.log.RequestID, Cloud: s.cloud,
		Permit: func(action, resource string, keys map[string]string) error {
			return s.permit(q, action, resource, keys)
		},
	}
	s.wait(r, s.opts.Latency/2)
	result, err := s.process(q, r)
	s.wait(r, s.opts.Latency/2)
	body, status := q.render(result, err)
	if q.fault.Drop {
		status = 0
	}
	q.note()
	q.log.Status = status
	q.log.Answered = s.opts.Clock.Now()
	s.calls.Append(q.log)
	q.send(w, status, body)
}

// note writes down what the log of calls keeps of the parameters.
func (q *request) note() {
	q.log.Operation, q.log.TargetGroup, q.log.Targets = q.Operation, q.TargetGroup, q.Targets
	q.log.SecurityGroups, q.log.Rules = q.SecurityGroups, q.Rules
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
	act, err := s.parse(&q.Request, r)
	if err != nil {
		return nil, err
	}
	q.Caller, err = s.authenticate(r)
	q.log.Principal = q.Caller.Name
	if err != nil {
		return nil, err
	}
	now := s.opts.Clock.Now()
	if !s.throttle.admit(q.Caller.Account, &q.Request, now) {
		q.log.Throttled = true
		return nil, &q.Service.Overload
	}
	if err := s.authorize(q); err != nil {
		return nil, err
	}
	if err := cmp.Or(owns(q.Caller, q.Operation, r.PostForm), s.finds(r.PostForm)); err != nil {
		return nil, err
	}
	q.note()
	q.fault = s.faults.hit(q.log, now)
	q.Omit = q.fault.Omit
	s.wait(r, q.fault.Hang)
	if q.fault.Code != "" {
		return nil, refusal.New(q.fault.Code, "%s", q.fault.Message)
	}
	return act(&q.Request)
}

// parse reads the form and finds the operation by its name and version, or both as the JSON protocol has them.
func (s *Server) parse(q *call.Request, r *http.Request) (call.Action, error) {
	if strings.HasPrefix(r.URL.Path, route53Path) {
		return parseRoute53(q, r)
	}
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		return jsonapi.Parse(q, r, target)
	}
	q.Service = &elbapi.Service // the form of errors for what cannot be understood
	if err := r.ParseForm(); err != nil {
		return nil, refusal.New("MalformedQueryString", "The request could not be read: %v", err)
	}
	q.Tree = call.ParseForm(r.PostForm)
	q.Operation = q.Text("Action")
	q.TargetGroup = q.Text("TargetGroupArn")
	q.SecurityGroups = ec2api.SecurityGroups(q)
	version := q.Text("Version")
	if found, ok := s.services[version]; ok {
		q.Service = found
	}
	act, ok := q.Service.Actions[q.Operation]
	if !ok || q.Service.Version != version {
		return nil, refusal.New("InvalidAction", "Could not find operation %s for version %s", q.Operation, version)
	}
	return act, nil
}

// render makes the body and status, and notes the error code.
func (q *request) render(result any, err error) (body []byte, status int) {
	if err == nil {
		body, err = q.Service.Answer(q.Service.Namespace, q.Operation, q.log.RequestID, result)
		if raw, is := result.(rawAnswer); is {
			return body, raw.status
		}
		if err == nil {
			return body, http.StatusOK
		}
	}
	refused := asError(err)
	q.log.Code = refused.Code
	status = statusOf(refused.Code)
	if q.fault.Status != 0 {
		status = q.fault.Status
	}
	body, err = q.Service.Refusal(q.Service.Namespace, q.log.RequestID, status, refused)
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
	w.Header().Set("Content-Type", cmp.Or(q.Service.ContentType, "text/xml"))
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

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/route53"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// route53Path begins the paths of Route 53, which speaks REST with XML.
const route53Path = "/2013-04-01/hostedzone"

const route53Prefix = "route53"

// route53Service goes through the same stations as all others; the answer is that of route53.Server.
var route53Service = service{
	prefix:      route53Prefix,
	permissions: ownPermission,
	resources: func(_ *Server, q *request) []string {
		if zone := q.text("HostedZone"); zone != "" {
			return []string{"arn:aws:route53:::hostedzone/" + zone}
		}
		return []string{"*"}
	},
	denied:   accessDenied,
	bucket:   func(limits Limits, _ *request) (string, Limit) { return "Route 53", limits.Route53 },
	overload: state.Error{Code: "Throttling", Message: "Rate exceeded"},
	answer:   func(_, _, _ string, result any) ([]byte, error) { return result.(rawAnswer).body, nil }, //nolint:forcetypeassert // all are
	refusal: func(_, id string, _ int, e *state.Error) ([]byte, error) {
		return xml.Marshal(struct {
			XMLName   xml.Name `xml:"ErrorResponse"`
			Code      string   `xml:"Error>Code"`
			Message   string   `xml:"Error>Message"`
			RequestID string   `xml:"RequestId"`
		}{Code: e.Code, Message: e.Message, RequestID: id})
	},
}

// rawAnswer is one that is written as it is.
type rawAnswer struct {
	status int
	body   []byte
}

// parseRoute53 finds the operation by method and path.
func (q *request) parseRoute53(r *http.Request) (action, error) {
	q.service, q.params = route53Service, &params{}
	body, err := io.ReadAll(io.LimitReader(r.Body, largestBody))
	if err != nil {
		return nil, state.Refuse("InvalidInput", "The request could not be read: %v", err)
	}
	zone, set, inZone := strings.Cut(strings.Trim(strings.TrimPrefix(r.URL.Path, route53Path), "/"), "/")
	q.fill(map[string]any{"HostedZone": zone})
	switch {
	case zone == "":
		q.operation = "ListHostedZones"
	case inZone && set == "rrset" && r.Method == http.MethodPost:
		q.operation = "ChangeResourceRecordSets"
		q.fillChange(body)
	case inZone && set == "rrset":
		q.operation = "ListResourceRecordSets"
	default:
		return nil, state.Refuse("InvalidInput", "Could not find operation %s %s", r.Method, r.URL.Path)
	}
	q.log.Operation = q.operation
	return func(s *Server, _ *request) (any, error) {
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		s.opts.Route53.ServeHTTP(answer, again)
		return rawAnswer{answer.Code, answer.Body.Bytes()}, nil
	}, nil
}

// fillChange takes in what conditions of policies ask about, of a batch of one change.
func (q *request) fillChange(body []byte) {
	var in struct {
		Changes []route53.Change `xml:"ChangeBatch>Changes>Change"`
	}
	if err := xml.Unmarshal(body, &in); err == nil && len(in.Changes) == 1 {
		q.fill(map[string]any{"ChangeAction": in.Changes[0].Action, "RecordType": in.Changes[0].Record.Type})
	}
}

// validate has ACM look for the records of a certificate, as it does from time to time.
func (s *Server) validate(c state.Certificate) {
	for _, domain := range c.Domains {
		wanted, ok := c.Record(domain)
		if !ok {
			return
		}
		record, ok := s.opts.Route53.Resolve(wanted.Name, "CNAME")
		if !ok || record.Values == nil || len(record.Values.List) != 1 || record.Values.List[0].Value != wanted.Value {
			return
		}
	}
	s.machine.ValidateCertificate(c.ARN)
}

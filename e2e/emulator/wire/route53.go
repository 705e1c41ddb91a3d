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

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/route53"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

// route53Path begins the paths of Route 53, which speaks REST with XML.
const route53Path = "/2013-04-01/hostedzone"

// route53Service goes through the same stations as all others; the answer is that of route53.Server.
var route53Service = call.Service{
	Prefix:      "route53",
	Permissions: call.OwnPermission,
	Resources: func(q *call.Request) []string {
		if zone := q.Text("HostedZone"); zone != "" {
			return []string{"arn:aws:route53:::hostedzone/" + zone}
		}
		return []string{"*"}
	},
	Conditions: func(q *call.Request) map[string]string {
		action := q.Text("ChangeAction")
		if action == "" {
			return nil
		}
		return map[string]string{
			"route53:changeresourcerecordsetsactions":     action,
			"route53:changeresourcerecordsetsrecordtypes": q.Text("RecordType"),
		}
	},
	Denied:   call.Denied,
	Bucket:   func(*call.Request) (string, call.Limit) { return "Route 53", call.Route53 },
	Overload: refusal.Error{Code: "Throttling", Message: "Rate exceeded"},
	Answer:   func(_, _, _ string, result any) ([]byte, error) { return result.(rawAnswer).body, nil }, // all are
	Refusal: func(_, id string, _ int, e *refusal.Error) ([]byte, error) {
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
func parseRoute53(q *call.Request, r *http.Request) (call.Action, error) {
	q.Service = &route53Service
	body, err := io.ReadAll(io.LimitReader(r.Body, call.LargestBody))
	if err != nil {
		return nil, refusal.New("InvalidInput", "The request could not be read: %v", err)
	}
	zone, set, inZone := strings.Cut(strings.Trim(strings.TrimPrefix(r.URL.Path, route53Path), "/"), "/")
	q.Fill(map[string]any{"HostedZone": zone})
	switch {
	case zone == "":
		q.Operation = "ListHostedZones"
	case inZone && set == "rrset" && r.Method == http.MethodPost:
		q.Operation = "ChangeResourceRecordSets"
		fillChange(q, body)
	case inZone && set == "rrset":
		q.Operation = "ListResourceRecordSets"
	default:
		return nil, refusal.New("InvalidInput", "Could not find operation %s %s", r.Method, r.URL.Path)
	}
	return func(*call.Request) (any, error) {
		again := r.Clone(r.Context())
		again.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		q.Cloud.Route53.ServeHTTP(answer, again)
		return rawAnswer{answer.Code, answer.Body.Bytes()}, nil
	}, nil
}

// fillChange takes in what conditions of policies ask about, of a batch of one change.
func fillChange(q *call.Request, body []byte) {
	var in struct {
		Changes []route53.Change `xml:"ChangeBatch>Changes>Change"`
	}
	if err := xml.Unmarshal(body, &in); err == nil && len(in.Changes) == 1 {
		q.Fill(map[string]any{"ChangeAction": in.Changes[0].Action, "RecordType": in.Changes[0].Record.Type})
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/xml"
	"errors"
	"net/http"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// members is a list in the query protocol; an empty one is sent too.
type members[T any] struct {
	Members []T `xml:"member"`
}

// asError is the code and message to send for any error.
func asError(err error) *state.Error {
	var refusal *state.Error
	if errors.As(err, &refusal) {
		return refusal
	}
	return &state.Error{Code: "InternalFailure", Message: err.Error()}
}

// statusOf is the HTTP status that AWS sends with an error code.
func statusOf(code string) int {
	switch code {
	case "AccessDenied", "UnauthorizedOperation", "ExpiredToken", "InvalidClientTokenId", "MissingAuthenticationToken",
		"SignatureDoesNotMatch", "UnrecognizedClientException":
		return http.StatusForbidden
	case "InternalFailure", "InternalError":
		return http.StatusInternalServerError
	case "ServiceUnavailable", "RequestLimitExceeded":
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

type metadata struct {
	RequestID string `xml:"RequestId"`
}

// queryAnswer wraps a result as ELBv2 and STS do.
func queryAnswer(namespace, operation, id string, result any) ([]byte, error) {
	return envelope(namespace, operation, func(enc *xml.Encoder) error {
		return errors.Join(
			enc.EncodeElement(result, xml.StartElement{Name: xml.Name{Local: operation + "Result"}}),
			enc.EncodeElement(metadata{id}, xml.StartElement{Name: xml.Name{Local: "ResponseMetadata"}}),
		)
	})
}

// envelope is the response element of an operation around what fill writes.
func envelope(namespace, operation string, fill func(*xml.Encoder) error) ([]byte, error) {
	var body bytes.Buffer
	root := xml.StartElement{
		Name: xml.Name{Local: operation + "Response"},
		Attr: []xml.Attr{{Name: xml.Name{Local: "xmlns"}, Value: namespace}},
	}
	enc := xml.NewEncoder(&body)
	err := errors.Join(enc.EncodeToken(root), fill(enc), enc.EncodeToken(root.End()), enc.Close())
	return body.Bytes(), err
}

type queryError struct {
	XMLName   xml.Name `xml:"ErrorResponse"`
	Namespace string   `xml:"xmlns,attr"`
	Type      string   `xml:"Error>Type"`
	Code      string   `xml:"Error>Code"`
	Message   string   `xml:"Error>Message"`
	RequestID string   `xml:"RequestId"`
}

func queryRefusal(namespace, id string, status int, e *state.Error) ([]byte, error) {
	fault := "Sender"
	if status >= http.StatusInternalServerError {
		fault = "Receiver"
	}
	return xml.Marshal(queryError{Namespace: namespace, Type: fault, Code: e.Code, Message: e.Message, RequestID: id})
}

type ec2Error struct {
	XMLName   xml.Name `xml:"Response"`
	Code      string   `xml:"Errors>Error>Code"`
	Message   string   `xml:"Errors>Error>Message"`
	RequestID string   `xml:"RequestID"`
}

func ec2Refusal(_, id string, _ int, e *state.Error) ([]byte, error) {
	return xml.Marshal(ec2Error{Code: e.Code, Message: e.Message, RequestID: id})
}

// ec2Answer wraps a result as EC2 does: without a result element.
func ec2Answer(namespace, operation, id string, result any) ([]byte, error) {
	return envelope(namespace, operation, func(enc *xml.Encoder) error {
		return errors.Join(
			enc.EncodeElement(id, xml.StartElement{Name: xml.Name{Local: "requestId"}}),
			enc.Encode(result),
		)
	})
}

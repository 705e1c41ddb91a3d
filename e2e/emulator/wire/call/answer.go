// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package call

import (
	"bytes"
	"encoding/xml"
	"errors"
	"net/http"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// Members is a list in the query protocol; an empty one is sent too.
type Members[T any] struct {
	Members []T `xml:"member"`
}

type metadata struct {
	RequestID string `xml:"RequestId"`
}

// Answer wraps a result as ELBv2 and STS do.
func Answer(namespace, operation, id string, result any) ([]byte, error) {
	return Envelope(namespace, operation, func(enc *xml.Encoder) error {
		return errors.Join(
			enc.EncodeElement(result, xml.StartElement{Name: xml.Name{Local: operation + "Result"}}),
			enc.EncodeElement(metadata{id}, xml.StartElement{Name: xml.Name{Local: "ResponseMetadata"}}),
		)
	})
}

// Envelope is the response element of an operation around what fill writes.
func Envelope(namespace, operation string, fill func(*xml.Encoder) error) ([]byte, error) {
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

// Refusal is the body of a refusal in the query protocol.
func Refusal(namespace, id string, status int, e *refusal.Error) ([]byte, error) {
	fault := "Sender"
	if status >= http.StatusInternalServerError {
		fault = "Receiver"
	}
	return xml.Marshal(queryError{Namespace: namespace, Type: fault, Code: e.Code, Message: e.Message, RequestID: id})
}

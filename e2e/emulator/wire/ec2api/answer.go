// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2api

import (
	"encoding/xml"
	"errors"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type refusalXML struct {
	XMLName   xml.Name `xml:"Response"`
	Code      string   `xml:"Errors>Error>Code"`
	Message   string   `xml:"Errors>Error>Message"`
	RequestID string   `xml:"RequestID"`
}

func refused(_, id string, _ int, e *refusal.Error) ([]byte, error) {
	return xml.Marshal(refusalXML{Code: e.Code, Message: e.Message, RequestID: id})
}

// answer wraps a result as EC2 does: without a result element.
func answer(namespace, operation, id string, result any) ([]byte, error) {
	return call.Envelope(namespace, operation, func(enc *xml.Encoder) error {
		return errors.Join(
			enc.EncodeElement(id, xml.StartElement{Name: xml.Name{Local: "requestId"}}),
			enc.Encode(result),
		)
	})
}

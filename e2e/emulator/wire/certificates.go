// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"maps"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type resourceRecord struct {
	Name, Type, Value string
}

type domainValidation struct {
	DomainName, ValidationDomain       string
	ValidationMethod, ValidationStatus string
	ResourceRecord                     *resourceRecord `json:",omitempty"`
}

// validations are those of a certificate's domains, none of one that needs none.
func validations(c state.Certificate) []domainValidation {
	if c.Validation == "" || c.CA != "" {
		return nil
	}
	status := "PENDING_VALIDATION"
	if c.Status == state.CertificateIssued {
		status = "SUCCESS"
	}
	var all []domainValidation
	for _, domain := range c.Domains {
		shown := domainValidation{DomainName: domain, ValidationDomain: domain, ValidationMethod: c.Validation, ValidationStatus: status}
		if record, ok := c.Record(domain); ok {
			shown.ResourceRecord = &resourceRecord{Name: record.Name, Type: "CNAME", Value: record.Value}
		}
		all = append(all, shown)
	}
	return all
}

type requestedCertificate struct{ CertificateArn string }

func requestCertificate(s *Server, q *request) (any, error) {
	if method := q.text("ValidationMethod"); method != "" && method != state.ValidationDNS && method != "EMAIL" {
		return nil, state.Refuse("ValidationException", "The validation method '%s' is not valid", method)
	}
	c, err := s.machine.RequestCertificate(q.caller.account, state.CertificateRequest{
		Domains:    append([]string{q.text("DomainName")}, q.texts("SubjectAlternativeNames")...),
		Key:        q.text("KeyAlgorithm"),
		Validation: q.text("ValidationMethod"),
		CA:         q.text("CertificateAuthorityArn"),
		Token:      q.text("IdempotencyToken"),
		Tags:       q.certificateTags(),
	})
	return requestedCertificate{c.ARN}, err
}

func deleteCertificate(s *Server, q *request) (any, error) {
	c, err := q.certificate(s)
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.machine.DiscardCertificate(c.ARN)
}

// certificateTags reads the tags of calls of ACM. Of a key that is given twice the last one counts.
func (q *request) certificateTags() map[string]string {
	tags := map[string]string{}
	for _, t := range q.list("Tags") {
		tags[t.text("Key")] = t.text("Value")
	}
	return tags
}

func addTagsToCertificate(s *Server, q *request) (any, error) {
	c, err := q.certificate(s)
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.machine.TagCertificate(c.ARN, q.certificateTags())
}

type certificateTag struct{ Key, Value string }

type certificateTagList struct{ Tags []certificateTag }

func listTagsForCertificate(s *Server, q *request) (any, error) {
	c, err := q.certificate(s)
	if err != nil {
		return nil, err
	}
	tags, err := s.machine.Tags(c.ARN)
	answer := certificateTagList{Tags: []certificateTag{}}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		answer.Tags = append(answer.Tags, certificateTag{key, tags[key]})
	}
	return answer, err
}

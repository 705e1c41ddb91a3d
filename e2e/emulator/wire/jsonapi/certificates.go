// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonapi

import (
	"maps"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
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
func validations(c acm.Certificate) []domainValidation {
	if c.Validation == "" || c.CA != "" {
		return nil
	}
	status := "PENDING_VALIDATION"
	if c.Status == acm.Issued {
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

func requestCertificate(q *call.Request) (any, error) {
	if method := q.Text("ValidationMethod"); method != "" && method != acm.ValidationDNS && method != "EMAIL" {
		return nil, refusal.New("ValidationException", "The validation method '%s' is not valid", method)
	}
	c, err := q.Cloud.ACM.Request(q.Caller.Account, acm.Request{
		Domains:    append([]string{q.Text("DomainName")}, q.Texts("SubjectAlternativeNames")...),
		Key:        q.Text("KeyAlgorithm"),
		Validation: q.Text("ValidationMethod"),
		CA:         q.Text("CertificateAuthorityArn"),
		Token:      q.Text("IdempotencyToken"),
		Tags:       certificateTags(q),
	})
	return requestedCertificate{c.ARN}, err
}

func deleteCertificate(q *call.Request) (any, error) {
	c, err := certificate(q)
	if err != nil {
		return nil, err
	}
	if len(q.Cloud.ELB.CertificateUsers(c.ARN)) > 0 {
		return nil, refusal.New("ResourceInUseException", "Certificate %s is in use.", c.ARN)
	}
	return struct{}{}, q.Cloud.ACM.Delete(c.ARN)
}

// certificateTags reads the tags of calls of ACM. Of a key that is given twice the last one counts.
func certificateTags(q *call.Request) map[string]string {
	tags := map[string]string{}
	for _, t := range q.List("Tags") {
		tags[t.Text("Key")] = t.Text("Value")
	}
	return tags
}

func addTagsToCertificate(q *call.Request) (any, error) {
	c, err := certificate(q)
	if err != nil {
		return nil, err
	}
	return struct{}{}, q.Cloud.ACM.Tag(c.ARN, certificateTags(q))
}

type certificateTag struct{ Key, Value string }

type certificateTagList struct{ Tags []certificateTag }

func listTagsForCertificate(q *call.Request) (any, error) {
	c, err := certificate(q)
	if err != nil {
		return nil, err
	}
	answer := certificateTagList{Tags: []certificateTag{}}
	for _, key := range slices.Sorted(maps.Keys(c.Tags)) {
		answer.Tags = append(answer.Tags, certificateTag{key, c.Tags[key]})
	}
	return answer, nil
}

// validate has ACM look for the records of a certificate, as it does from time to time.
func validate(q *call.Request, c acm.Certificate) {
	for _, domain := range c.Domains {
		wanted, ok := c.Record(domain)
		if !ok {
			return
		}
		record, ok := q.Cloud.Route53.Resolve(wanted.Name, "CNAME")
		if !ok || record.Values == nil || len(record.Values.List) != 1 || record.Values.List[0].Value != wanted.Value {
			return
		}
	}
	q.Cloud.ACM.Validate(c.ARN)
}

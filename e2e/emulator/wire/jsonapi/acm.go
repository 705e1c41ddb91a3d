// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

var acmService = call.Service{
	Version:     "CertificateManager",
	Prefix:      "acm",
	ContentType: jsonContentType,
	Permissions: call.OwnPermission,
	Resources:   acmResources,
	Denied:      call.Denied,
	Bucket:      acmBucket,
	Overload:    refusal.Error{Code: "ThrottlingException", Message: "Rate exceeded"},
	Tags:        func(q *call.Request) (map[string]string, error) { return certificateTags(q), nil },
	Answer:      jsonAnswer,
	Refusal:     jsonRefusal,
	Actions: map[string]call.Action{
		"ListCertificates":    call.Only(listCertificates, "CertificateStatuses", "Includes", "MaxItems", "NextToken"),
		"DescribeCertificate": call.Only(describeCertificate, "CertificateArn"),
		"RequestCertificate": call.Only(requestCertificate, "DomainName", "SubjectAlternativeNames", "KeyAlgorithm", "ValidationMethod",
			"CertificateAuthorityArn", "IdempotencyToken", "Tags"),
		"DeleteCertificate":      call.Only(deleteCertificate, "CertificateArn"),
		"AddTagsToCertificate":   call.Only(addTagsToCertificate, "CertificateArn", "Tags"),
		"ListTagsForCertificate": call.Only(listTagsForCertificate, "CertificateArn"),
	},
}

func acmBucket(q *call.Request) (name string, limit call.Limit) {
	return "ACM " + q.Operation, call.ACM
}

func acmResources(q *call.Request) []string {
	return []string{cmp.Or(q.Text("CertificateArn"), "*")}
}

const (
	defaultCertificatePage = 1000
	longestSummary         = 100
)

type certificateSummary struct {
	CertificateArn                       string
	DomainName                           string
	SubjectAlternativeNameSummaries      []string
	HasAdditionalSubjectAlternativeNames bool
	Status, Type, KeyAlgorithm           string
	CreatedAt                            int64
}

type certificateList struct {
	CertificateSummaryList []certificateSummary
	NextToken              string `json:",omitempty"`
}

// listCertificates lists, if no key types are asked for, only certificates with RSA keys of 1024 and 2048 bits, as ACM does.
func listCertificates(q *call.Request) (any, error) {
	statuses, keys := q.Texts("CertificateStatuses"), q.Texts("Includes.keyTypes")
	if len(keys) == 0 {
		keys = []string{"RSA_1024", acm.RSA2048}
	}
	certificates := slices.DeleteFunc(q.Cloud.ACM.Certificates(q.Caller.Account), func(c acm.Certificate) bool {
		return !slices.Contains(keys, c.Key) || len(statuses) > 0 && !slices.Contains(statuses, c.Status)
	})
	size, err := q.Number("MaxItems")
	if err != nil {
		return nil, err
	}
	certificates, next, err := numberedPage(certificates, cmp.Or(size, defaultCertificatePage), q.Text("NextToken"), "ValidationException")
	if err != nil {
		return nil, err
	}
	answer := certificateList{CertificateSummaryList: []certificateSummary{}, NextToken: next}
	for _, c := range certificates {
		answer.CertificateSummaryList = append(answer.CertificateSummaryList, certificateSummary{
			CertificateArn: c.ARN, DomainName: c.Domains[0], Status: c.Status, Type: c.Type, KeyAlgorithm: c.Key, CreatedAt: c.Created.Unix(),
			SubjectAlternativeNameSummaries:      c.Domains[:min(longestSummary, len(c.Domains))],
			HasAdditionalSubjectAlternativeNames: len(c.Domains) > longestSummary,
		})
	}
	return answer, nil
}

type certificateDetail struct {
	CertificateArn             string
	DomainName                 string
	SubjectAlternativeNames    []string
	Status, Type, KeyAlgorithm string
	CreatedAt                  int64
	NotAfter                   int64 `json:",omitempty"` // of one that is issued
	InUseBy                    []string
	CertificateAuthorityArn    string             `json:",omitempty"`
	DomainValidationOptions    []domainValidation `json:",omitempty"`
}

type certificateAnswer struct{ Certificate certificateDetail }

func describeCertificate(q *call.Request) (any, error) {
	c, err := certificate(q)
	if err != nil {
		return nil, err
	}
	validate(q, c)
	var expires int64
	if c.Status == acm.Issued && c.Pair.Leaf != nil {
		expires = c.Pair.Leaf.NotAfter.Unix()
	}
	return certificateAnswer{certificateDetail{
		NotAfter: expires, CertificateArn: c.ARN, DomainName: c.Domains[0], SubjectAlternativeNames: c.Domains, Status: c.Status, Type: c.Type,
		KeyAlgorithm: c.Key, CreatedAt: c.Created.Unix(), CertificateAuthorityArn: c.CA, InUseBy: q.Cloud.ELB.CertificateUsers(c.ARN),
		DomainValidationOptions: validations(c),
	}}, nil
}

// certificate is the caller's own one that a call names.
func certificate(q *call.Request) (acm.Certificate, error) {
	arn := q.Text("CertificateArn")
	if !strings.HasPrefix(arn, "arn:aws:acm:") {
		return acm.Certificate{}, refusal.New("InvalidArnException", "'%s' is not a valid ARN", arn)
	}
	c, err := q.Cloud.ACM.Certificate(arn)
	if err == nil && c.Account != q.Caller.Account {
		err = refusal.New("ResourceNotFoundException", "Could not find certificate %s.", arn)
	}
	return c, err
}

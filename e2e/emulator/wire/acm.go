// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

var acmService = service{
	version:     "CertificateManager",
	prefix:      "acm",
	contentType: jsonContentType,
	permissions: ownPermission,
	resources:   acmResources,
	denied:      accessDenied,
	bucket:      acmBucket,
	overload:    state.Error{Code: "ThrottlingException", Message: "Rate exceeded"},
	answer:      jsonAnswer,
	refusal:     jsonRefusal,
	actions: map[string]action{
		"ListCertificates":    only(listCertificates, "CertificateStatuses", "Includes", "MaxItems", "NextToken"),
		"DescribeCertificate": only(describeCertificate, "CertificateArn"),
		"RequestCertificate": only(requestCertificate, "DomainName", "SubjectAlternativeNames", "KeyAlgorithm", "ValidationMethod",
			"CertificateAuthorityArn", "IdempotencyToken", "Tags"),
		"DeleteCertificate":      only(deleteCertificate, "CertificateArn"),
		"AddTagsToCertificate":   only(addTagsToCertificate, "CertificateArn", "Tags"),
		"ListTagsForCertificate": only(listTagsForCertificate, "CertificateArn"),
	},
}

func acmBucket(limits Limits, q *request) (kind string, limit Limit) {
	return "ACM " + q.operation, limits.ACM
}

func acmResources(_ *Server, q *request) []string {
	return []string{cmp.Or(q.text("CertificateArn"), "*")}
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
func listCertificates(s *Server, q *request) (any, error) {
	statuses, keys := q.texts("CertificateStatuses"), q.texts("Includes.keyTypes")
	if len(keys) == 0 {
		keys = []string{"RSA_1024", state.KeyRSA2048}
	}
	certificates := slices.DeleteFunc(s.machine.Certificates(q.caller.account), func(c state.Certificate) bool {
		return !slices.Contains(keys, c.Key) || len(statuses) > 0 && !slices.Contains(statuses, c.Status)
	})
	size, err := q.number("MaxItems")
	if err != nil {
		return nil, err
	}
	certificates, next, err := numberedPage(certificates, cmp.Or(size, defaultCertificatePage), q.text("NextToken"), "ValidationException")
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

func describeCertificate(s *Server, q *request) (any, error) {
	c, err := q.certificate(s)
	if err != nil {
		return nil, err
	}
	s.validate(c)
	var expires int64
	if c.Status == state.CertificateIssued && c.Pair.Leaf != nil {
		expires = c.Pair.Leaf.NotAfter.Unix()
	}
	return certificateAnswer{certificateDetail{
		NotAfter: expires, CertificateArn: c.ARN, DomainName: c.Domains[0], SubjectAlternativeNames: c.Domains, Status: c.Status, Type: c.Type,
		KeyAlgorithm: c.Key, CreatedAt: c.Created.Unix(), CertificateAuthorityArn: c.CA, InUseBy: s.machine.CertificateUsers(c.ARN),
		DomainValidationOptions: validations(c),
	}}, nil
}

// certificate is the caller's own one that a call names.
func (q *request) certificate(s *Server) (state.Certificate, error) {
	arn := q.text("CertificateArn")
	if !strings.HasPrefix(arn, "arn:aws:acm:") {
		return state.Certificate{}, state.Refuse("InvalidArnException", "'%s' is not a valid ARN", arn)
	}
	c, err := s.machine.Certificate(arn)
	if err == nil && c.Account != q.caller.account {
		err = state.Refuse("ResourceNotFoundException", "Could not find certificate %s.", arn)
	}
	return c, err
}

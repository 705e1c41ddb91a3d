// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package acm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsacm "github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
)

// Client reads and requests certificates, in the program's own account. It is safe for concurrent use and holds no lock during a call.
type Client struct {
	calls accounts.Caller[awsacm.Client]
}

// NewClient returns the client whose calls are charged to the class. No call is made.
func NewClient(a *accounts.Accounts, class budget.Class) *Client {
	return &Client{accounts.NewCaller(a, awsacm.NewFromConfig(a.Config(budget.ACM)), class)}
}

// Certificate is one as ACM describes it.
type Certificate struct {
	ARN      string
	Domains  []string // its name and its alternative names, each once
	Status   string   // ISSUED, ...
	CA       string   // ARN of the private certificate authority, "" for none
	Imported bool     // its domains may change, as another one can be imported in its place
	NotAfter time.Time

	Requested time.Time
	Failure   string // why ACM has not issued it
	// Records show that its domains are the account's own: ACM issues the certificate once it finds them in public DNS, and renews it for as
	// long as it does.
	Records []Record
}

// Record is a CNAME record.
type Record struct{ Name, Value string }

// Issued are the ARNs of all certificates that are issued, of every type of key.
func (c *Client) Issued(ctx context.Context) (arns []string, err error) {
	return c.list(ctx, []types.CertificateStatus{types.CertificateStatusIssued}, func(types.CertificateSummary) bool { return true })
}

// Requested are the ARNs of all certificates that were requested of ACM, in every state.
func (c *Client) Requested(ctx context.Context) (arns []string, err error) {
	return c.list(ctx, nil, func(s types.CertificateSummary) bool { return s.Type != types.CertificateTypeImported })
}

func (c *Client) list(
	ctx context.Context, statuses []types.CertificateStatus, these func(types.CertificateSummary) bool,
) (arns []string, err error) {
	err = accounts.Pages(ctx, c.calls, "listing certificates", (*awsacm.Client).ListCertificates,
		&awsacm.ListCertificatesInput{
			CertificateStatuses: statuses,
			Includes:            &types.Filters{KeyTypes: types.KeyAlgorithm("").Values()}, // or ACM lists RSA of 1,024 and 2,048 bits alone
			MaxItems:            aws.Int32(1000),
		},
		func(in *awsacm.ListCertificatesInput, page *awsacm.ListCertificatesOutput) bool {
			for _, summary := range page.CertificateSummaryList {
				if these(summary) {
					arns = append(arns, aws.ToString(summary.CertificateArn))
				}
			}
			return accounts.Follow(&in.NextToken, page.NextToken)
		})
	return arns, err
}

// Certificate describes one certificate. The error satisfies IsNotFound when there is none.
func (c *Client) Certificate(ctx context.Context, arn string) (Certificate, error) {
	out, err := accounts.Call(ctx, c.calls, "describing certificate "+arn, (*awsacm.Client).DescribeCertificate,
		&awsacm.DescribeCertificateInput{CertificateArn: &arn})
	if err != nil {
		return Certificate{}, err
	}
	if out.Certificate == nil {
		return Certificate{}, fmt.Errorf("describing certificate %s: ACM has answered without a certificate", arn)
	}
	return certificate(*out.Certificate), nil
}

// IsNotFound reports whether a certificate does not exist.
func IsNotFound(err error) bool { return awserr.HasCode(err, "ResourceNotFoundException") }

// IsInUse reports whether something has the certificate, or had it a short time ago.
func IsInUse(err error) bool { return awserr.HasCode(err, "ResourceInUseException") }

func certificate(d types.CertificateDetail) Certificate {
	out := Certificate{
		ARN: aws.ToString(d.CertificateArn), Status: string(d.Status),
		CA: aws.ToString(d.CertificateAuthorityArn), Imported: d.Type == types.CertificateTypeImported, NotAfter: aws.ToTime(d.NotAfter),
		Requested: aws.ToTime(d.CreatedAt), Failure: string(d.FailureReason), Records: records(d.DomainValidationOptions),
	}
	known := map[string]bool{"": true}
	for _, domain := range append([]string{aws.ToString(d.DomainName)}, d.SubjectAlternativeNames...) {
		if !known[domain] {
			known[domain] = true
			out.Domains = append(out.Domains, domain)
		}
	}
	return out
}

// records are those of all domains, each once: a domain and the wildcard below it have the same one.
func records(validations []types.DomainValidation) (out []Record) {
	for _, v := range validations {
		if v.ResourceRecord == nil {
			continue
		}
		record := Record{aws.ToString(v.ResourceRecord.Name), aws.ToString(v.ResourceRecord.Value)}
		if !slices.Contains(out, record) {
			out = append(out, record)
		}
	}
	return out
}

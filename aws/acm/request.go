// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package acm

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsacm "github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/targetgate/targetgate/aws/accounts"
)

// Request asks for a certificate.
type Request struct {
	Domains []string // the first is its name
	// CA is the ARN of the private certificate authority that is to issue it. Without it Amazon is, after a validation by DNS.
	CA   string
	Tags map[string]string
	// Token makes the same request within an hour ask for the same certificate. It is up to 32 letters, digits and underscores.
	Token string
}

// Request requests a certificate. ACM issues it later.
func (c *Client) Request(ctx context.Context, r Request) (arn string, err error) {
	in := &awsacm.RequestCertificateInput{
		DomainName: aws.String(r.Domains[0]), SubjectAlternativeNames: r.Domains, IdempotencyToken: aws.String(r.Token),
	}
	if r.CA != "" {
		in.CertificateAuthorityArn = aws.String(r.CA)
	} else {
		in.ValidationMethod = types.ValidationMethodDns
	}
	for _, key := range slices.Sorted(maps.Keys(r.Tags)) {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String(key), Value: aws.String(r.Tags[key])})
	}
	doing := "requesting a certificate for " + strings.Join(r.Domains, ", ")
	out, err := accounts.Call(ctx, c.calls, doing, (*awsacm.Client).RequestCertificate, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.CertificateArn), nil
}

// Tags are those of a certificate. The error satisfies IsNotFound when there is none.
func (c *Client) Tags(ctx context.Context, arn string) (map[string]string, error) {
	out, err := accounts.Call(ctx, c.calls, "listing tags of certificate "+arn, (*awsacm.Client).ListTagsForCertificate,
		&awsacm.ListTagsForCertificateInput{CertificateArn: &arn})
	if err != nil {
		return nil, err
	}
	tags := make(map[string]string, len(out.Tags))
	for _, tag := range out.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags, nil
}

// Delete deletes a certificate. The error satisfies IsNotFound when there is none, and IsInUse while a listener has it.
func (c *Client) Delete(ctx context.Context, arn string) error {
	_, err := accounts.Call(ctx, c.calls, "deleting certificate "+arn, (*awsacm.Client).DeleteCertificate,
		&awsacm.DeleteCertificateInput{CertificateArn: &arn})
	return err
}

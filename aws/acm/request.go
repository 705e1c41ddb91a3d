// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package acm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsacm "github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/acm/types"
)

// Request asks for a certificate.
type Request struct {
	Domains []string // the first is its name
	// CA is the ARN of the private certificate authority that is to issue it. Without it Amazon is, after a validation by DNS.
	CA   string
	Tags map[string]string
	// Token has the same request within an hour ask for the same certificate. It is up to 32 letters, digits and underscores.
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
	ctx, err = c.session.Prepare(ctx, c.class, "")
	if err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	out, err := c.api.RequestCertificate(ctx, in)
	if err != nil {
		return "", fmt.Errorf("%s: %w", doing, err)
	}
	return aws.ToString(out.CertificateArn), nil
}

// Tags are those of a certificate. The error satisfies IsNotFound when there is none.
func (c *Client) Tags(ctx context.Context, arn string) (map[string]string, error) {
	ctx, err := c.session.Prepare(ctx, c.class, "")
	if err != nil {
		return nil, fmt.Errorf("listing tags of certificate %s: %w", arn, err)
	}
	out, err := c.api.ListTagsForCertificate(ctx, &awsacm.ListTagsForCertificateInput{CertificateArn: &arn})
	if err != nil {
		return nil, fmt.Errorf("listing tags of certificate %s: %w", arn, err)
	}
	tags := make(map[string]string, len(out.Tags))
	for _, tag := range out.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return tags, nil
}

// Delete deletes a certificate. The error satisfies IsNotFound when there is none, and IsInUse while a listener has it.
func (c *Client) Delete(ctx context.Context, arn string) error {
	ctx, err := c.session.Prepare(ctx, c.class, "")
	if err == nil {
		_, err = c.api.DeleteCertificate(ctx, &awsacm.DeleteCertificateInput{CertificateArn: &arn})
	}
	if err != nil {
		return fmt.Errorf("deleting certificate %s: %w", arn, err)
	}
	return nil
}

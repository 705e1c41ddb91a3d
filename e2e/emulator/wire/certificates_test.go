// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsacm "github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/acm/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
)

const privateCA = "arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1"

func (b *bed) requestCertificate(in awsacm.RequestCertificateInput) (arn string, err error) {
	out, err := b.acm().RequestCertificate(ctx(b.t), &in)
	if err != nil {
		return "", err
	}
	return *out.CertificateArn, nil
}

func (b *bed) detail(arn string) *types.CertificateDetail {
	b.t.Helper()
	return must[*awsacm.DescribeCertificateOutput](b.t)(b.acm().DescribeCertificate(ctx(b.t), &awsacm.DescribeCertificateInput{CertificateArn: &arn})).Certificate
}

func (b *bed) deleteCertificate(arn string) error {
	_, err := b.acm().DeleteCertificate(ctx(b.t), &awsacm.DeleteCertificateInput{CertificateArn: &arn})
	return err
}

func certificateTagsOf(keys ...string) []types.Tag {
	var tags []types.Tag
	for _, key := range keys {
		tags = append(tags, types.Tag{Key: &key, Value: aws.String("x")})
	}
	return tags
}

// TestCertificateLife follows one from its request over its validation to a listener, and to its end.
func TestCertificateLife(t *testing.T) {
	b := newELBBed(t)
	in := awsacm.RequestCertificateInput{
		DomainName: aws.String("shop.test.example"), SubjectAlternativeNames: []string{"*.shop.test.example", "shop.test.example", "b.example"},
		ValidationMethod: types.ValidationMethodDns, IdempotencyToken: aws.String("token_1"), Tags: certificateTagsOf("team"),
	}
	arn := must[string](t)(b.requestCertificate(in))
	if again := must[string](t)(b.requestCertificate(in)); again != arn {
		t.Errorf("the same request made another one, %s", again)
	}
	got := b.detail(arn)
	if diff := cmp.Diff([]string{"shop.test.example", "*.shop.test.example", "b.example"}, got.SubjectAlternativeNames); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
	if got.Status != "PENDING_VALIDATION" || got.Type != "AMAZON_ISSUED" || got.KeyAlgorithm != "RSA_2048" || got.DomainValidationOptions[0].ResourceRecord != nil {
		t.Errorf("certificate is %+v, want one that waits for its validation, without records yet", got)
	}
	b.clock.Step(10 * time.Second)
	options := b.detail(arn).DomainValidationOptions
	apex, wildcard, other := options[0].ResourceRecord, options[1].ResourceRecord, options[2].ResourceRecord
	if !strings.HasPrefix(*apex.Name, "_") || !strings.HasSuffix(*apex.Name, ".shop.test.example.") || apex.Type != "CNAME" ||
		!strings.HasSuffix(*apex.Value, ".acm-validations.aws.") || *wildcard.Name != *apex.Name || *wildcard.Value != *apex.Value || *other.Value == *apex.Value {
		t.Errorf("records are %v %v, %v %v, %v %v", *apex.Name, *apex.Value, *wildcard.Name, *wildcard.Value, *other.Name, *other.Value)
	}
	lb := b.balancer("lb")
	listen := func() error {
		_, err := b.elb.CreateListener(ctx(t), &elb.CreateListenerInput{
			LoadBalancerArn: &lb, Port: aws.Int32(443), Protocol: "HTTPS", DefaultActions: []elbtypes.Action{fixed("404")},
			Certificates: []elbtypes.Certificate{{CertificateArn: &arn}},
		})
		return err
	}
	wantCode(t, listen(), "CertificateNotFound")
	wantCode(t, b.cloud.ACM.SetStatus(arn, acm.Issued), "")
	wantCode(t, listen(), "")
	if got := b.detail(arn); got.DomainValidationOptions[2].ValidationStatus != "SUCCESS" || len(got.InUseBy) != 1 || got.InUseBy[0] != lb {
		t.Errorf("certificate is %+v, want it validated and in use by %s", got, lb)
	}
	wantCode(t, b.deleteCertificate(arn), "ResourceInUseException")
	must[*elb.DeleteLoadBalancerOutput](t)(b.elb.DeleteLoadBalancer(ctx(t), &elb.DeleteLoadBalancerInput{LoadBalancerArn: &lb}))
	wantCode(t, b.deleteCertificate(arn), "")
	wantCode(t, b.deleteCertificate(arn), "ResourceNotFoundException")
}

func TestCertificatesWithoutRecords(t *testing.T) {
	b := newELBBed(t)
	name := aws.String("a.example")
	private := must[string](t)(b.requestCertificate(awsacm.RequestCertificateInput{DomainName: name, CertificateAuthorityArn: aws.String(privateCA)}))
	mail := must[string](t)(b.requestCertificate(awsacm.RequestCertificateInput{DomainName: name, KeyAlgorithm: "EC_prime256v1"}))
	b.clock.Step(10 * time.Second)
	if got := b.detail(private); got.Status != "ISSUED" || got.Type != "PRIVATE" || *got.CertificateAuthorityArn != privateCA || len(got.DomainValidationOptions) > 0 {
		t.Errorf("that of a private CA is %+v", got)
	}
	if got := b.detail(mail); got.DomainValidationOptions[0].ValidationMethod != "EMAIL" || got.DomainValidationOptions[0].ResourceRecord != nil {
		t.Errorf("that validated by mail is %+v", got)
	}
}

func TestCertificateTags(t *testing.T) {
	b := newELBBed(t)
	arn := must[string](t)(b.requestCertificate(awsacm.RequestCertificateInput{DomainName: aws.String("a.example"), Tags: certificateTagsOf("one")}))
	add := func(arn string, keys ...string) error {
		_, err := b.acm().AddTagsToCertificate(ctx(t), &awsacm.AddTagsToCertificateInput{CertificateArn: &arn, Tags: certificateTagsOf(keys...)})
		return err
	}
	wantCode(t, add(arn, "two"), "")
	wantCode(t, add(arn, "aws:three"), "InvalidTagException")
	wantCode(t, add(arn+"x", "two"), "ResourceNotFoundException")
	var many []string
	for n := range 49 {
		many = append(many, fmt.Sprint("k", n))
	}
	wantCode(t, add(arn, many...), "TooManyTagsException")
	out := must[*awsacm.ListTagsForCertificateOutput](t)(b.acm().ListTagsForCertificate(ctx(t), &awsacm.ListTagsForCertificateInput{CertificateArn: &arn}))
	var keys []string
	for _, tag := range out.Tags {
		keys = append(keys, *tag.Key+"="+*tag.Value)
	}
	if diff := cmp.Diff([]string{"one=x", "two=x"}, keys); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func TestRequestCertificateCodes(t *testing.T) {
	const invalid = "ValidationException"
	b := newELBBed(t)
	long := strings.Repeat("a", 60) + ".example"
	var many []string
	for n := range 10 {
		many = append(many, fmt.Sprint("n", n, ".example"))
	}
	for name, tc := range map[string]struct {
		change func(*awsacm.RequestCertificateInput)
		want   string
	}{
		"a name without a dot":         {func(in *awsacm.RequestCertificateInput) { in.DomainName = aws.String("localhost") }, invalid},
		"a star within":                {func(in *awsacm.RequestCertificateInput) { in.DomainName = aws.String("a.*.example") }, invalid},
		"a long main name":             {func(in *awsacm.RequestCertificateInput) { in.DomainName = &long }, invalid},
		"a long other name":            {func(in *awsacm.RequestCertificateInput) { in.SubjectAlternativeNames = []string{long} }, ""},
		"eleven names":                 {func(in *awsacm.RequestCertificateInput) { in.SubjectAlternativeNames = many }, "LimitExceededException"},
		"a key that is not known":      {func(in *awsacm.RequestCertificateInput) { in.KeyAlgorithm = "RSA_3072" }, invalid},
		"a token with a hyphen":        {func(in *awsacm.RequestCertificateInput) { in.IdempotencyToken = aws.String("a-b") }, invalid},
		"a method that is not known":   {func(in *awsacm.RequestCertificateInput) { in.ValidationMethod = "HTTP" }, invalid},
		"a tag of AWS":                 {func(in *awsacm.RequestCertificateInput) { in.Tags = certificateTagsOf("aws:a") }, "InvalidTagException"},
		"an option that is not known ": {func(in *awsacm.RequestCertificateInput) { in.ManagedBy = "CLOUDFRONT" }, invalid},
	} {
		t.Run(name, func(t *testing.T) {
			in := awsacm.RequestCertificateInput{DomainName: aws.String("a.example")}
			tc.change(&in)
			_, err := b.requestCertificate(in)
			wantCode(t, err, tc.want)
		})
	}
	in := awsacm.RequestCertificateInput{DomainName: aws.String("b.example"), IdempotencyToken: aws.String("a")}
	first := must[string](t)(b.requestCertificate(in))
	in.SubjectAlternativeNames = many[:1]
	if other := must[string](t)(b.requestCertificate(in)); other == first {
		t.Error("another request with that token made no other certificate")
	}
	b.clock.Step(time.Hour)
	in.SubjectAlternativeNames = nil
	if later := must[string](t)(b.requestCertificate(in)); later == first {
		t.Error("the token counts for longer than an hour")
	}
}

func TestPolicyForCertificates(t *testing.T) {
	const denied = "AccessDeniedException"
	b := newELBBed(t)
	in := awsacm.RequestCertificateInput{DomainName: aws.String("a.example"), Tags: certificateTagsOf("cluster")}
	tagged := must[string](t)(b.requestCertificate(in))
	untagged := must[string](t)(b.requestCertificate(awsacm.RequestCertificateInput{DomainName: aws.String("b.example")}))
	b.server.SetPolicies("AKIATEST", policy(t,
		allows("acm:RequestCertificate", "*", `"Null": {"aws:RequestTag/cluster": "false"}`),
		allows("acm:DeleteCertificate", "arn:aws:acm:*:*:certificate/*", `"Null": {"aws:ResourceTag/cluster": "false"}`)))
	_, err := b.requestCertificate(in)
	wantCode(t, err, "")
	in.Tags = nil
	_, err = b.requestCertificate(in)
	wantCode(t, err, denied)
	wantCode(t, b.deleteCertificate(untagged), denied)
	wantCode(t, b.deleteCertificate(tagged), "")
}

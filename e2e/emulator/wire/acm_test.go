// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsacm "github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/iam"
	"github.com/targetgate/targetgate/e2e/emulator/region"
)

func (b *bed) acm() *awsacm.Client { return awsacm.NewFromConfig(b.config) }

func (b *bed) certificate(spec acm.Spec) string {
	b.t.Helper()
	return must[acm.Certificate](b.t)(b.cloud.ACM.Add("", spec)).ARN
}

func TestCertificatesAreListedByKeyAndStatus(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	b.certificate(acm.Spec{Domains: []string{"rsa"}, Key: acm.RSA2048})
	b.certificate(acm.Spec{Domains: []string{"ec"}})
	b.certificate(acm.Spec{Domains: []string{"pending"}, Status: acm.Pending})
	both := &types.Filters{KeyTypes: []types.KeyAlgorithm{types.KeyAlgorithmRsa2048, types.KeyAlgorithmEcPrime256v1}}
	for name, tc := range map[string]struct {
		in   awsacm.ListCertificatesInput
		want []string
	}{
		"RSA alone unless asked":   {awsacm.ListCertificatesInput{}, []string{"rsa"}},
		"all keys that are named":  {awsacm.ListCertificatesInput{Includes: both}, []string{"rsa", "ec", "pending"}},
		"those with a status only": {awsacm.ListCertificatesInput{Includes: both, CertificateStatuses: []types.CertificateStatus{types.CertificateStatusIssued}}, []string{"rsa", "ec"}},
		"in pages of one":          {awsacm.ListCertificatesInput{Includes: both, MaxItems: aws.Int32(1)}, []string{"rsa", "ec", "pending"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for pages := awsacm.NewListCertificatesPaginator(b.acm(), &tc.in); pages.HasMorePages(); {
				for _, c := range must[*awsacm.ListCertificatesOutput](t)(pages.NextPage(ctx(t))).CertificateSummaryList {
					got = append(got, *c.DomainName)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("certificates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCertificateAsTheSDKReadsIt(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	const ca = "arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1"
	arn := b.certificate(acm.Spec{
		Domains: []string{"a.example.com", "*.example.com"}, Status: acm.Pending, Type: acm.Private, CA: ca,
	})
	describe := func() *types.CertificateDetail {
		return must[*awsacm.DescribeCertificateOutput](t)(b.acm().DescribeCertificate(ctx(t), &awsacm.DescribeCertificateInput{CertificateArn: &arn})).Certificate
	}
	c := describe()
	got := append([]string{*c.DomainName, string(c.Status), string(c.Type), *c.CertificateAuthorityArn, string(c.KeyAlgorithm)}, c.SubjectAlternativeNames...)
	want := []string{"a.example.com", "PENDING_VALIDATION", "PRIVATE", ca, "EC_prime256v1", "a.example.com", "*.example.com"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("certificate (-want +got):\n%s", diff)
	}
	wantCode(t, b.cloud.ACM.SetStatus(arn, acm.Issued), "")
	if status := describe().Status; status != types.CertificateStatusIssued {
		t.Errorf("status after validation is %s, want ISSUED", status)
	}
	wantCode(t, b.cloud.ACM.Delete(arn), "")
	_, err := b.acm().DescribeCertificate(ctx(t), &awsacm.DescribeCertificateInput{CertificateArn: &arn})
	wantCode(t, err, "ResourceNotFoundException")
	foreign := must[acm.Certificate](t)(b.cloud.ACM.Add("210987654321", acm.Spec{Domains: []string{"a"}})).ARN
	_, err = b.acm().DescribeCertificate(ctx(t), &awsacm.DescribeCertificateInput{CertificateArn: &foreign})
	wantCode(t, err, "ResourceNotFoundException")
	_, err = b.acm().DescribeCertificate(ctx(t), &awsacm.DescribeCertificateInput{CertificateArn: aws.String("arn:aws:iam::123456789012:server-certificate/a")})
	wantCode(t, err, "InvalidArnException")
}

// TestStationsOfTheJSONProtocol takes calls through all that calls of the query protocol go through.
func TestStationsOfTheJSONProtocol(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{
		AccessKeys: map[string]string{"AKIATEST": region.DefaultAccount},
		Limits:     &Limits{ACM: Limit{Capacity: 4, Refill: 0.001}},
	})
	list := func() error {
		_, err := b.acm().ListCertificates(ctx(t), &awsacm.ListCertificatesInput{})
		return err
	}
	wantCode(t, list(), "")
	b.server.SetPolicies("AKIATEST", policy(t, allows("acm:DescribeCertificate", "*", "")))
	wantCode(t, list(), "AccessDeniedException")
	b.server.SetPolicies("AKIATEST", []iam.Policy{}...)
	b.server.Inject(Fault{Operation: "ListCertificates", Times: 1, Code: "InternalFailure"})
	wantCode(t, list(), "InternalFailure")
	_, err := b.acm().RenewCertificate(ctx(t), &awsacm.RenewCertificateInput{CertificateArn: aws.String("arn:aws:acm:eu-west-1:1:certificate/1")})
	wantCode(t, err, "UnknownOperationException")
	_, err = b.acm().ListCertificates(ctx(t), &awsacm.ListCertificatesInput{SortBy: types.SortByCreatedAt, SortOrder: types.SortOrderAscending})
	wantCode(t, err, "ValidationException")
	wantCode(t, list(), "ThrottlingException")
	var codes []string
	for _, call := range b.server.Calls(0) {
		codes = append(codes, call.Operation+" "+call.Code)
	}
	want := []string{"ListCertificates ", "ListCertificates AccessDenied", "ListCertificates InternalFailure",
		"RenewCertificate UnknownOperationException", "ListCertificates UnknownParameter", "ListCertificates ThrottlingException"}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Errorf("log of calls (-want +got):\n%s", diff)
	}
}

func TestJSONThatCannotBeRead(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	request := must[*http.Request](t)(http.NewRequestWithContext(ctx(t), http.MethodPost, *b.config.BaseEndpoint, strings.NewReader("{")))
	request.Header.Set("X-Amz-Target", "CertificateManager.ListCertificates")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if code := b.server.Calls(0)[0].Code; code != "SerializationException" || response.StatusCode != http.StatusBadRequest {
		t.Errorf("refused with %d %s, want 400 SerializationException", response.StatusCode, code)
	}
}

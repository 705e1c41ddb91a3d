// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/iam"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

func (b *bed) acm() *acm.Client { return acm.NewFromConfig(b.config) }

func (b *bed) certificate(spec state.CertificateSpec) string {
	b.t.Helper()
	return must[state.Certificate](b.t)(b.machine.AddCertificate("", spec)).ARN
}

func TestCertificatesAreListedByKeyAndStatus(t *testing.T) {
	b := newBed(t, state.Options{}, Options{})
	b.certificate(state.CertificateSpec{Domains: []string{"rsa"}, Key: state.KeyRSA2048})
	b.certificate(state.CertificateSpec{Domains: []string{"ec"}})
	b.certificate(state.CertificateSpec{Domains: []string{"pending"}, Status: state.CertificatePending})
	both := &types.Filters{KeyTypes: []types.KeyAlgorithm{types.KeyAlgorithmRsa2048, types.KeyAlgorithmEcPrime256v1}}
	for name, tc := range map[string]struct {
		in   acm.ListCertificatesInput
		want []string
	}{
		"RSA alone unless asked":   {acm.ListCertificatesInput{}, []string{"rsa"}},
		"all keys that are named":  {acm.ListCertificatesInput{Includes: both}, []string{"rsa", "ec", "pending"}},
		"those with a status only": {acm.ListCertificatesInput{Includes: both, CertificateStatuses: []types.CertificateStatus{types.CertificateStatusIssued}}, []string{"rsa", "ec"}},
		"in pages of one":          {acm.ListCertificatesInput{Includes: both, MaxItems: aws.Int32(1)}, []string{"rsa", "ec", "pending"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for pages := acm.NewListCertificatesPaginator(b.acm(), &tc.in); pages.HasMorePages(); {
				for _, c := range must[*acm.ListCertificatesOutput](t)(pages.NextPage(ctx(t))).CertificateSummaryList {
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
	b := newBed(t, state.Options{}, Options{})
	const ca = "arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1"
	arn := b.certificate(state.CertificateSpec{
		Domains: []string{"a.example.com", "*.example.com"}, Status: state.CertificatePending, Type: state.CertificatePrivate, CA: ca,
	})
	describe := func() *types.CertificateDetail {
		return must[*acm.DescribeCertificateOutput](t)(b.acm().DescribeCertificate(ctx(t), &acm.DescribeCertificateInput{CertificateArn: &arn})).Certificate
	}
	c := describe()
	got := append([]string{*c.DomainName, string(c.Status), string(c.Type), *c.CertificateAuthorityArn, string(c.KeyAlgorithm)}, c.SubjectAlternativeNames...)
	want := []string{"a.example.com", "PENDING_VALIDATION", "PRIVATE", ca, "EC_prime256v1", "a.example.com", "*.example.com"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("certificate (-want +got):\n%s", diff)
	}
	wantCode(t, b.machine.SetCertificateStatus(arn, state.CertificateIssued), "")
	if status := describe().Status; status != types.CertificateStatusIssued {
		t.Errorf("status after validation is %s, want ISSUED", status)
	}
	wantCode(t, b.machine.DeleteCertificate(arn), "")
	_, err := b.acm().DescribeCertificate(ctx(t), &acm.DescribeCertificateInput{CertificateArn: &arn})
	wantCode(t, err, "ResourceNotFoundException")
	foreign := must[state.Certificate](t)(b.machine.AddCertificate("210987654321", state.CertificateSpec{Domains: []string{"a"}})).ARN
	_, err = b.acm().DescribeCertificate(ctx(t), &acm.DescribeCertificateInput{CertificateArn: &foreign})
	wantCode(t, err, "ResourceNotFoundException")
	_, err = b.acm().DescribeCertificate(ctx(t), &acm.DescribeCertificateInput{CertificateArn: aws.String("arn:aws:iam::123456789012:server-certificate/a")})
	wantCode(t, err, "InvalidArnException")
}

// TestStationsOfTheJSONProtocol takes calls through all that calls of the query protocol go through.
func TestStationsOfTheJSONProtocol(t *testing.T) {
	b := newBed(t, state.Options{}, Options{
		AccessKeys: map[string]string{"AKIATEST": state.DefaultAccount},
		Limits:     &Limits{ACM: Limit{Capacity: 4, Refill: 0.001}},
	})
	list := func() error {
		_, err := b.acm().ListCertificates(ctx(t), &acm.ListCertificatesInput{})
		return err
	}
	wantCode(t, list(), "")
	b.server.SetPolicies("AKIATEST", policy(t, allows("acm:DescribeCertificate", "*", "")))
	wantCode(t, list(), "AccessDeniedException")
	b.server.SetPolicies("AKIATEST", []iam.Policy{}...)
	b.server.Inject(Fault{Operation: "ListCertificates", Times: 1, Code: "InternalFailure"})
	wantCode(t, list(), "InternalFailure")
	_, err := b.acm().RenewCertificate(ctx(t), &acm.RenewCertificateInput{CertificateArn: aws.String("arn:aws:acm:eu-west-1:1:certificate/1")})
	wantCode(t, err, "UnknownOperationException")
	_, err = b.acm().ListCertificates(ctx(t), &acm.ListCertificatesInput{SortBy: types.SortByCreatedAt, SortOrder: types.SortOrderAscending})
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
	b := newBed(t, state.Options{}, Options{})
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

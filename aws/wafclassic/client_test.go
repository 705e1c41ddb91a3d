// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wafclassic

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
)

// service answers each call so, by the operation.
type service struct {
	err     error
	answers map[string]string // refusals begin with a code and a space
}

func (s service) Do(request *http.Request) (*http.Response, error) {
	if s.err != nil {
		return nil, s.err
	}
	_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	status, body := http.StatusOK, s.answers[operation]
	if code, _, refused := strings.Cut(body, " "); refused {
		status, body = http.StatusBadRequest, `{"__type":"`+code+`"}`
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

func newClient(s service) *Client {
	known := accounts.New(aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKIATEST", "secret", ""), HTTPClient: s,
		RetryMaxAttempts: 1,
	}, accounts.Settings{})
	return NewClient(known, budget.ClassProvision)
}

func TestAnswersOfWAFClassic(t *testing.T) {
	for name, tc := range map[string]struct {
		service       service
		webACL, named string
		fails         bool
	}{
		"a web ACL": {
			service: service{answers: map[string]string{"GetWebACLForResource": `{"WebACLSummary":{"WebACLId":"id","Name":"n"}}`, "GetWebACL": `{"WebACL":{}}`}},
			webACL:  "id", named: "id",
		},
		"none":       {service: service{answers: map[string]string{"GetWebACLForResource": "{}", "GetWebACL": "WAFNonexistentItemException none"}}},
		"a refusal":  {service: service{answers: map[string]string{"GetWebACLForResource": "AccessDenied no", "GetWebACL": "AccessDenied no"}}, fails: true},
		"no network": {service: service{err: &net.DNSError{Err: "server misbehaving", Name: "waf-regional", IsTemporary: true}}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(tc.service)
			acl, err := c.WebACL(t.Context(), "lb")
			if acl != tc.webACL || (err != nil) != tc.fails || errors.Is(err, ErrNoService) {
				t.Errorf("web ACL %q, error %v", acl, err)
			}
			named, err := c.Named(t.Context(), "id")
			if named != tc.named || (err != nil) != tc.fails || errors.Is(err, ErrNoService) {
				t.Errorf("named %q, error %v", named, err)
			}
		})
	}
}

// Where the name of the endpoint does not exist no load balancer has a web ACL of the service.
func TestARegionWithoutWAFClassic(t *testing.T) {
	c := newClient(service{err: &net.DNSError{Err: "no such host", Name: "waf-regional", IsNotFound: true}})
	if acl, err := c.WebACL(t.Context(), "lb"); acl != "" || err != nil {
		t.Errorf("web ACL %q, error %v", acl, err)
	}
	if _, err := c.Named(t.Context(), "id"); !errors.Is(err, ErrNoService) {
		t.Errorf("error %v, want %v", err, ErrNoService)
	}
	if err := c.Associate(t.Context(), "lb", "id"); !errors.Is(err, ErrNoService) {
		t.Errorf("error %v, want %v", err, ErrNoService)
	}
}

// The name of the service that gives us credentials is not found: that says nothing of WAF Classic.
func TestCredentialsThatCannotBeHad(t *testing.T) {
	c := NewClient(accounts.New(aws.Config{
		Region: "eu-west-1", HTTPClient: service{}, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, &net.DNSError{Err: "no such host", Name: "sts", IsNotFound: true}
		}),
	}, accounts.Settings{}), budget.ClassProvision)
	if _, err := c.WebACL(t.Context(), "lb"); err == nil {
		t.Error("no error")
	}
	if _, err := c.Named(t.Context(), "id"); err == nil || errors.Is(err, ErrNoService) {
		t.Errorf("error %v, want that of the credentials", err)
	}
}

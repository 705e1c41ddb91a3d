// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
)

const testARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123456789abcdef"

// accountsAt returns accounts whose every service is server.
func accountsAt(server *httptest.Server, settings Settings) *Accounts {
	settings.Endpoints = map[string]string{serviceID: server.URL, "STS": server.URL}
	return NewAccounts(aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	}, settings)
}

func TestClientChargesRetriesToBudget(t *testing.T) {
	attempts := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		attempts++
		if attempts < 3 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`<ErrorResponse><Error><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>`))
			return
		}
		_, _ = w.Write([]byte(`<RegisterTargetsResponse><RegisterTargetsResult/></RegisterTargetsResponse>`))
	}))
	defer server.Close()
	client := accountsAt(server, Settings{
		MaxRetries: 5, Throttle: []ThrottleRule{{Operations: regexp.MustCompile("."), Rate: 0.001, Burst: 3}},
	}).Client(Role{})

	err := client.Register(t.Context(), testARN, func() []Target { return []Target{{ID: "10.0.0.1", Port: 80}} })
	if err != nil {
		t.Fatal(err)
	}
	if left := client.budget.buckets[0].tokens; left >= 1 {
		t.Errorf("%g tokens left after 3 attempts with a burst of 3, want none", left)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.GroupByARN(ctx, testARN); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call without a token: %v, want to wait until the deadline", err)
	}
	if attempts != 3 {
		t.Errorf("%d attempts reached the server, want 3", attempts)
	}
}

func TestClientErrorNamesOperationCodeAndRequest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`<ErrorResponse><Error><Code>TargetGroupNotFound</Code><Message>no such group</Message></Error>` +
			`<RequestId>req-1</RequestId></ErrorResponse>`))
	}))
	defer server.Close()
	_, err := accountsAt(server, Settings{}).Client(Role{}).GroupByARN(t.Context(), testARN)
	if !IsTargetGroupNotFound(err) {
		t.Fatalf("IsTargetGroupNotFound(%v) = false", err)
	}
	for _, part := range []string{"describing target group " + testARN, "DescribeTargetGroups", "req-1", "TargetGroupNotFound"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	if got, want := Message(err), "TargetGroupNotFound: no such group"; got != want {
		t.Errorf("Message: %q, want %q", got, want)
	}
}

func TestClientAssumesRoleOnceWithExternalID(t *testing.T) {
	var assumed []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_ = req.ParseForm()
		if req.PostForm.Get("Action") == "AssumeRole" {
			assumed = append(assumed, req.PostForm.Get("RoleArn")+" "+req.PostForm.Get("ExternalId"))
			expires := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			_, _ = w.Write([]byte(`<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>other</AccessKeyId>` +
				`<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>` + expires +
				`</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`))
			return
		}
		if auth := req.Header.Get("Authorization"); !strings.Contains(auth, "Credential=other/") {
			t.Errorf("signed with %q, want the assumed role's key", auth)
		}
		_, _ = w.Write([]byte(`<DescribeTargetHealthResponse><DescribeTargetHealthResult/></DescribeTargetHealthResponse>`))
	}))
	defer server.Close()
	accounts := accountsAt(server, Settings{})
	role := Role{ARN: "arn:aws:iam::210987654321:role/shared", ExternalID: "secret-handshake"}
	for range 3 {
		if _, err := accounts.Client(role).Health(t.Context(), ClassOther, testARN); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{role.ARN + " secret-handshake"}, assumed); diff != "" {
		t.Errorf("AssumeRole calls (-want +got):\n%s", diff)
	}
}

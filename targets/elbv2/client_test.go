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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awselbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
)

const testARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123456789abcdef"

// accountsAt returns accounts whose every service is server.
func accountsAt(server *httptest.Server, settings Settings) *Accounts {
	settings.Endpoints = map[string]string{serviceID: server.URL, stsID: server.URL}
	return accountsOver(nil, settings)
}

// accountsOver returns accounts that send everything with client: no socket keeps a test's clock from going on.
func accountsOver(client aws.HTTPClient, settings Settings) *Accounts {
	return NewAccounts(aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), HTTPClient: client,
	}, settings)
}

func TestClientChargesRetriesToBudget(t *testing.T) {
	attempts := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		attempts++
		if attempts < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`<DescribeTargetGroupAttributesResponse><DescribeTargetGroupAttributesResult><Attributes><member>` +
			`<Key>deregistration_delay.timeout_seconds</Key><Value>300</Value></member></Attributes>` +
			`</DescribeTargetGroupAttributesResult></DescribeTargetGroupAttributesResponse>`))
	}))
	defer server.Close()
	client := accountsAt(server, Settings{
		MaxRetries: 5, Throttle: []ThrottleRule{{Operations: regexp.MustCompile("."), Rate: 0.001, Burst: 3}},
	}).Client(Role{})

	if _, err := client.DeregistrationDelay(t.Context(), ClassOther, testARN); err != nil {
		t.Fatal(err)
	}
	if left := client.session.budget.Load().buckets[0].tokens; left >= 1 {
		t.Errorf("%g tokens left after 3 attempts with 3 at the start, want none", left)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.GroupByARN(ctx, ClassOther, testARN); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call without a token: %v, want to wait until the deadline", err)
	}
	if attempts != 3 {
		t.Errorf("%d attempts reached the server, want 3", attempts)
	}
}

// failing is an AWS that counts how often it is asked.
type failing struct{ asked int }

func (f *failing) Do(*http.Request) (*http.Response, error) {
	f.asked++
	return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody}, nil
}

// The API server gives up on admission after 10 s.
func TestClientGivesUpSoonerWhenAUserWaits(t *testing.T) {
	tests := map[string]struct {
		class      Class
		maxRetries int
		want       int
	}{
		"for a user":                {class: ClassAdmission, maxRetries: 10, want: briefAttempts},
		"for a user, by few orders": {class: ClassAdmission, maxRetries: 1, want: 2},
		"for nobody":                {class: ClassOther, maxRetries: 10, want: 11},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &failing{}
				accounts := accountsOver(server, Settings{MaxRetries: tc.maxRetries})
				begun := time.Now()
				_, err := accounts.Client(Role{}).GroupByARN(t.Context(), tc.class, testARN)
				took := time.Since(begun)
				if err == nil || server.asked != tc.want {
					t.Errorf("%v after %d attempts, want an error after %d", err, server.asked, tc.want)
				}
				if tc.class == ClassAdmission && took > 6*time.Second {
					t.Errorf("took %s", took)
				}
			})
		})
	}
}

func TestClientSendsBatchOnce(t *testing.T) {
	attempts := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		attempts++
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer server.Close()
	client := accountsAt(server, Settings{MaxRetries: 5}).Client(Role{})
	if err := client.Register(t.Context(), ClassRegister, testARN, oneTarget); err == nil {
		t.Error("no error")
	}
	if attempts != 1 {
		t.Errorf("%d attempts, want 1: the next one is to hold what is due then", attempts)
	}
}

func oneTarget() map[Target]string { return map[Target]string{{ID: "10.0.0.1", Port: 80}: ""} }

// classes notes to which class each call is charged.
type classes struct {
	API
	mu  sync.Mutex
	got map[string]charge
}

func (c *classes) note(ctx context.Context, operation string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	noted := chargeOf(ctx)
	noted.budget = nil
	c.got[operation] = noted
}

func (c *classes) RegisterTargets(ctx context.Context, _ *awselbv2.RegisterTargetsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.RegisterTargetsOutput, error,
) {
	c.note(ctx, "RegisterTargets")
	return nil, nil
}

func (c *classes) DeregisterTargets(ctx context.Context, _ *awselbv2.DeregisterTargetsInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DeregisterTargetsOutput, error,
) {
	c.note(ctx, "DeregisterTargets")
	return nil, nil
}

func (c *classes) DescribeTargetHealth(ctx context.Context, _ *awselbv2.DescribeTargetHealthInput, _ ...func(*awselbv2.Options)) (
	*awselbv2.DescribeTargetHealthOutput, error,
) {
	c.note(ctx, "DescribeTargetHealth")
	return &awselbv2.DescribeTargetHealthOutput{}, nil
}

// Rule 9: each operation asks the budget in its own class, for its tenant.
func TestClientChargesEachOperationToItsClass(t *testing.T) {
	api := &classes{got: map[string]charge{}}
	client := New(api, NewBudget(nil, clock.RealClock{})).For("team-a")
	_ = client.Register(t.Context(), ClassRegister, testARN, oneTarget)
	_ = client.Deregister(t.Context(), ClassDeregister, testARN, oneTarget)
	_, _ = client.Health(t.Context(), ClassWaitingHealth, testARN, WholeGroup)
	want := map[string]charge{
		"RegisterTargets":      {class: ClassRegister, tenant: "team-a", paid: true},
		"DeregisterTargets":    {class: ClassDeregister, tenant: "team-a", paid: true},
		"DescribeTargetHealth": {class: ClassWaitingHealth, tenant: "team-a", paid: true},
	}
	if diff := cmp.Diff(want, api.got, cmp.AllowUnexported(charge{})); diff != "" {
		t.Errorf("charges (-want +got):\n%s", diff)
	}
}

// Rule 9: a batch waits for its token in its own class, before it is taken.
func TestClientBatchesWaitInTheirClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := New(&classes{got: map[string]charge{}}, oneAtATime())
		_ = spend(t.Context(), client.session.budget.Load(), "First")
		order := make(chan string, 2)
		batch := func(name string) Batch {
			return func() map[Target]string {
				order <- name
				return oneTarget()
			}
		}
		go func() { _ = client.Register(t.Context(), ClassRegister, testARN, batch("register")) }()
		synctest.Wait()
		go func() { _ = client.Deregister(t.Context(), ClassDeregister, testARN, batch("deregister")) }()
		synctest.Wait()
		if len(order) != 0 {
			t.Fatalf("%s was taken before there was a token", <-order)
		}
		if diff := cmp.Diff([]string{"deregister", "register"}, []string{<-order, <-order}); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
	})
}

// Rule 2 needs to know from when on an answer counts: a call that waits for its token has not begun.
func TestClientTellsWhenAReadingBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := New(&classes{got: map[string]charge{}}, oneAtATime())
		_ = spend(t.Context(), client.session.budget.Load(), "First")
		asked := time.Now()
		var begun time.Time
		_, _ = client.Health(t.Context(), ClassOther, testARN, func() []Target { begun = time.Now(); return nil })
		if waited := begun.Sub(asked).Round(100 * time.Millisecond); waited != time.Second {
			t.Errorf("the reading began %s after it was asked for, want when there was a token, after 1 s", waited)
		}
	})
}

func TestClientErrorNamesOperationCodeAndRequest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`<ErrorResponse><Error><Code>TargetGroupNotFound</Code><Message>no such group</Message></Error>` +
			`<RequestId>req-1</RequestId></ErrorResponse>`))
	}))
	defer server.Close()
	_, err := accountsAt(server, Settings{}).Client(Role{}).GroupByARN(t.Context(), ClassOther, testARN)
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
		if req.PostForm.Get("Action") == "GetCallerIdentity" {
			return
		}
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
		if _, err := accounts.Client(role).Health(t.Context(), ClassOther, testARN, WholeGroup); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{role.ARN + " secret-handshake"}, assumed); diff != "" {
		t.Errorf("AssumeRole calls (-want +got):\n%s", diff)
	}
}

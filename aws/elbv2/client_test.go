// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
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

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
)

const testARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123456789abcdef"

// clientsAt returns clients whose every service is server.
func clientsAt(server *httptest.Server, settings accounts.Settings) *Clients {
	settings.Endpoints = map[string]string{budget.ELBv2: server.URL, budget.STS: server.URL}
	return clientsOver(nil, settings)
}

// clientsOver returns clients that send everything with client: no socket keeps a test's clock from going on.
func clientsOver(client aws.HTTPClient, settings accounts.Settings) *Clients {
	return NewClients(accounts.New(aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), HTTPClient: client,
	}, settings))
}

// oneAtATime grants one token at the start and one a second from then on, for every operation.
func oneAtATime() *budget.Budget {
	return budget.New("", []budget.Rule{{Operations: regexp.MustCompile("."), Rate: 1, Burst: 1}}, clock.RealClock{})
}

// spend has a call made that is answered at once.
func spend(ctx context.Context, b *budget.Budget) {
	token, _ := b.Take(ctx, budget.ELBv2, "First")
	token.Answered()
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
	client := clientsAt(server, accounts.Settings{
		MaxRetries: 5, Throttle: []budget.Rule{{Operations: regexp.MustCompile("."), Rate: 0.001, Burst: 3}},
	}).Client(accounts.Role{})

	if _, err := client.DeregistrationDelay(t.Context(), budget.ClassOther, testARN); err != nil {
		t.Fatal(err)
	}
	if left := client.session.Budget().Levels()[0].Tokens; left >= 1 {
		t.Errorf("%g tokens left after 3 attempts with 3 at the start, want none", left)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.GroupByARN(ctx, budget.ClassOther, testARN); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call without a token: %v, want to wait until the deadline", err)
	}
	if attempts != 3 {
		t.Errorf("%d attempts reached the server, want 3", attempts)
	}
}

// failing is an AWS that notes what it is asked for.
type failing struct{ actions []string }

func (f *failing) Do(req *http.Request) (*http.Response, error) {
	_ = req.ParseForm()
	f.actions = append(f.actions, req.PostForm.Get("Action"))
	return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody}, nil
}

// The API server gives up on admission after 10 s.
func TestClientGivesUpSoonerWhenAUserWaits(t *testing.T) {
	tests := map[string]struct {
		class      budget.Class
		maxRetries int
		want       int
	}{
		"for a user":                {class: budget.ClassAdmission, maxRetries: 10, want: briefAttempts},
		"for a user, by few orders": {class: budget.ClassAdmission, maxRetries: 1, want: 2},
		"for nobody":                {class: budget.ClassOther, maxRetries: 10, want: 11},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &failing{}
				clients := clientsOver(server, accounts.Settings{MaxRetries: tc.maxRetries})
				begun := time.Now()
				_, err := clients.Client(accounts.Role{}).GroupByARN(t.Context(), tc.class, testARN)
				took := time.Since(begun)
				if err == nil || len(server.actions) != tc.want {
					t.Errorf("%v after %d attempts, want an error after %d", err, len(server.actions), tc.want)
				}
				if tc.class == budget.ClassAdmission && took > 6*time.Second {
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
	client := clientsAt(server, accounts.Settings{MaxRetries: 5}).Client(accounts.Role{})
	if err := client.Register(t.Context(), budget.ClassRegister.Now(), testARN, oneTarget); err == nil {
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
	got map[string]budget.Charge
}

func (c *classes) note(ctx context.Context, operation string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	noted := budget.ChargeOf(ctx)
	noted.Budget = nil
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
	api := &classes{got: map[string]budget.Charge{}}
	client := New(api, budget.New("", nil, clock.RealClock{})).For("team-a")
	_ = client.Register(t.Context(), budget.ClassRegister.Now(), testARN, oneTarget)
	_ = client.Deregister(t.Context(), budget.ClassDeregister.Now(), testARN, oneTarget)
	_, _ = client.Health(t.Context(), budget.ClassWaitingHealth, testARN, WholeGroup)
	want := map[string]budget.Charge{
		"RegisterTargets":      budget.Charge{Urgency: budget.ClassRegister.Now(), Tenant: "team-a"}.Paid(),
		"DeregisterTargets":    budget.Charge{Urgency: budget.ClassDeregister.Now(), Tenant: "team-a"}.Paid(),
		"DescribeTargetHealth": budget.Charge{Urgency: budget.ClassWaitingHealth.Now(), Tenant: "team-a"}.Paid(),
	}
	if diff := cmp.Diff(want, api.got, cmp.AllowUnexported(budget.Charge{})); diff != "" {
		t.Errorf("charges (-want +got):\n%s", diff)
	}
}

// Rule 9: a batch waits for its token in its own class, before it is taken.
func TestClientBatchesWaitInTheirClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := New(&classes{got: map[string]budget.Charge{}}, oneAtATime())
		spend(t.Context(), client.session.Budget())
		order := make(chan string, 2)
		batch := func(name string) Batch {
			return func() map[Target]string {
				order <- name
				return oneTarget()
			}
		}
		go func() { _ = client.Register(t.Context(), budget.ClassRegister.Now(), testARN, batch("register")) }()
		synctest.Wait()
		go func() { _ = client.Deregister(t.Context(), budget.ClassDeregister.Now(), testARN, batch("deregister")) }()
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
		client := New(&classes{got: map[string]budget.Charge{}}, oneAtATime())
		spend(t.Context(), client.session.Budget())
		asked := time.Now()
		var begun time.Time
		_, _ = client.Health(t.Context(), budget.ClassOther, testARN, func() []Target { begun = time.Now(); return nil })
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
	_, err := clientsAt(server, accounts.Settings{}).Client(accounts.Role{}).GroupByARN(t.Context(), budget.ClassOther, testARN)
	if !IsTargetGroupNotFound(err) {
		t.Fatalf("IsTargetGroupNotFound(%v) = false", err)
	}
	for _, part := range []string{"describing target group " + testARN, "DescribeTargetGroups", "req-1", "TargetGroupNotFound"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	if got, want := awserr.Message(err), "TargetGroupNotFound: no such group"; got != want {
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
	clients := clientsAt(server, accounts.Settings{})
	role := accounts.Role{ARN: "arn:aws:iam::210987654321:role/shared", ExternalID: "secret-handshake"}
	for range 3 {
		if _, err := clients.Client(role).Health(t.Context(), budget.ClassOther, testARN, WholeGroup); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{role.ARN + " secret-handshake"}, assumed); diff != "" {
		t.Errorf("AssumeRole calls (-want +got):\n%s", diff)
	}
}

const throttling = `<ErrorResponse><Error><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>`

// Both the calls that the SDK tries again and those of one attempt slow their bucket down, and no other.
func TestClientSlowsDownWhenThrottled(t *testing.T) {
	tests := map[string]struct {
		call        func(context.Context, *Client) error
		wantSlowed  []bool // registering, describing
		wantAnswers int
	}{
		"one attempt": {
			call: func(ctx context.Context, c *Client) error {
				return c.Register(ctx, budget.ClassRegister.Now(), testARN, oneTarget)
			},

			wantSlowed: []bool{true, false}, wantAnswers: 1,
		},
		"tried again": {
			call: func(ctx context.Context, c *Client) error {
				_, err := c.GroupByARN(ctx, budget.ClassAdmission, testARN)
				return err
			},
			wantSlowed: []bool{false, true}, wantAnswers: 2,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			answers := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				answers++
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(throttling))
			}))
			defer server.Close()
			client := clientsAt(server, accounts.Settings{MaxRetries: 1}).Client(accounts.Role{})
			if err := tc.call(t.Context(), client); !awserr.IsThrottled(err) {
				t.Fatalf("error %v, want throttled", err)
			}
			if answers != tc.wantAnswers {
				t.Errorf("%d attempts, want %d", answers, tc.wantAnswers)
			}
			rates := []float64{4, 25}
			for i, want := range tc.wantSlowed {
				if l := client.session.Budget().Levels()[i]; l.Rate < rates[i] != want {
					t.Errorf("%s fills at %g of %g a second, want it slowed down: %t", l.Operations, l.Rate, rates[i], want)
				}
			}
		})
	}
}

func TestBudgetRefundsTokenOfEmptyBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := New(nil, oneAtATime())
		start := time.Now()
		for range 3 {
			if err := client.Register(t.Context(), budget.ClassRegister.Now(), "arn", func() map[Target]string { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("3 empty batches took %s of the budget, want none", took)
		}
	})
}

func TestClientCallsNothingWithoutItsRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &failing{}
		client := clientsOver(server, accounts.Settings{}).Client(accounts.Role{ARN: "arn:aws:iam::210987654321:role/shared"})
		err := client.Register(t.Context(), budget.ClassRegister.Now(), testARN, oneTarget)
		if want := "registering targets in " + testARN + ": failed to refresh cached credentials, assuming role "; err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s...", err, want)
		}
		if IsRejected(err) || client.Short() {
			t.Error("a role that is not assumed counts against the targets, or the budget")
		}
		if len(server.actions) == 0 || slices.Contains(server.actions, "RegisterTargets") {
			t.Errorf("calls %v, want AssumeRole alone", server.actions)
		}
	})
}

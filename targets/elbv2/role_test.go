// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbv2

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

const otherRole = "arn:aws:iam::210987654321:role/shared"

// abroad is AWS as the program sees it that assumes roles: it answers AssumeRole and DescribeTargetHealth. It is an
// aws.HTTPClient, so that no socket keeps a test's clock from going on.
type abroad struct {
	refusal string        // the error code of AssumeRole, if it is refused
	lasts   time.Duration // how long credentials are good for

	refuses func(session string) bool // sessions that are refused, beside all when there is a refusal

	mu      sync.Mutex
	assumed []string // role, external ID and session of each AssumeRole
	tags    []string // key=value of each AssumeRole's tags
	keys    []string // with which each DescribeTargetHealth was signed
	asked   int      // for the account
}

func (a *abroad) Do(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	a.ServeHTTP(w, req)
	return w.Result(), nil
}

func (a *abroad) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = req.ParseForm()
	switch req.PostForm.Get("Action") {
	case "GetCallerIdentity":
		a.asked++
		_, _ = w.Write([]byte(`<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account>` +
			`</GetCallerIdentityResult></GetCallerIdentityResponse>`))
		return
	case "AssumeRole":
		for i := 1; req.PostForm.Has(fmt.Sprintf("Tags.member.%d.Key", i)); i++ {
			tag := func(part string) string { return req.PostForm.Get(fmt.Sprintf("Tags.member.%d.%s", i, part)) }
			a.tags = append(a.tags, tag("Key")+"="+tag("Value"))
		}
		a.assumed = append(a.assumed, strings.Join([]string{
			req.PostForm.Get("RoleArn"), req.PostForm.Get("ExternalId"), req.PostForm.Get("RoleSessionName"),
		}, " "))
		a.assume(w, req.PostForm.Get("RoleSessionName"))
		return
	}
	_, signed, _ := strings.Cut(req.Header.Get("Authorization"), "Credential=")
	key, _, _ := strings.Cut(signed, "/")
	a.keys = append(a.keys, key)
	_, _ = w.Write([]byte(`<DescribeTargetHealthResponse><DescribeTargetHealthResult/></DescribeTargetHealthResponse>`))
}

func (a *abroad) assume(w http.ResponseWriter, session string) {
	if a.refusal != "" || a.refuses != nil && a.refuses(session) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `<ErrorResponse><Error><Code>%s</Code><Message>not you</Message></Error></ErrorResponse>`,
			cmp.Or(a.refusal, "AccessDenied"))
		return
	}
	_, _ = fmt.Fprintf(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>key%d</AccessKeyId>`+
		`<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials>`+
		`</AssumeRoleResult></AssumeRoleResponse>`, len(a.assumed), time.Now().Add(a.lasts).UTC().Format(time.RFC3339))
}

// accounts are accounts whose every service is a.
func (a *abroad) accounts(settings Settings) *Accounts {
	return accountsOver(a, settings)
}

func TestClientAssumesRoleAgainBeforeItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &abroad{lasts: 15 * time.Minute}
		client := aws.accounts(Settings{}).Client(Role{ARN: otherRole, ExternalID: "secret-handshake"})
		for _, pause := range []time.Duration{0, 13*time.Minute + 50*time.Second, 50 * time.Second} {
			time.Sleep(pause)
			if _, err := client.Health(t.Context(), ClassOther, testARN, WholeGroup); err != nil {
				t.Fatal(err)
			}
		}
		who := otherRole + " secret-handshake targetgate"
		if diff := gocmp.Diff([]string{who, who}, aws.assumed); diff != "" {
			t.Errorf("AssumeRole calls (-want +got):\n%s", diff)
		}
		if diff := gocmp.Diff([]string{"key1", "key1", "key2"}, aws.keys); diff != "" {
			t.Errorf("keys of the calls at 0, 13:50 and 14:40 of 15 minutes (-want +got):\n%s", diff)
		}
	})
}

func TestClientCallsNothingWithoutItsRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := assumeRequests(t)
		aws := &abroad{refusal: "AccessDenied"}
		client := aws.accounts(Settings{MaxRetries: 5}).Client(Role{ARN: otherRole})
		err := client.Register(t.Context(), ClassRegister, testARN, oneTarget)
		if !IsPermission(err) || IsRejected(err) {
			t.Errorf("IsPermission %t and IsRejected %t of %v", IsPermission(err), IsRejected(err), err)
		}
		want := "registering targets in " + testARN + ": failed to refresh cached credentials, assuming role " + otherRole +
			": operation error STS"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s...", err, want)
		}
		if got, want := Message(err), "assuming role "+otherRole+": AccessDenied: not you"; got != want {
			t.Errorf("Message %q, want %q", got, want)
		}
		if len(aws.keys) != 0 || len(aws.assumed) != 1 {
			t.Errorf("%d calls to the load balancer and %d of AssumeRole, want 0 and 1", len(aws.keys), len(aws.assumed))
		}
		if client.session.budget.Load() != nil || client.Short() || client.Queued() {
			t.Error("the role's account has a budget although no call was made there")
		}
		if requests := assumeRequests(t) - before; requests != 1 {
			t.Errorf("metrics count %d refused requests to STS, want 1", requests)
		}
	})
}

// assumeRequests is how many refused requests the metrics have counted.
func assumeRequests(t *testing.T) (count int) {
	t.Helper()
	series := `aws_api_requests_total{error_code="AccessDenied",operation="AssumeRole",service="STS",status_code="403"} `
	for _, line := range scrape(t, metrics.Registry, series) {
		if _, err := fmt.Sscan(strings.TrimPrefix(line, series), &count); err != nil {
			t.Fatal(err)
		}
	}
	return count
}

// AssumeRole has a bucket of its own, and its callers come again.
func TestClientKeepsPaceWhenAssumeRoleIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &abroad{lasts: time.Hour}
		accounts := aws.accounts(Settings{MaxRetries: 5})
		if _, err := accounts.Client(Role{ARN: otherRole}).Health(t.Context(), ClassOther, testARN, WholeGroup); err != nil {
			t.Fatal(err)
		}
		aws.refusal, aws.assumed = "Throttling", nil
		client := accounts.Client(Role{ARN: otherRole, ExternalID: "another"})
		_, err := client.GroupByARN(t.Context(), ClassAdmission, testARN)
		if !IsThrottled(err) {
			t.Errorf("error %v, want throttled", err)
		}
		if want := 1 + assumeRetries; len(aws.assumed) != want {
			t.Errorf("%d attempts to assume the role, want %d", len(aws.assumed), want)
		}
		accounts.Client(Role{ARN: otherRole}).session.budget.Load().notice("DescribeTargetGroups", err)
		if l := accounts.Client(Role{ARN: otherRole}).session.budget.Load().buckets[1].level(); l.rate != 25 {
			t.Errorf("rate %g of the role's account, want the configured 25", l.rate)
		}
		if l := accounts.stsBudget.buckets[0].level(); l.rate >= 25 {
			t.Errorf("rate %g of STS, want it slowed down", l.rate)
		}
	})
}

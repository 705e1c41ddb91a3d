// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
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
	w.WriteHeader(http.StatusNotFound)
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
	return New(aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), HTTPClient: a,
	}, settings)
}

func TestClientAssumesRoleAgainBeforeItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &abroad{lasts: 15 * time.Minute}
		session := aws.accounts(Settings{}).Session(Role{ARN: otherRole, ExternalID: "secret-handshake"})
		var keys []string
		for _, pause := range []time.Duration{0, 13*time.Minute + 50*time.Second, 50 * time.Second} {
			time.Sleep(pause)
			if err := use(t, session); err != nil {
				t.Fatal(err)
			}
			used, err := session.Credentials().Retrieve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, used.AccessKeyID)
		}
		who := otherRole + " secret-handshake targetgate"
		if diff := gocmp.Diff([]string{who, who}, aws.assumed); diff != "" {
			t.Errorf("AssumeRole calls (-want +got):\n%s", diff)
		}
		if diff := gocmp.Diff([]string{"key1", "key1", "key2"}, keys); diff != "" {
			t.Errorf("keys of the calls at 0, 13:50 and 14:40 of 15 minutes (-want +got):\n%s", diff)
		}
	})
}

func TestSessionWithoutItsRoleHasNoBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := assumeRequests(t)
		aws := &abroad{refusal: "AccessDenied"}
		session := aws.accounts(Settings{MaxRetries: 5}).Session(Role{ARN: otherRole})
		err := use(t, session)
		if !awserr.IsPermission(err) || !awserr.IsRoleError(err) {
			t.Errorf("IsPermission %t and IsRoleError %t of %v", awserr.IsPermission(err), awserr.IsRoleError(err), err)
		}
		want := "failed to refresh cached credentials, assuming role " + otherRole + ": operation error STS"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s...", err, want)
		}
		if got, want := awserr.Message(err), "assuming role "+otherRole+": AccessDenied: not you"; got != want {
			t.Errorf("Message %q, want %q", got, want)
		}
		if len(aws.assumed) != 1 || session.Budget() != nil || session.Abroad() {
			t.Errorf("%d calls of AssumeRole, budget %v; want one, and none", len(aws.assumed), session.Budget())
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
func TestAccountsKeepPaceWhenAssumeRoleIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &abroad{lasts: time.Hour}
		accounts := aws.accounts(Settings{MaxRetries: 5})
		if err := use(t, accounts.Session(Role{ARN: otherRole})); err != nil {
			t.Fatal(err)
		}
		before := accounts.own.Budget().Levels()
		aws.refusal, aws.assumed = "Throttling", nil
		if err := use(t, accounts.Session(Role{ARN: otherRole, ExternalID: "another"})); !awserr.IsThrottled(err) {
			t.Errorf("error %v, want throttled", err)
		}
		if want := 1 + assumeRetries; len(aws.assumed) != want {
			t.Errorf("%d attempts to assume the role, want %d", len(aws.assumed), want)
		}
		for _, l := range accounts.Session(Role{ARN: otherRole}).Budget().Levels() {
			if l.Rate != 25 && l.Rate != 4 && l.Rate != 3 {
				t.Errorf("rate %g of %s in the role's account, want the configured one", l.Rate, l.Operations)
			}
		}
		for i, l := range accounts.own.Budget().Levels() {
			if slowed := l.Rate < before[i].Rate; slowed != strings.HasPrefix(l.Operations, budget.STS) {
				t.Errorf("rate %g of %s, want only STS slowed down", l.Rate, l.Operations)
			}
		}
	})
}

// assuming is an object that names a role.
type assuming struct{ namespace, name, arn, externalID string }

func (a assuming) GetNamespace() string                   { return a.namespace }
func (a assuming) GetName() string                        { return a.name }
func (a assuming) RoleToAssume() (arn, externalID string) { return a.arn, a.externalID }

func TestOwnIdentityIsTheSameForAllBindings(t *testing.T) {
	want := Role{ARN: otherRole, ExternalID: "id", Namespace: "shop", Binding: "web"}
	if got := RoleOf(assuming{"shop", "web", otherRole, "id"}); got != want {
		t.Errorf("role %+v, want %+v", got, want)
	}
	if got := RoleOf(assuming{"shop", "web", "", "id"}); got != (Role{}) {
		t.Errorf("role %+v without an ARN, want the program's own", got)
	}
}

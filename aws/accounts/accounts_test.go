// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
)

// use has the session get its credentials, and returns the error.
func use(t *testing.T, session *Session) error {
	t.Helper()
	_, err := session.Prepare(t.Context(), budget.ClassWaitingHealth, "")
	return err
}

func TestAccountsShareBudgetOfAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &abroad{lasts: time.Hour}
		accounts := aws.accounts(Settings{})
		budgetOf := func(role string) *budget.Budget {
			session := accounts.Session(Role{ARN: role})
			if err := use(t, session); err != nil {
				t.Fatal(err)
			}
			return session.Budget()
		}
		own := budgetOf("")
		if first, second := budgetOf(otherRole), budgetOf(otherRole+"2"); first != second || first == own {
			t.Error("want one budget for both roles of an account, and another for our own")
		}
		if budgetOf("arn:aws:iam::123456789012:role/ours") != own {
			t.Error("a role of our own account has another budget than we have")
		}
		if aws.asked != 1 {
			t.Errorf("asked %d times for our own account, want once", aws.asked)
		}
	})
}

// The agent of EKS Pod Identity and web identities say in the credentials whose they are.
func TestAccountsTakeOwnAccountFromCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &abroad{lasts: time.Hour}
		accounts := aws.accounts(Settings{})
		accounts.config.Credentials = credentials.StaticCredentialsProvider{Value: awssdk.Credentials{
			AccessKeyID: "key", SecretAccessKey: "secret", AccountID: "210987654321",
		}}
		session := accounts.Session(Role{ARN: otherRole})
		if err := use(t, session); err != nil {
			t.Fatal(err)
		}
		if session.Budget() != accounts.own.Budget() || aws.asked != 0 {
			t.Errorf("asked %d times for our own account, want its budget without a call", aws.asked)
		}
	})
}

func TestAccountsBoundBudgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := (&abroad{lasts: time.Hour}).accounts(Settings{})
		for i := range 2 * accountsKept {
			if err := use(t, accounts.Session(Role{ARN: fmt.Sprintf("arn:aws:iam::%012d:role/a", i+1)})); err != nil {
				t.Fatal(err)
			}
		}
		if got := accounts.budgets.len(); got != accountsKept {
			t.Errorf("%d budgets for %d accounts, want %d at most", got, 2*accountsKept, accountsKept)
		}
		time.Sleep(3 * sessionLife)
		accounts.Session(Role{ARN: otherRole})
		if worked, budgets := accounts.worked.len(), len(accounts.allBudgets()); worked != 0 || budgets != 1 {
			t.Errorf("%d roles and %d budgets are remembered that nobody has used for long, want none but our own", worked, budgets)
		}
	})
}

func TestAccountsForgetRolesThatNeverWorked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &abroad{refuses: func(session string) bool { return !strings.HasSuffix(session, "+works") }, lasts: time.Hour}
		accounts := aws.accounts(Settings{})
		for i := range triesKept + 10 {
			accounts.Session(Role{ARN: otherRole, Binding: fmt.Sprint(i)})
		}
		if got := accounts.untried.len(); got != triesKept {
			t.Errorf("%d roles are remembered, want %d at most", got, triesKept)
		}
		works := Role{ARN: otherRole, Namespace: "a", Binding: "works"}
		if err := use(t, accounts.Session(works)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(tryLife)
		if accounts.Session(works); accounts.untried.len() != 0 || accounts.worked.len() != 1 {
			t.Errorf("%d and %d roles are remembered, want none that did not work and one that did", accounts.untried.len(), accounts.worked.len())
		}
	})
}

// A role that refuses costs few calls, however many bindings name it and however often they try.
func TestClientAsksRefusingRoleSeldom(t *testing.T) {
	tests := map[string]struct {
		bindings int
		most     int // AssumeRole calls in ten minutes
	}{
		"one binding":     {bindings: 1, most: 30},
		"thirty bindings": {bindings: 30, most: 30 + 10*13},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				aws := &abroad{refusal: "AccessDenied", lasts: time.Hour}
				accounts := aws.accounts(Settings{})
				session := func(i int) *Session {
					return accounts.Session(Role{ARN: otherRole, Namespace: "a", Binding: fmt.Sprint(i)})
				}
				var first error
				for range 300 {
					for i := range tc.bindings {
						err := use(t, session(i))
						if first == nil {
							first = err
						}
						if !awserr.IsRoleRefused(err) || awserr.Message(err) != awserr.Message(first) {
							t.Fatalf("error %v, want as at first: %v", err, first)
						}
					}
					time.Sleep(2 * time.Second)
				}
				if got := len(aws.assumed); got > tc.most || got < 20 {
					t.Errorf("%d calls of AssumeRole in ten minutes, want 20 to %d", got, tc.most)
				}
				aws.refusal = ""
				mended := time.Now()
				for i := range tc.bindings {
					for use(t, session(i)) != nil {
						time.Sleep(500 * time.Millisecond)
					}
				}
				if took := time.Since(mended); took > longestRefusedPause+refusedEvery {
					t.Errorf("all bindings had the role %s after its policy was mended", took)
				}
			})
		})
	}
}

// The sessions that a trust policy refuses do not keep those out that it names.
func TestClientGetsRoleThatRefusesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &abroad{refuses: func(session string) bool { return !strings.HasPrefix(session, "prod+team-a+") }, lasts: time.Hour}
		accounts := aws.accounts(Settings{Sessions: Sessions{Cluster: "prod"}})
		for i := range 50 {
			if err := use(t, accounts.Session(Role{ARN: otherRole, Namespace: "team-b", Binding: fmt.Sprint(i)})); !awserr.IsRoleRefused(err) {
				t.Errorf("error %v, want the role refused", err)
			}
		}
		begun := time.Now()
		if err := use(t, accounts.Session(Role{ARN: otherRole, Namespace: "team-a", Binding: "web"})); err != nil || time.Since(begun) > time.Second {
			t.Errorf("%v after %s, want the role at once", err, time.Since(begun))
		}
	})
}

// A flood of roles that nobody has heard of leaves the account's STS to others.
func TestAssumeRoleHasBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &abroad{refusal: "AccessDenied"}
		accounts := aws.accounts(Settings{Throttle: []budget.Rule{
			{Service: budget.STS, Operations: regexp.MustCompile("^AssumeRole$"), Rate: 10, Burst: 20},
		}})
		for i := range 1000 {
			go func() {
				_, _ = accounts.Session(Role{ARN: otherRole, Binding: fmt.Sprint(i)}).Prepare(t.Context(), budget.ClassAdmission, "floods")
			}()
		}
		synctest.Wait()
		begun := time.Now()
		_ = use(t, accounts.Session(Role{ARN: otherRole, ExternalID: "of a binding"}))
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("a pod's health waited %s for the role beside a flood of lookups", waited)
		}
		time.Sleep(time.Minute)
		aws.mu.Lock()
		got := len(aws.assumed)
		aws.mu.Unlock()
		if want := 4 + 60*2; got > want+2 || got < want-10 {
			t.Errorf("%d calls of AssumeRole in a minute, want %d: a fifth of 10 a second", got, want)
		}
		time.Sleep(10 * time.Minute)
	})
}

func TestSessionsTellWhoTheyAreFor(t *testing.T) {
	long := strings.Repeat("x", 60)
	tests := map[string]struct {
		sessions Sessions
		role     Role
		want     string
	}{
		"binding":                 {sessions: Sessions{Cluster: "prod"}, role: Role{Namespace: "shop", Binding: "web.v2"}, want: "prod+shop+web.v2"},
		"without a name yet":      {sessions: Sessions{Cluster: "prod"}, role: Role{Namespace: "shop"}, want: "prod+shop"},
		"odd cluster":             {sessions: Sessions{Cluster: "a b+c=d/e"}, role: Role{Namespace: "shop", Binding: "web"}, want: "abcde+shop+web"},
		"no cluster":              {role: Role{Namespace: "shop", Binding: "web"}, want: "targetgate+shop+web"},
		"nothing at all":          {want: "targetgate"},
		"short":                   {sessions: Sessions{Cluster: "a"}, want: "a=ca978112ca1bbdca"},
		"long binding":            {sessions: Sessions{Cluster: "prod"}, role: Role{Namespace: "shop", Binding: long}, want: "prod+shop+" + long[:37] + "=21f2d6b451d9228d"},
		"incumbent":               {sessions: Sessions{Cluster: "My_cluster+x/y=z", NamedByCluster: true}, want: "AWS-LBC-My_clusterxy=z"},
		"incumbent, long cluster": {sessions: Sessions{Cluster: long, NamedByCluster: true}, want: "AWS-LBC-" + long[:56]},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := tc.sessions.name(tc.role)
			if got != tc.want {
				t.Errorf("session %s, want %s", got, tc.want)
			}
			if !regexp.MustCompile(`^[\w+=,.@-]{2,64}$`).MatchString(got) {
				t.Errorf("STS does not take session %s", got)
			}
		})
	}
}

func TestSessionsOfLongNamesDiffer(t *testing.T) {
	s := Sessions{Cluster: strings.Repeat("c", 60)}
	a, b := s.name(Role{Namespace: "team-a", Binding: "web"}), s.name(Role{Namespace: "team-b", Binding: "web"})
	if a == b || a != s.name(Role{Namespace: "team-a", Binding: "web"}) {
		t.Errorf("sessions %s and %s, want each its own, always the same", a, b)
	}
}

func TestClientHasASessionForEachBinding(t *testing.T) {
	tests := map[string]struct {
		sessions     Sessions
		wantSessions []string
		wantTags     []string
	}{
		"named by binding": {sessions: Sessions{Cluster: "prod"}, wantSessions: []string{"prod+a+x", "prod+a+y", "prod+b+x"}},
		"named by cluster": {sessions: Sessions{Cluster: "prod", NamedByCluster: true}, wantSessions: []string{"AWS-LBC-prod"}},
		"tagged": {
			sessions:     Sessions{Cluster: "prod", NamedByCluster: true, Tagged: true},
			wantSessions: []string{"AWS-LBC-prod", "AWS-LBC-prod", "AWS-LBC-prod"},
			wantTags: []string{
				"targetgate.dev/cluster=prod", "targetgate.dev/namespace=a", "targetgate.dev/binding=x",
				"targetgate.dev/cluster=prod", "targetgate.dev/namespace=a", "targetgate.dev/binding=y",
				"targetgate.dev/cluster=prod", "targetgate.dev/namespace=b", "targetgate.dev/binding=x",
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				aws := &abroad{lasts: time.Hour}
				accounts := aws.accounts(Settings{Sessions: tc.sessions})
				for range 2 {
					for _, of := range []string{"a/x", "a/y", "b/x"} {
						namespace, binding, _ := strings.Cut(of, "/")
						if err := use(t, accounts.Session(Role{ARN: otherRole, Namespace: namespace, Binding: binding})); err != nil {
							t.Fatal(err)
						}
					}
				}
				var want []string
				for _, session := range tc.wantSessions {
					want = append(want, otherRole+"  "+session)
				}
				if diff := cmp.Diff(want, aws.assumed); diff != "" {
					t.Errorf("AssumeRole calls (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.wantTags, aws.tags); diff != "" {
					t.Errorf("tags (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/targetgate/targetgate/aws/budget"
)

// silent is the address of a server that accepts connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String() // the kernel accepts
}

// Wherever our own credentials come from, all calls wait for the same answer: when none comes that must be an error.
func TestCredentialsThatNeverComeAreAnError(t *testing.T) {
	server, token := silent(t), filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]map[string]string{
		"EKS Pod Identity": {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://" + server + "/v1/credentials"},
		"web identity":     {"AWS_WEB_IDENTITY_TOKEN_FILE": token, "AWS_ROLE_ARN": otherRole, "AWS_ENDPOINT_URL_STS": "http://" + server},
	}
	for name, env := range tests {
		t.Run(name, func(t *testing.T) {
			for _, name := range []string{
				"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ENDPOINT_URL_STS",
				"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "HTTP_PROXY", "http_proxy",
			} {
				t.Setenv(name, env[name])
			}
			t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
			cfg, err := loadConfig(t.Context(), 20*time.Millisecond, config.WithRegion("eu-west-1"),
				config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }))
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			_, err = NewSession(cfg.Credentials, nil).Prepare(context.Background(), budget.ClassDeregister, "")
			if took := time.Since(begun); err == nil || took > credentialsWait/2 {
				t.Errorf("error %v after %s, want one soon", err, took)
			}
		})
	}
}

// Credentials may also come from where no time limit is set. Who gives up must not end the attempt for all others.
func TestCallDoesNotWaitForeverForCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts, answer := 0, make(chan struct{})
		session := NewSession(bounded{aws.NewCredentialsCache(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			attempts++
			<-answer
			return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
		}))}, nil)
		begun := time.Now()
		if err := use(t, session); err == nil || time.Since(begun) != credentialsWait {
			t.Errorf("error %v after %s, want one after %s", err, time.Since(begun), credentialsWait)
		}
		next := make(chan error)
		go func() { next <- use(t, session) }()
		synctest.Wait()
		close(answer)
		if err := <-next; err != nil || attempts != 1 {
			t.Errorf("error %v after %d attempts, want the answer to the first one", err, attempts)
		}
	})
}

// Thousands of bindings may name roles, whose credentials are got one after the other at a start.
func TestRoleWaitsLongForItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		aws := &abroad{lasts: time.Hour}
		accounts := aws.accounts(Settings{Throttle: []budget.Rule{
			{Service: budget.STS, Operations: regexp.MustCompile("."), Rate: .5 / credentialsWait.Seconds(), Burst: 2},
		}})
		begun := time.Now()
		for _, role := range []string{otherRole, otherRole + "2", otherRole + "3"} {
			if err := use(t, accounts.Session(Role{ARN: role})); err != nil {
				t.Errorf("after %s: %v", time.Since(begun), err)
			}
		}
		if took := time.Since(begun); took <= credentialsWait {
			t.Errorf("the last role had its token after %s", took)
		}
	})
}

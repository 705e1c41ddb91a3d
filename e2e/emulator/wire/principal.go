// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type session struct {
	role    string
	arn     string
	token   string
	expires time.Time
}

// sessions are the temporary credentials that AssumeRole handed out, by access key.
type sessions struct {
	mu    sync.Mutex
	byKey map[string]session
}

func (s *sessions) find(key string) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.byKey[key]
	return found, ok
}

func (s *sessions) open(role, arn string, expires time.Time) (key string, opened session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := strings.ToUpper(strings.ReplaceAll(uuid.NewString(), "-", ""))
	key = "ASIA" + id[:16]
	opened = session{role: role, arn: arn, token: uuid.NewString(), expires: expires}
	s.byKey[key] = opened
	return key, opened
}

// accountOf cuts the account out of an ARN.
func accountOf(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return ""
	}
	return parts[4]
}

// accessKey reads the key out of a SigV4 Authorization header.
func accessKey(r *http.Request) string {
	_, credential, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	key, _, _ := strings.Cut(credential, "/")
	return key
}

func (s *Server) authenticate(r *http.Request) (call.Principal, error) {
	key := accessKey(r)
	if key == "" {
		return call.Principal{}, refusal.New("MissingAuthenticationToken", "Request is missing Authentication Token")
	}
	if strings.HasPrefix(key, "ASIA") {
		return s.authenticateSession(key, r.Header.Get("X-Amz-Security-Token"))
	}
	account := s.cloud.Region.Account("")
	if s.opts.AccessKeys != nil {
		known, ok := s.opts.AccessKeys[key]
		if !ok {
			return call.Principal{Name: key}, invalidToken()
		}
		account = known
	}
	return call.Principal{Name: key, ARN: "arn:aws:iam::" + account + ":user/" + key, Account: account}, nil
}

func (s *Server) authenticateSession(key, token string) (call.Principal, error) {
	found, ok := s.sessions.find(key)
	if !ok || found.token != token {
		return call.Principal{Name: key}, invalidToken()
	}
	who := call.Principal{Name: found.role, ARN: found.arn, Account: accountOf(found.role)}
	if s.opts.Clock.Now().After(found.expires) {
		return who, refusal.New("ExpiredToken", "The security token included in the request is expired")
	}
	return who, nil
}

func invalidToken() error {
	return refusal.New("InvalidClientTokenId", "The security token included in the request is invalid.")
}

// owns refuses what belongs to another account.
func owns(p call.Principal, operation string, form map[string][]string) error {
	for _, values := range form {
		arn := values[0]
		if strings.HasPrefix(arn, "arn:aws:elasticloadbalancing:") && accountOf(arn) != p.Account {
			return refusal.New("AccessDenied",
				"User: %s is not authorized to perform: elasticloadbalancing:%s on resource: %s", p.ARN, operation, arn)
		}
	}
	return nil
}

// finds refuses a call that names what is too new to be found.
func (s *Server) finds(form map[string][]string) error {
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if err := s.cloud.ELB.Find(form[name][0]); err != nil {
			return err
		}
	}
	return nil
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/targetgate/targetgate/e2e/emulator/iam"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
)

type credentialsXML struct {
	AccessKeyID     string `xml:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      string
}

type assumedRoleXML struct {
	Arn           string
	AssumedRoleID string `xml:"AssumedRoleId"`
}

type assumeRoleXML struct {
	Credentials     credentialsXML
	AssumedRoleUser assumedRoleXML
}

type identityXML struct {
	Arn     string
	UserID  string `xml:"UserId"`
	Account string
}

var (
	roleARN     = regexp.MustCompile(`^arn:aws:iam::\d{12}:role/.+$`)
	sessionName = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)
)

const (
	shortestSession = 900
	longestSession  = 43200
	defaultSession  = 3600
)

// stsService needs the roles and sessions of its server.
func (s *Server) stsService() *call.Service {
	return &call.Service{
		Version:     "2011-06-15",
		Prefix:      "sts",
		Permissions: stsPermissions,
		Resources:   func(q *call.Request) []string { return []string{q.Text("RoleArn")} },
		Denied:      call.Denied,
		Namespace:   "https://sts.amazonaws.com/doc/2011-06-15/",
		Answer:      call.Answer,
		Refusal:     call.Refusal,
		Actions: map[string]call.Action{
			"AssumeRole":        s.assumeRole,
			"GetCallerIdentity": getCallerIdentity,
		},
	}
}

// stsPermissions are none for GetCallerIdentity, which everybody may call.
func stsPermissions(q *call.Request) []string {
	switch {
	case q.Operation != "AssumeRole":
		return nil
	case len(q.List("Tags.member")) > 0:
		return []string{"sts:AssumeRole", "sts:TagSession"}
	}
	return []string{"sts:AssumeRole"}
}

// assumeRole hands out temporary credentials for a configured role. A role that does not exist and one that may not be
// assumed look the same to the caller.
func (s *Server) assumeRole(q *call.Request) (any, error) {
	arn, name := q.Text("RoleArn"), q.Text("RoleSessionName")
	asked, numberErr := q.Number("DurationSeconds")
	tags, tagsErr := call.Tags(q)
	if err := cmp.Or(numberErr, tagsErr); err != nil {
		return nil, err
	}
	seconds := cmp.Or(asked, defaultSession)
	role, ok := s.role(func(r Role) bool { return r.ARN == arn && r.trusts(name, q.Text("ExternalId"), tags) })
	switch {
	case !roleARN.MatchString(arn):
		return nil, refusal.Invalid("%s is invalid", arn)
	case !sessionName.MatchString(name):
		return nil, refusal.Unfit("roleSessionName", name, `satisfy regular expression pattern: [\w+=,.@-]*`)
	case seconds < shortestSession || seconds > longestSession:
		return nil, refusal.Invalid("The requested DurationSeconds is not between %d and %d", shortestSession, longestSession)
	case !ok:
		return nil, refusal.New("AccessDenied", "User: %s is not authorized to perform: sts:AssumeRole on resource: %s", q.Caller.ARN, arn)
	case len(tags) > 0 && !role.TagSession:
		return nil, refusal.New("AccessDenied", "User: %s is not authorized to perform: sts:TagSession on resource: %s", q.Caller.ARN, arn)
	}
	return s.openSession(arn, name, cmp.Or(role.Lifetime, time.Duration(seconds)*time.Second)), nil
}

// role finds the role that may be assumed.
func (s *Server) role(trusts func(Role) bool) (Role, bool) {
	i := slices.IndexFunc(s.opts.Roles, trusts)
	if i < 0 {
		return Role{}, false
	}
	return s.opts.Roles[i], true
}

// trusts is the role's trust policy.
func (r Role) trusts(session, externalID string, tags map[string]string) bool {
	for key, value := range r.Tags {
		if got, ok := tags[key]; !ok || got != value {
			return false
		}
	}
	return (r.ExternalID == "" || r.ExternalID == externalID) && (r.SessionName == "" || iam.Like(r.SessionName, session))
}

func (s *Server) openSession(role, name string, d time.Duration) assumeRoleXML {
	_, path, _ := strings.Cut(role, ":role/")
	short := path[strings.LastIndex(path, "/")+1:]
	arn := "arn:aws:sts::" + accountOf(role) + ":assumed-role/" + short + "/" + name
	key, opened := s.sessions.open(role, arn, s.opts.Clock.Now().Add(d))
	return assumeRoleXML{
		Credentials: credentialsXML{
			AccessKeyID:     key,
			SecretAccessKey: uuid.NewString(),
			SessionToken:    opened.token,
			Expiration:      opened.expires.UTC().Format(time.RFC3339),
		},
		AssumedRoleUser: assumedRoleXML{Arn: arn, AssumedRoleID: "AROA" + strings.ToUpper(short) + ":" + name},
	}
}

func getCallerIdentity(q *call.Request) (any, error) {
	return identityXML{Arn: q.Caller.ARN, UserID: q.Caller.Name, Account: q.Caller.Account}, nil
}

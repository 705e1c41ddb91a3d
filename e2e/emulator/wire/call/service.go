// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package call

import (
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// Action carries out one operation; its result is marshalled into the answer.
type Action func(*Request) (any, error)

// Service is one AWS service: how it wraps answers and what it can do.
type Service struct {
	Version   string // or the first part of X-Amz-Target
	Prefix    string // of its actions in policies
	Namespace string
	// ContentType is that of answers, text/xml when empty.
	ContentType string
	// Bucket names the token bucket of a call and its limit, nil is none; Overload is the answer when it is empty.
	Bucket   func(*Request) (name string, limit Limit)
	Overload refusal.Error
	// Permissions are the actions that a call needs in policies, Resources those that it needs each of them for.
	Permissions func(*Request) []string
	Resources   func(*Request) []string
	// Further refuses a call that needs one more action and may not do that, such as to tag what it creates; nil is none.
	Further func(*Request) error
	// Tags reads the tags of a call, nil is Tags; Conditions are further keys for conditions of policies, nil is none.
	Tags       func(*Request) (map[string]string, error)
	Conditions func(*Request) map[string]string
	Denied     func(q *Request, action, resource string, explicit bool) error
	Answer     func(namespace, operation, id string, result any) ([]byte, error)
	Refusal    func(namespace, id string, status int, e *refusal.Error) ([]byte, error)
	Actions    map[string]Action
}

// Limit is one of the limits of the API.
type Limit int

// The limits; what they are is for the server to say.
const (
	Unlimited Limit = iota
	Describe
	Register
	Modify
	Other
	EC2Describe
	EC2Unfiltered
	EC2Change
	ACM
	WAFAssociate
	WAFLookup
	WAFRead
	Route53
)

// OwnPermission is that of the operation's name.
func OwnPermission(q *Request) []string { return []string{q.Service.Prefix + ":" + q.Operation} }

// Only refuses a call with other parameters, which would otherwise be ignored: a DryRun would act.
func Only(act Action, parameters ...string) Action {
	return func(q *Request) (any, error) {
		for name := range q.Kids {
			if name != "Action" && name != "Version" && !slices.Contains(parameters, name) {
				return nil, refusal.New("UnknownParameter", "The parameter %s is not emulated", name)
			}
		}
		return act(q)
	}
}

// Denied is the refusal of what a caller may not do, by the code of most services.
func Denied(q *Request, action, resource string, explicit bool) error {
	return refusal.New("AccessDenied", "%s", NotAuthorized(q, action, resource, explicit))
}

// NotAuthorized says what a caller may not do, and why.
func NotAuthorized(q *Request, action, resource string, explicit bool) string {
	on := ""
	if resource != "*" {
		on = " on resource: " + resource
	}
	why := " because no identity-based policy allows the " + action + " action"
	if explicit {
		why = " with an explicit deny in an identity-based policy"
	}
	return "User: " + q.Caller.ARN + " is not authorized to perform: " + action + on + why
}

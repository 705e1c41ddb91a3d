// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"errors"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// apiServer says that our name is "us", unless it fails.
type apiServer struct {
	client.Writer
	asked int
	err   error
}

func (a *apiServer) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	a.asked++
	o.(*authenticationv1.SelfSubjectReview).Status.UserInfo.Username = "us"
	return a.err
}

// What targetgate creates itself costs no call at admission; the same of anybody else does.
func TestOwnBindingsAreNotComparedWithAWS(t *testing.T) {
	body := specOf(`"targetGroupARN":"` + webhooktest.ARN + `","serviceRef":{"name":"web","port":80},"targetType":"ip","ipAddressType":"ipv4",` +
		`"targetGroupProtocol":"HTTP","vpcID":"vpc-0123456789abcdef0"`)
	api, name := &apiServer{err: errors.New("no answer")}, (*string)(nil)
	for _, step := range []struct {
		user  string
		err   error
		calls bool
		asked int // of the API server, in all
	}{
		{user: "us", err: api.err, calls: true, asked: 1},
		{user: "us", asked: 2},
		{user: "jane", calls: true, asked: 2},
		{user: "us", asked: 2},
		{user: "", calls: true, asked: 2},
	} {
		validator, aws := newValidator(t) // it remembers no answers of AWS
		validator.facts.own.api, api.err = api, step.err
		validator.facts.own.name.Store(name)
		hook := &handler{failures: review.ValidationFailures, limiter: review.NewLimiter(), turns: newTurns(), decide: validator.review}
		_, response := webhooktest.Post(t, hook, strings.Replace(bindingReviewOf(body, ""), "jane", step.user, 1))
		if response == nil || !response.Allowed {
			t.Fatalf("by %q: %+v, want the binding allowed", step.user, response)
		}
		name = validator.facts.own.name.Load()
		if got := len(aws.Calls("")) > 0; got != step.calls || api.asked != step.asked {
			t.Errorf("by %q: calls %v, asked %d times for our name, want %v and %d", step.user, aws.Calls(""), api.asked, step.calls, step.asked)
		}
	}
}

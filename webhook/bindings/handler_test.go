// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/config/crd"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/schema"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// bindingReviewOf is what an API server posts about a binding; old is empty for a new one.
func bindingReviewOf(binding, old string) string {
	operation := "CREATE"
	if old != "" {
		operation = "UPDATE"
	} else {
		old = "null"
	}
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","kind":{"group":"elbv2.k8s.aws",` +
		`"version":"v1beta1","kind":"TargetGroupBinding"},"name":"web","namespace":"shop","operation":"` + operation +
		`","userInfo":{"username":"jane"},"object":` + binding + `,"oldObject":` + old + `,"dryRun":false,"options":null}}`
}

// specOf is a binding with that spec.
func specOf(spec string) string {
	return `{"apiVersion":"elbv2.k8s.aws/v1beta1","kind":"TargetGroupBinding","metadata":{"name":"web","namespace":"shop","uid":"2"},"spec":{` + spec + `}}`
}

// mutating and validating are the two hooks, as Setup makes them, of an AWS that knows the target group "web" of type ip.
func mutating(t testing.TB) *handler {
	checks, _ := newValidator(t)
	fills := &defaulter{facts: checks.facts, checks: checks}
	return &handler{
		failures: review.MutationFailures, limiter: review.NewLimiter(), turns: newTurns(), decide: fills.review,
		crd: schema.MustOf(crd.TargetGroupBindings),
	}
}

func validating(t testing.TB) *handler {
	validator, _ := newValidator(t)
	return &handler{failures: review.ValidationFailures, limiter: review.NewLimiter(), turns: newTurns(), decide: validator.review}
}

func TestBindingMutationFillsIn(t *testing.T) {
	const written = `"targetGroupName":"web","serviceRef":{"name":"web","port":"http"},"ofNextYear":{"a":1}`
	body := specOf(written)
	_, response := webhooktest.Post(t, mutating(t), bindingReviewOf(body, ""))
	if response == nil || !response.Allowed || response.UID != "1" {
		t.Fatalf("response %+v, want request 1 allowed", response)
	}
	want := specOf(written + `,"targetGroupARN":"` + webhooktest.ARN + `","targetType":"ip","ipAddressType":"ipv4",` +
		`"targetGroupProtocol":"HTTP","vpcID":"vpc-0123456789abcdef0"`)
	webhooktest.AssertJSON(t, want, webhooktest.Patched(t, body, string(response.Patch)))
	_, again := webhooktest.Post(t, mutating(t), bindingReviewOf(want, ""))
	if again == nil || !again.Allowed || again.Patch != nil {
		t.Errorf("a second time: %+v, want no patch", again)
	}
}

const completeSpec = `"targetGroupARN":"` + webhooktest.ARN + `","targetType":"ip","ipAddressType":"ipv4","targetGroupProtocol":"HTTP",` +
	`"vpcID":"vpc-0123456789abcdef0","serviceRef":{"name":"web","port":80}`

func instanceSpec(more string) string {
	return strings.Replace(completeSpec, `"ip"`, `"instance"`, 1) + more
}

// What is wrong with a binding is a refusal, by both hooks, that names the field.
func TestBindingRefusals(t *testing.T) {
	expressions := func(n int, one string) string {
		return `,"nodeSelector":{"matchExpressions":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`
	}
	const selectorSize = "spec.nodeSelector: Too many: takes at most 32 labels and expressions together, and 64 values in each expression"
	tests := map[string]struct {
		binding string
		want    []string
	}{
		"text for a number":        {specOf(`"targetGroupName":"web","serviceRef":{"name":5,"port":80}`), []string{"spec.serviceRef.name: Invalid value: must be a string, not number"}},
		"a number for text":        {specOf(`"targetGroupName":"web","targetType":5,"serviceRef":{"name":"web","port":80}`), []string{"spec.targetType: Invalid value: must be a string, not number"}},
		"a port that is neither":   {specOf(`"targetGroupName":"web","serviceRef":{"name":"web","port":true}`), []string{"spec.serviceRef.port: Invalid value: must be an integer, not bool"}},
		"text for a list":          {specOf(instanceSpec(`,"nodeSelector":{"matchExpressions":""}`)), []string{"spec.nodeSelector.matchExpressions: Invalid value: must be a list, not string"}},
		"a list for the selector":  {specOf(instanceSpec(`,"nodeSelector":[]`)), []string{"spec.nodeSelector: Invalid value: must be an object, not array"}},
		"text for the spec":        {`{"metadata":{"name":"web"},"spec":"x"}`, []string{"spec: Invalid value: must be an object, not string"}},
		"54,000 expressions":       {specOf(instanceSpec(expressions(54_000, `{"key":"","operator":"x"}`))), []string{selectorSize}},
		"one expression too many":  {specOf(instanceSpec(expressions(33, `{"key":"a","operator":"Exists"}`))), []string{selectorSize}},
		"one value too many":       {specOf(instanceSpec(expressions(1, `{"key":"a","operator":"In","values":[`+strings.Repeat(`"a",`, 64)+`"b"]}`))), []string{selectorSize}},
		"a million peers":          {specOf(completeSpec + `,"networking":{"ingress":[{"from":[` + strings.Repeat(`{},`, 500_000) + `{}]}]}`), []string{"spec.networking: Too many: takes at most 10000 values"}},
		"10,001 small peers":       {specOf(completeSpec + `,"networking":{"ingress":[{"from":[` + strings.Repeat(`{},`, 10_000) + `{}]}]}`), []string{"spec.networking: Too many: takes at most 10000 values"}},
		"a long name":              {strings.Replace(specOf(completeSpec), `"web"`, `"`+strings.Repeat("a", 64)+`"`, 1), []string{`metadata.name: Invalid value: "` + strings.Repeat("a", 64) + `": must have at most 63 characters, as the readiness gate of the pods ends with it`}},
		"a long name of a Service": {specOf(strings.Replace(completeSpec, `"web"`, `"`+strings.Repeat("a", 254)+`"`, 1)), []string{"spec.serviceRef.name: Too long: may not be more than 253 bytes"}},
		"a long external ID":       {specOf(completeSpec + `,"assumeRoleExternalId":"` + strings.Repeat("a", 1225) + `"`), []string{"spec.assumeRoleExternalId: Too long: may not be more than 1224 bytes"}},
	}
	for name, tc := range tests {
		for path, handler := range map[string]*handler{"mutating": mutating(t), "validating": validating(t)} {
			t.Run(name+", "+path, func(t *testing.T) {
				got := refusalOf(t, handler, tc.binding)
				got = slices.DeleteFunc(got, func(fault string) bool { return strings.Contains(fault, ".ingress[") }) // as of the CRD
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("faults (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// What the CRD refuses of a change is refused before, in our words and with our code, also beside a change that takes a new binding.
func TestBindingRefusalsBeforeTheCRD(t *testing.T) {
	const another = `"targetType":"instance",` // which the group has not
	old := specOf(completeSpec)
	rule := func(rule string) string { return specOf(completeSpec + `,"networking":{"ingress":[` + rule + `]}`) }
	tests := map[string]struct{ binding, want string }{
		"no Service":          {specOf(strings.Replace(completeSpec, `"serviceRef":{"name":"web","port":80}`, `"x":1`, 1)), "spec.serviceRef: Required value: must be set"},
		"no name":             {specOf(strings.Replace(completeSpec, `"name":"web"`, `"name":""`, 1)), `spec.serviceRef.name: Invalid value: "": must have at least 1 characters`},
		"no port":             {specOf(strings.Replace(completeSpec, `,"port":80`, ``, 1)), "spec.serviceRef.port: Required value: must be set"},
		"an unknown type":     {specOf(strings.Replace(completeSpec, `"ip"`, `"alb"`, 1)), `spec.targetType: Invalid value: "alb": the target group has target type "ip"`},
		"an unknown protocol": {specOf(strings.Replace(completeSpec, `"HTTP"`, `"GENEVE"`, 1)), `spec.targetGroupProtocol: Invalid value: "GENEVE": the target group has protocol "HTTP"`},
		"a long name":         {specOf(completeSpec + `,"targetGroupName":"` + strings.Repeat("a", 33) + `"`), `spec.targetGroupName: Invalid value: "` + strings.Repeat("a", 33) + `": targetGroupARN is the ARN of web: remove one of the two fields`},
		"a number as a range": {rule(`{"from":[{"ipBlock":{"cidr":5}}],"ports":[]}`), "spec.networking.ingress.from.ipBlock.cidr: Invalid value: must be a string, not number"},
		"a bad range":         {rule(`{"from":[{"ipBlock":{"cidr":"10.0.0.0/33"}}],"ports":[]}`), `spec.networking.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0/33": must be a CIDR block, such as 192.168.1.0/24 or 2001:db8::/64`},
		"no peers":            {rule(`{"ports":[]}`), "spec.networking.ingress[0].from: Required value: must be set"},
		"no group":            {rule(`{"from":[{"securityGroup":{}}],"ports":[]}`), "spec.networking.ingress[0].from[0].securityGroup.groupID: Required value: must be set"},
		"an unknown one":      {rule(`{"from":[],"ports":[{"protocol":"ICMP"}]}`), `spec.networking.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP"`},
		"null in a list":      {rule(`null`), "spec.networking.ingress[0]: Invalid value: must be an object, not null"},
		"many ports":          {rule(`{"from":[],"ports":[` + webhooktest.Listed(`{}`, 1000) + `]}`), "spec.networking.ingress[0].ports: Too many: 334: must have at most 250 items"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, binding := range []string{tc.binding, strings.Replace(tc.binding, `"targetType":"ip",`, another, 1)} {
				_, response := webhooktest.Post(t, mutating(t), bindingReviewOf(binding, old))
				if response == nil || response.Allowed || response.Result.Code != http.StatusForbidden || !strings.Contains(response.Result.Message, tc.want) {
					t.Errorf("response %+v, want 403 with %q", response, tc.want)
				}
			}
		})
	}
}

// A tool that replaces objects leaves out what was filled in: nobody asks for a change.
func TestWhatWasFilledInStays(t *testing.T) {
	const written = `"targetGroupName":"web","serviceRef":{"name":"web","port":81}`
	old := specOf(completeSpec + `,"targetGroupName":"web"`)
	_, response := webhooktest.Post(t, mutating(t), bindingReviewOf(specOf(written), old))
	if response == nil || !response.Allowed {
		t.Fatalf("response %+v, want it allowed", response)
	}
	want := specOf(written + `,"targetGroupARN":"` + webhooktest.ARN + `","targetType":"ip","ipAddressType":"ipv4","vpcID":"vpc-0123456789abcdef0"`)
	webhooktest.AssertJSON(t, want, webhooktest.Patched(t, specOf(written), string(response.Patch)))
	for what, spec := range map[string]string{
		"nothing is named":       `"serviceRef":{"name":"web","port":81}`,
		"another group is named": `"targetGroupName":"none","serviceRef":{"name":"web","port":81}`,
	} {
		if _, response := webhooktest.Post(t, mutating(t), bindingReviewOf(specOf(spec), old)); response == nil || response.Allowed {
			t.Errorf("%s: response %+v, want a refusal", what, response)
		}
	}
}

// refusalOf are the faults that a hook names.
func refusalOf(t *testing.T, handler http.Handler, binding string) []string {
	t.Helper()
	status, response := webhooktest.Post(t, handler, bindingReviewOf(binding, ""))
	if response == nil || response.Allowed || response.Result.Code != http.StatusForbidden {
		t.Fatalf("status %d, response %+v, want a refusal as forbidden", status, response)
	}
	if len(response.Result.Message) > 100_000 {
		t.Errorf("the message has %d bytes", len(response.Result.Message))
	}
	var out []string
	for _, cause := range response.Result.Details.Causes {
		out = append(out, cause.Field+": "+cause.Message)
	}
	return out
}

// However much is wrong, what is told has an end.
func TestBindingRefusalIsBounded(t *testing.T) {
	peers := strings.TrimSuffix(strings.Repeat(`{"ipBlock":{"cidr":"`+strings.Repeat("x", 200)+`"}},`, 1000), ",")
	got := refusalOf(t, validating(t), specOf(completeSpec+`,"networking":{"ingress":[{"from":[`+peers+`],"ports":[]}]}`))
	if len(got) != mostFaults+1 || got[mostFaults] != "spec: Invalid value: and 950 more" {
		t.Errorf("%d faults, the last %q, want %d and how many more", len(got), got[len(got)-1], mostFaults)
	}
	if len(got[0]) > 400 {
		t.Errorf("fault %q is long", got[0])
	}
}

// A binding from before our bounds can be changed where it keeps them, and not beyond them.
func TestBindingFromBeforeBoundsCanBeChanged(t *testing.T) {
	large := `,"nodeSelector":{"matchExpressions":[` + strings.Repeat(`{"key":"a","operator":"Exists"},`, 40) + `{"key":"a","operator":"Exists"}]}`
	named := strings.Replace(specOf(instanceSpec(large)), `"name":"web"`, `"name":"`+strings.Repeat("a", 64)+`"`, 1)
	changed := strings.Replace(named, `"port":80`, `"port":81`, 1)
	if _, response := webhooktest.Post(t, validating(t), bindingReviewOf(changed, named)); response == nil || !response.Allowed {
		t.Errorf("response %+v, want it allowed", response)
	}
	if _, response := webhooktest.Post(t, validating(t), bindingReviewOf(specOf(instanceSpec(large)), specOf(instanceSpec("")))); response == nil || response.Allowed {
		t.Errorf("response %+v, want it refused: the selector is new", response)
	}
}

// Whatever another installation watches is not for us to judge.
func TestBindingsOfOtherNamespacesAreAdmitted(t *testing.T) {
	for name, handler := range map[string]*handler{"mutating": mutating(t), "validating": validating(t)} {
		handler.namespaces = []string{"other"}
		_, response := webhooktest.Post(t, handler, bindingReviewOf(specOf(`"targetType":5`), ""))
		if response == nil || !response.Allowed || response.Patch != nil {
			t.Errorf("%s: response %+v, want the binding admitted as it is", name, response)
		}
	}
}

// Only a refusal that is meant reaches the API server as one.
func TestBindingTroubleIsServerError(t *testing.T) {
	invalid := asInvalid(&v1beta1.TargetGroupBinding{}, required(&v1beta1.TargetGroupBindingSpec{}))
	tests := map[string]struct {
		body       string
		err        error
		wantStatus int
	}{
		"allowed":          {wantStatus: 200},
		"refused":          {err: invalid, wantStatus: 200},
		"trouble of ours":  {err: apierrors.NewInternalError(errors.New("our fault")), wantStatus: 500},
		"any other error":  {err: errors.New("our fault"), wantStatus: 500},
		"busy":             {err: fmt.Errorf("waiting: %w", review.ErrBusy), wantStatus: 503},
		"not even JSON":    {body: `{`, wantStatus: 500},
		"no request in it": {body: `{}`, wantStatus: 500},
		"text for the UID": {body: `{"request":{"uid":5}}`, wantStatus: 500},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			handler := mutating(t)
			handler.decide = func(context.Context, *bindingRequest) (review.Answer, error) { return review.Answer{}, tc.err }
			if tc.body == "" {
				tc.body = bindingReviewOf(specOf(completeSpec), "")
			}
			status, response := webhooktest.Post(t, handler, tc.body)
			if status != tc.wantStatus {
				t.Fatalf("HTTP status %d, want %d", status, tc.wantStatus)
			}
			if response != nil && response.Allowed != (tc.err == nil) {
				t.Errorf("response %+v, want allowed %v", response, tc.err == nil)
			}
		})
	}
}

// Memory is for what is decoded: while AWS is asked, no review waits for it. Two as large as these take all that there is.
func TestBindingsHoldNoMemoryWhileAWSIsAsked(t *testing.T) {
	const reviews, size = 3, 6 << 20
	body := bindingReviewOf(specOf(completeSpec+`,"x":"`+strings.Repeat("x", size)+`"`), "")
	asking, leave := make(chan struct{}, reviews), make(chan struct{})
	handler := validating(t)
	handler.decide = func(context.Context, *bindingRequest) (review.Answer, error) {
		asking <- struct{}{}
		<-leave
		return review.Answer{}, nil
	}
	var all sync.WaitGroup
	for range reviews {
		recorder := webhooktest.NewRecorder()
		all.Go(func() {
			handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, ValidatePath, strings.NewReader(body)))
		})
		select {
		case <-asking:
		case <-time.After(10 * time.Second):
			t.Fatalf("a review waits while AWS is asked for another: status %d", recorder.Code)
		}
	}
	close(leave)
	all.Wait()
}

func TestBindingRequestIsToldToTheHook(t *testing.T) {
	handler := validating(t)
	var got *bindingRequest
	handler.decide = func(_ context.Context, req *bindingRequest) (review.Answer, error) {
		got = req
		return review.Answer{}, nil
	}
	binding := webhooktest.NewBinding("web")
	binding.UID = "2"
	binding.Spec.Networking = &v1beta1.TargetGroupBindingNetworking{Ingress: []v1beta1.NetworkingIngressRule{{
		From: []v1beta1.NetworkingPeer{{IPBlock: &v1beta1.IPBlock{CIDR: "10.0.0.0/8"}}}, Ports: []v1beta1.NetworkingPort{},
	}}}
	binding.Status.TargetGroup = &v1beta1.TargetGroupSettings{Protocol: "HTTP"}
	text, err := json.Marshal(binding)
	if err != nil {
		t.Fatal(err)
	}
	if _, response := webhooktest.Post(t, handler, bindingReviewOf(string(text), string(text))); response == nil || !response.Allowed {
		t.Fatalf("response %+v, want it allowed", response)
	}
	want := &bindingRequest{UID: "1", Operation: admissionv1.Update, Namespace: "shop", DryRun: ptr.To(false), binding: binding, old: binding}
	want.UserInfo.Username = "jane"
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(bindingRequest{})); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

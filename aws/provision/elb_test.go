// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
)

// answers is an API that answers each call with a status and a body; it keeps what was asked, and what it was charged to.
type answers struct {
	answer  func(form url.Values) (int, string)
	asked   []url.Values
	charges []budget.Charge
}

func (a *answers) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	a.asked = append(a.asked, form)
	a.charges = append(a.charges, budget.ChargeOf(req.Context()))
	status, text := a.answer(form)
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewBufferString(text))}, nil
}

func elbOver(a *answers, class budget.Class) *ELB {
	return NewELB(accounts.New(aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""), HTTPClient: a,
	}, accounts.Settings{}), class)
}

func TestELBReadsAllPages(t *testing.T) {
	api := &answers{answer: func(form url.Values) (int, string) {
		marker := form.Get("Marker")
		next := map[string]string{"": "<NextMarker>2</NextMarker>", "2": "<NextMarker>3</NextMarker>"}[marker]
		return http.StatusOK, fmt.Sprintf(`<DescribeRulesResponse><DescribeRulesResult><Rules><member><RuleArn>rule%s</RuleArn></member></Rules>%s`+
			`</DescribeRulesResult></DescribeRulesResponse>`, marker, next)
	}}
	in := &elbv2.DescribeRulesInput{ListenerArn: aws.String("listener")}
	out, err := elbOver(api, budget.ClassProvision).DescribeRules(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, rule := range out.Rules {
		got = append(got, *rule.RuleArn)
	}
	if diff := cmp.Diff([]string{"rule", "rule2", "rule3"}, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if in.Marker != nil {
		t.Error("the caller's input has a marker now")
	}
}

func TestELBReadsTagsOfTwentyAtOnce(t *testing.T) {
	api := &answers{answer: func(form url.Values) (int, string) {
		var members strings.Builder
		for key, values := range form {
			if strings.HasPrefix(key, "ResourceArns.member.") {
				fmt.Fprintf(&members, "<member><ResourceArn>%s</ResourceArn></member>", values[0])
			}
		}
		return http.StatusOK, `<DescribeTagsResponse><DescribeTagsResult><TagDescriptions>` + members.String() +
			`</TagDescriptions></DescribeTagsResult></DescribeTagsResponse>`
	}}
	var arns []string
	for i := range 45 {
		arns = append(arns, fmt.Sprint("arn", i))
	}
	out, err := elbOver(api, budget.ClassProvision).DescribeTags(t.Context(), &elbv2.DescribeTagsInput{ResourceArns: arns})
	if err != nil || len(out.TagDescriptions) != 45 || len(api.asked) != 3 {
		t.Errorf("error %v, tags of %d in %d calls, want those of 45 in 3", err, len(out.TagDescriptions), len(api.asked))
	}
}

func TestELBSaysWhatItWasDoing(t *testing.T) {
	api := &answers{answer: func(url.Values) (int, string) {
		return http.StatusBadRequest, `<ErrorResponse><Error><Code>PriorityInUse</Code><Message>Priority 1 is in use</Message></Error></ErrorResponse>`
	}}
	elb := elbOver(api, budget.ClassProvision)
	_, err := elb.CreateRule(t.Context(), &elbv2.CreateRuleInput{
		ListenerArn: aws.String("listener"), Priority: aws.Int32(1), Conditions: []types.RuleCondition{{}}, Actions: []types.Action{{Type: "forward"}},
	})
	if err == nil || !strings.HasPrefix(err.Error(), "creating rule of listener listener: ") || !awserr.IsNameTaken(err) {
		t.Errorf("error %v, want a taken priority, and what was being done to what", err)
	}
	_, err = elb.DescribeLoadBalancers(t.Context(), &elbv2.DescribeLoadBalancersInput{})
	if err == nil || !strings.HasPrefix(err.Error(), "describing load balancers: ") {
		t.Errorf("error %v, want what was being done", err)
	}
}

func TestELBChargesItsCalls(t *testing.T) {
	api := &answers{answer: func(url.Values) (int, string) {
		return http.StatusOK, `<AddTagsResponse><AddTagsResult/></AddTagsResponse>`
	}}
	ctx := budget.WithCharge(t.Context(), budget.Charge{Tenant: "group"})
	if _, err := elbOver(api, budget.ClassLate).AddTags(ctx, &elbv2.AddTagsInput{
		ResourceArns: []string{"arn"}, Tags: []types.Tag{{Key: aws.String("key")}},
	}); err != nil {
		t.Fatal(err)
	}
	if got := api.charges[0]; got.Class != budget.ClassLate || got.Tenant != "group" || got.Budget == nil {
		t.Errorf("charged to %+v, want late calls of the group", got)
	}
}

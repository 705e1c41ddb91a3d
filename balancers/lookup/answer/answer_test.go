// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/aws/acm"
	"github.com/targetgate/targetgate/aws/wafclassic"
	"github.com/targetgate/targetgate/balancers/account"
	"github.com/targetgate/targetgate/balancers/issue"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

type noACM struct{}

func (noACM) Issued(context.Context) ([]string, error) { return nil, errors.New("no answer") }
func (noACM) Certificate(context.Context, string) (acm.Certificate, error) {
	return acm.Certificate{}, nil
}

// issuedACM has two certificates for a.example.com. One was issued for an Ingress of another cluster.
type issuedACM struct{}

func (issuedACM) Issued(context.Context) ([]string, error) { return []string{"plain", "others"}, nil }
func (issuedACM) Requested(context.Context) ([]string, error) {
	return []string{"plain", "others"}, nil
}
func (issuedACM) Certificate(_ context.Context, arn string) (acm.Certificate, error) {
	return acm.Certificate{ARN: arn, Domains: []string{"a.example.com"}, Status: "ISSUED"}, nil
}

func (issuedACM) Tags(_ context.Context, arn string) (map[string]string, error) {
	if arn == "plain" {
		return nil, nil
	}
	return map[string]string{stack.ClusterTag: "staging"}, nil
}
func (issuedACM) Request(context.Context, acm.Request) (string, error) {
	return "", errors.New("not here")
}
func (issuedACM) Delete(context.Context, string) error { return errors.New("not here") }

// A certificate that was issued for an Ingress is not discovered for others while there is an Issuer, as it goes with that Ingress.
func TestIssuedCertificatesAreNotDiscovered(t *testing.T) {
	for name, tc := range map[string]struct {
		issuer *issue.Issuer
		want   []string
	}{
		"issuing":     {issuer: &issue.Issuer{ACM: issuedACM{}, Clock: clock.RealClock{}, Cluster: "prod"}, want: []string{"plain"}},
		"not issuing": {want: []string{"others", "plain"}},
	} {
		t.Run(name, func(t *testing.T) {
			answerer := &Answerer{
				Network: &account.Network{}, Certificates: &account.Issued{ACM: issuedACM{}, Clock: clock.RealClock{}}, Issuer: tc.issuer,
			}
			facts, err := answerer.Answer(t.Context(), stack.ID{}, lookup.Needs{Hosts: []string{"a.example.com"}})
			var got []string
			for _, c := range facts.Certificates {
				got = append(got, c.ARN)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil || facts.NoCertificates != "" {
				t.Errorf("error %v, not known: %q (-want +got):\n%s", err, facts.NoCertificates, diff)
			}
		})
	}
}

// classic answers each question for a web ACL of AWS WAF Classic by that.
type classic struct {
	found string
	err   error
}

func (c classic) WebACL(context.Context, string) (string, error) { return c.found, c.err }
func (c classic) Named(context.Context, string) (string, error)  { return c.found, c.err }

// That a Region has no AWS WAF Classic is told apart from no answer.
func TestClassicWebACLsAreLookedUp(t *testing.T) {
	for name, tc := range map[string]struct {
		classic classic
		want    lookup.Answers
	}{
		"it is there":    {classic{found: "id"}, lookup.Answers{ClassicACLs: map[string]lookup.Named{"id": {ARN: "id"}}}},
		"it is not":      {classic{}, lookup.Answers{ClassicACLs: map[string]lookup.Named{"id": {}}}},
		"no answer":      {classic{err: errors.New("no")}, lookup.Answers{ClassicACLs: map[string]lookup.Named{"id": {Reason: "no"}}}},
		"not the Region": {classic{err: wafclassic.ErrNoService}, lookup.Answers{NoClassicACLs: "this Region has no AWS WAF Classic"}},
	} {
		t.Run(name, func(t *testing.T) {
			answerer := &Answerer{Network: &account.Network{WAFClassic: tc.classic, Clock: clock.RealClock{}}}
			got, err := answerer.Answer(t.Context(), stack.ID{}, lookup.Needs{ClassicACLs: []string{"id"}})
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// picky is an EC2 and an ELB that have what is asked for, unless its name is bad: of that they tell nothing.
type picky struct {
	account.NetworkCalls
	account.ELB
}

func (picky) DescribeSecurityGroups(_ context.Context, in *awsec2.DescribeSecurityGroupsInput) (*awsec2.DescribeSecurityGroupsOutput, error) {
	name := in.Filters[1].Values[0]
	if name == "bad" {
		return nil, errors.New("no")
	}
	return &awsec2.DescribeSecurityGroupsOutput{SecurityGroups: []ec2types.SecurityGroup{{GroupId: aws.String("sg-" + name)}}}, nil
}

func (picky) DescribeTargetGroups(_ context.Context, in *elbv2.DescribeTargetGroupsInput) (*elbv2.DescribeTargetGroupsOutput, error) {
	if in.Names[0] == "bad" {
		return nil, errors.New("no")
	}
	return &elbv2.DescribeTargetGroupsOutput{TargetGroups: []elbtypes.TargetGroup{{TargetGroupArn: aws.String("arn-" + in.Names[0])}}}, nil
}

// One name that cannot be looked up is no reason to know nothing of the others. A pass that ends is.
func TestOneNameIsNotKnown(t *testing.T) {
	answerer := &Answerer{Network: &account.Network{EC2: picky{}, ELB: picky{}, Clock: clock.RealClock{}}}
	needs := lookup.Needs{SecurityGroups: []string{"bad", "good"}, TargetGroups: []string{"bad", "good"}}
	want := lookup.Answers{
		SecurityGroups: map[string][]string{"bad": nil, "good": {"sg-good"}}, NoSecurityGroups: map[string]string{"bad": "no"},
		TargetGroups: map[string]lookup.Named{"bad": {Reason: "no"}, "good": {ARN: "arn-good"}},
	}
	got, err := answerer.Answer(t.Context(), stack.ID{}, needs)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := answerer.Answer(ended, stack.ID{}, needs); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v when the pass has ended, want %v", err, context.Canceled)
	}
}

func (picky) DescribeSubnets(context.Context, *awsec2.DescribeSubnetsInput) (*awsec2.DescribeSubnetsOutput, error) {
	return nil, errors.New("no")
}

func TestWithoutSubnetsOtherFactsAreFound(t *testing.T) {
	answerer := &Answerer{Network: &account.Network{EC2: picky{}, ELB: picky{}, Clock: clock.RealClock{}}}
	got, err := answerer.Answer(t.Context(), stack.ID{}, lookup.Needs{Subnets: true, TargetGroups: []string{"good"}})
	want := lookup.Answers{NoSubnets: "no", TargetGroups: map[string]lookup.Named{"good": {ARN: "arn-good"}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestWithoutACMOtherFactsAreFound(t *testing.T) {
	answerer := &Answerer{Network: &account.Network{}, Certificates: &account.Issued{ACM: noACM{}, Clock: clock.RealClock{}}}
	if facts, err := answerer.Answer(t.Context(), stack.ID{}, lookup.Needs{}); err != nil || facts.NoCertificates != "" {
		t.Errorf("without need of certificates: %+v, error %v", facts, err)
	}
	if facts, err := answerer.Answer(t.Context(), stack.ID{}, lookup.Needs{Hosts: []string{"a.example.com"}}); err != nil || facts.NoCertificates != "no answer" {
		t.Errorf("%+v, error %v", facts, err)
	}
}

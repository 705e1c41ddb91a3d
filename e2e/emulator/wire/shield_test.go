// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	awsshield "github.com/aws/aws-sdk-go-v2/service/shield"
	"github.com/aws/aws-sdk-go-v2/service/shield/types"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// newShieldBed has one load balancer, and a client that finds the emulator by the environment, as AWS has Shield in another region.
func newShieldBed(t *testing.T, kind string) (b *bed, client *awsshield.Client, balancer string) {
	t.Helper()
	b, balancer = newWAFBed(t, kind)
	t.Setenv("AWS_ENDPOINT_URL", *b.config.BaseEndpoint)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	loaded := must[aws.Config](t)(config.LoadDefaultConfig(ctx(t), config.WithRegion("eu-west-1")))
	return b, awsshield.NewFromConfig(loaded), balancer
}

func protect(t *testing.T, client *awsshield.Client, resource string) (id string, err error) {
	t.Helper()
	out, err := client.CreateProtection(ctx(t), &awsshield.CreateProtectionInput{Name: aws.String("mine"), ResourceArn: &resource})
	if err != nil {
		return "", err
	}
	return *out.ProtectionId, nil
}

func unprotect(t *testing.T, client *awsshield.Client, id string) error {
	t.Helper()
	_, err := client.DeleteProtection(ctx(t), &awsshield.DeleteProtectionInput{ProtectionId: &id})
	return err
}

func protectionOf(t *testing.T, client *awsshield.Client, resource string) (*types.Protection, error) {
	t.Helper()
	out, err := client.DescribeProtection(ctx(t), &awsshield.DescribeProtectionInput{ResourceArn: &resource})
	if err != nil {
		return nil, err
	}
	return out.Protection, nil
}

func TestShieldSubscription(t *testing.T) {
	b, client, balancer := newShieldBed(t, state.Application)
	want := func(state types.SubscriptionState) {
		t.Helper()
		out := must[*awsshield.GetSubscriptionStateOutput](t)(client.GetSubscriptionState(ctx(t), &awsshield.GetSubscriptionStateInput{}))
		if out.SubscriptionState != state {
			t.Errorf("subscription is %s, want %s", out.SubscriptionState, state)
		}
	}
	want("INACTIVE")
	_, err := protect(t, client, balancer)
	wantCode(t, err, "ResourceNotFoundException")
	b.cloud.Shield.Subscribe("", true)
	want("ACTIVE")
	b.cloud.Shield.Subscribe("", false)
	want("INACTIVE")
}

// TestProtectionLife follows one until its end; that of its load balancer is none.
func TestProtectionLife(t *testing.T) {
	const missing = "ResourceNotFoundException"
	b, client, balancer := newShieldBed(t, state.Application)
	b.cloud.Shield.Subscribe("", true)
	_, err := protectionOf(t, client, balancer)
	wantCode(t, err, missing)
	id := must[string](t)(protect(t, client, balancer))
	wantCode(t, b.machine.DeleteBalancer(balancer), "")
	got := must[*types.Protection](t)(protectionOf(t, client, balancer))
	if *got.Id != id || *got.Name != "mine" || *got.ResourceArn != balancer || *got.ProtectionArn != "arn:aws:shield::123456789012:protection/"+id {
		t.Errorf("protection is %+v", got)
	}
	byID := must[*awsshield.DescribeProtectionOutput](t)(client.DescribeProtection(ctx(t), &awsshield.DescribeProtectionInput{ProtectionId: &id}))
	if *byID.Protection.ResourceArn != balancer {
		t.Errorf("protection by id is %+v", byID.Protection)
	}
	wantCode(t, unprotect(t, client, id+"x"), missing)
	wantCode(t, unprotect(t, client, id), "")
	wantCode(t, unprotect(t, client, id), missing)
	_, err = protectionOf(t, client, balancer)
	wantCode(t, err, missing)
}

func TestShieldRefusals(t *testing.T) {
	b, client, balancer := newShieldBed(t, state.Application)
	b.cloud.Shield.Subscribe("", true)
	must[string](t)(protect(t, client, balancer))
	_, err := protect(t, client, balancer)
	wantCode(t, err, "ResourceAlreadyExistsException")
	_, err = protect(t, client, balancer+"x")
	wantCode(t, err, "InvalidResourceException")
	for _, in := range []*awsshield.DescribeProtectionInput{{}, {ProtectionId: aws.String("a"), ResourceArn: &balancer}} {
		_, err := client.DescribeProtection(ctx(t), in)
		wantCode(t, err, "InvalidParameterException")
	}
	other, client, network := newShieldBed(t, state.Network)
	other.cloud.Shield.Subscribe("", true)
	_, err = protect(t, client, network)
	wantCode(t, err, "InvalidResourceException")
}

func TestPolicyForProtections(t *testing.T) {
	const denied = "AccessDeniedException"
	b, client, balancer := newShieldBed(t, state.Application)
	b.cloud.Shield.Subscribe("", true)
	id := must[string](t)(protect(t, client, balancer))
	own := "arn:aws:shield::123456789012:protection/" + id
	call := map[string]func() error{
		"DescribeProtection": func() error { _, err := protectionOf(t, client, balancer); return err },
		"CreateProtection":   func() error { _, err := protect(t, client, balancer); return err },
		"DeleteProtection":   func() error { return unprotect(t, client, id+"x") },
		"GetSubscriptionState": func() error {
			_, err := client.GetSubscriptionState(ctx(t), &awsshield.GetSubscriptionStateInput{})
			return err
		},
	}
	for name, tc := range map[string]struct{ action, resource, want string }{
		"describe it":                        {"DescribeProtection", own, ""},
		"describe another":                   {"DescribeProtection", own + "x", denied},
		"create any":                         {"CreateProtection", "arn:aws:shield::123456789012:protection/*", "ResourceAlreadyExistsException"},
		"create one that is there":           {"CreateProtection", own, denied},
		"delete another":                     {"DeleteProtection", own, denied},
		"delete any":                         {"DeleteProtection", "*", "ResourceNotFoundException"},
		"read the subscription":              {"GetSubscriptionState", "*", ""},
		"read the subscription of resources": {"GetSubscriptionState", "arn:aws:shield::*", denied},
	} {
		t.Run(name, func(t *testing.T) {
			b.server.SetPolicies("AKIATEST", policy(t, allows("shield:"+tc.action, tc.resource, "")))
			wantCode(t, call[tc.action](), tc.want)
		})
	}
}

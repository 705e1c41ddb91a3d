// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// A client secret that is not known stays what it is, and one that is known is sent.
func TestClientSecretIsSentWhenItIsKnown(t *testing.T) {
	for _, secret := range []stack.Secret{"", "hidden"} {
		rule := stack.Rule{Action: stack.Action{
			Auth: &stack.Auth{OIDC: &stack.OIDC{ClientID: "id", Secret: secret}}, Fixed: &stack.FixedResponse{Status: "200"},
		}}
		in, err := ModifyRule(steps.ModifyRule{To: rule})
		if err != nil {
			t.Fatal(err)
		}
		config := in.Actions[0].AuthenticateOidcConfig
		if aws.ToString(config.ClientSecret) != string(secret) || aws.ToBool(config.UseExistingClientSecret) != (secret == "") {
			t.Errorf("secret %q: sent %q, existing %v", string(secret), aws.ToString(config.ClientSecret), aws.ToBool(config.UseExistingClientSecret))
		}
		if *in.Actions[0].Order != 1 || *in.Actions[1].Order != 2 {
			t.Errorf("orders %d, %d, want 1, 2", *in.Actions[0].Order, *in.Actions[1].Order)
		}
	}
}

func TestClientSecretIsNotPrinted(t *testing.T) {
	oidc := stack.OIDC{Secret: "hidden"}
	marshalled, err := json.Marshal(oidc)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", oidc, oidc, oidc, marshalled); strings.Contains(text, "hidden") {
		t.Errorf("printed: %s", text)
	}
}

func TestTransformsAreReplacedOrTakenOff(t *testing.T) {
	action := stack.Action{Fixed: &stack.FixedResponse{Status: "200"}}
	in, _ := ModifyRule(steps.ModifyRule{To: stack.Rule{Action: action}})
	if !aws.ToBool(in.ResetTransforms) || in.Transforms != nil {
		t.Errorf("without: reset %v, transforms %v", aws.ToBool(in.ResetTransforms), in.Transforms)
	}
	rule := stack.Rule{Action: action, Transforms: []stack.Transform{{Type: "url-rewrite", Rewrites: []stack.Rewrite{{Regex: "a", Replace: "b"}}}}}
	in, _ = ModifyRule(steps.ModifyRule{To: rule})
	if in.ResetTransforms != nil || *in.Transforms[0].UrlRewriteConfig.Rewrites[0].Replace != "b" {
		t.Errorf("with: reset %v, transforms %v", in.ResetTransforms, in.Transforms)
	}
}

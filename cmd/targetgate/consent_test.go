// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/targets/consent"
)

const sharedRole = "arn:aws:iam::210987654321:role/shared"

func writeRoles(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRoleFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "roles.yaml")
	writeRoles(t, path, "shop: ['"+sharedRole+"']")
	file, err := openRoles(path)
	if err != nil {
		t.Fatal(err)
	}
	<-file.changes
	allowed := func() bool { return file.roles.Load().Refusal("shop", sharedRole) == "" }
	steps := []struct {
		name          string
		change        func()
		want, changes bool
	}{
		{"nothing", func() {}, true, false},
		{"no list any more", func() { writeRoles(t, path, "shop: "+sharedRole) }, true, false},
		{"none allowed", func() { writeRoles(t, path, "shop: []") }, false, true},
		{"gone", func() { _ = os.Remove(path) }, false, false},
		{"allowed again", func() { writeRoles(t, path, "'*': ['arn:*:iam::*:role/*']") }, true, true},
	}
	for _, step := range steps {
		step.change()
		file.reread()
		if allowed() != step.want || len(file.changes) == 1 != step.changes {
			t.Errorf("%s: allowed %t, told of a change %t; want %t, %t", step.name, allowed(), len(file.changes) == 1, step.want, step.changes)
		}
		for len(file.changes) > 0 {
			<-file.changes
		}
	}
}

// A list that is wrong from the start starts nothing.
func TestRoleFileMustBeRightAtTheStart(t *testing.T) {
	dir := t.TempDir()
	writeRoles(t, filepath.Join(dir, "wrong.yaml"), "shop: [shared]")
	for name, want := range map[string]string{"wrong.yaml": `shop[0]: "shared": must be a role's ARN`, "none.yaml": "no such file"} {
		path := filepath.Join(dir, name)
		if _, err := openRoles(path); err == nil || !strings.Contains(err.Error(), "--role-allowlist="+path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

func TestConsentOptions(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"default":                     {},
		"each mode":                   {args: []string{"--target-group-consent=warn"}},
		"no mode":                     {args: []string{"--target-group-consent=yes"}, want: "--target-group-consent=yes: must be off, warn, require"},
		"a cluster that no tag names": {args: []string{"--cluster-name=my prod", "--target-group-consent=require"}, want: `cannot name a cluster "my prod"`},
		"where nobody asks for it":    {args: []string{"--cluster-name=my prod"}},
	}
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parseOptions(append([]string{"--cluster-name=prod"}, tc.args...))
			if got := errorText(err); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("error %q, want %q", got, tc.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The target groups that --provision makes say themselves whose they are: nobody has to consent to the bindings that it makes.
func TestTagsOfProvisioningAreConsent(t *testing.T) {
	group := input.TargetGroup{
		Ingress: types.NamespacedName{Namespace: "shop", Name: "web"}, Service: types.NamespacedName{Namespace: "shop", Name: "api"},
		ServicePort: intstr.FromInt32(80),
	}
	tags := stack.Tags("prod", stack.Ingresses, "edge", group.ResourceTag())
	for namespace, want := range map[string]bool{"shop": true, "till": false} {
		binder := consent.Policy{Mode: consent.Require, Cluster: "prod"}.Binder(namespace, "k8s-shop-api-0123456789")
		if refusal := binder.Refusal(tags); (refusal == "") != want {
			t.Errorf("a binding of namespace %s: %q, want it allowed: %t", namespace, refusal, want)
		}
	}
}

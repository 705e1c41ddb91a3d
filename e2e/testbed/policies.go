// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/iam"
)

// AccessKey is who targetgate is to AWS.
func (b *Bed) AccessKey() string { return "targetgate-" + b.clusterName }

const assumeRolesSid = "AssumeRoles"

// assumeRoles is what the README has users add to the shipped policy for target groups of other accounts.
const assumeRoles = `{"Version": "2012-10-17", "Statement": {
	"Sid": "` + assumeRolesSid + `", "Effect": "Allow", "Action": ["sts:AssumeRole", "sts:TagSession"], "Resource": "*"
}}`

// policies are the shipped ones, kept to the cluster's name as config/SECURITY.md has it, and that for roles.
func (b *Bed) policies() ([]iam.Policy, error) {
	files := []string{"bindings-and-security-groups.json"}
	if b.options.Provisioning {
		files = append(files, "load-balancers.json", "certificates.json")
	}
	texts := []string{assumeRoles}
	for _, file := range files {
		shipped, err := os.ReadFile(filepath.Join(b.root, "config/iam", file))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.ReplaceAll(string(shipped), `cluster": "*"`, `cluster": "`+b.clusterName+`"`))
	}
	var policies []iam.Policy
	for _, text := range texts {
		policy, err := iam.Parse([]byte(text))
		if err != nil {
			return nil, err
		}
		policies = append(policies, policy)
	}
	return policies, nil
}

// UnusedGrants are what the shipped policy grants and targetgate has not needed since the bed was started.
func (b *Bed) UnusedGrants() []iam.Grant {
	return slices.DeleteFunc(b.AWS.UnusedGrants(b.AccessKey()), func(g iam.Grant) bool { return g.Statement == assumeRolesSid })
}

// unauthorized is an error when targetgate has made a call that its policies do not allow, as refusals is for Kubernetes.
func (b *Bed) unauthorized() error {
	seen := map[string]bool{}
	var texts []string
	for _, call := range b.AWS.Calls(0) {
		if call.Unauthorized && call.Principal == b.AccessKey() && !seen[call.Operation] && !b.isExcused(call.Received) {
			seen[call.Operation] = true
			texts = append(texts, fmt.Sprintf("%s on %s, first at %s", call.Operation, call.Resource, call.Received.UTC().Format("15:04:05.000")))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return fmt.Errorf("targetgate made calls that the policies in config/iam do not allow:\n%s", strings.Join(texts, "\n"))
}

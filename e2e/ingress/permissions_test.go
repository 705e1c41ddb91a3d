//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/iam"
	"github.com/targetgate/targetgate/e2e/suite"
)

// forAWS are the permissions that AWS asks for when others are used, which the emulator does not, or for customers' pools of addresses
// alone, which no test here has.
var forAWS = []string{
	"iam:CreateServiceLinkedRole", "wafv2:GetWebACL", "elasticloadbalancing:SetWebAcl",
	"ec2:DescribeIpamPools", "iam:GetServerCertificate", "iam:ListServerCertificates",
	"ec2:DescribeCoipPools", "ec2:GetCoipPoolUsage",
}

// everyPermissionIsUsed is rule 23: an error when the policy for load balancers grants what no test has needed. What the policy for bindings
// grants as well does not count: AWS stops at the first of them.
func everyPermissionIsUsed() error {
	content, err := os.ReadFile(filepath.Join(suite.Root, "config/iam/load-balancers.json"))
	if err != nil {
		return err
	}
	base, err := os.ReadFile(filepath.Join(suite.Root, "config/iam/bindings-and-security-groups.json"))
	if err != nil {
		return err
	}
	var policy struct{ Statement []struct{ Sid string } }
	var other struct{ Statement []struct{ Action []string } }
	if err := errors.Join(json.Unmarshal(content, &policy), json.Unmarshal(base, &other)); err != nil {
		return err
	}
	isElsewhere := func(action string) bool {
		return slices.ContainsFunc(other.Statement, func(s struct{ Action []string }) bool { return slices.Contains(s.Action, action) })
	}
	unused := slices.DeleteFunc(bed.UnusedGrants(), func(g iam.Grant) bool {
		isOurs := slices.ContainsFunc(policy.Statement, func(s struct{ Sid string }) bool { return s.Sid == g.Statement })
		return !isOurs || isElsewhere(g.Action) || slices.Contains(forAWS, g.Action)
	})
	if len(unused) > 0 {
		return fmt.Errorf("config/iam/load-balancers.json grants what no test has needed: %v", unused)
	}
	return nil
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/provision"
	"github.com/targetgate/targetgate/balancers/account"
	"github.com/targetgate/targetgate/webhook/ingresses"
)

// reviews is nil without --provision.
func (o *provisionOptions) reviews(aws *aws) *ingresses.Options {
	if !o.Enabled {
		return nil
	}
	var tags ingresses.Tags
	if o.Ingress.Consent.Asks() {
		tags = account.TagReader{ELB: provision.NewELB(aws.accounts, budget.ClassAdmission)}.Tags
	}
	return &ingresses.Options{
		Tags:  tags,
		Class: o.Class, Build: o.Ingress, ForbidClassAnnotation: o.Switches.ForbidClassAnnotation,
		ForbidGroupName: o.Switches.ForbidGroupName, IgnoreClassAnnotation: o.Switches.IgnoreClassAnnotation,
	}
}

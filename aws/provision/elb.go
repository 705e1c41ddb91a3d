// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
)

// ELB makes and changes load balancers and what belongs to them, and reads them as its Reader does. It is safe for concurrent use.
type ELB struct{ Reader }

// Reader reads load balancers and what belongs to them. It is safe for concurrent use.
type Reader struct {
	calls accounts.Caller[elbv2.Client]
}

// NewELB returns one whose calls are charged to the class. No call is made.
func NewELB(a *accounts.Accounts, class budget.Class) *ELB {
	return &ELB{Reader{accounts.NewCaller(a, elbv2.NewFromConfig(a.Config(budget.ELBv2)), class)}}
}

// about says what is being done to what, if it has a name.
func about(doing string, what *string) string {
	if aws.ToString(what) == "" {
		return doing
	}
	return doing + " " + *what
}

// one is the only of the names, for the texts of errors; nil when there are none or several.
func one(names []string) *string {
	if len(names) != 1 {
		return nil
	}
	return &names[0]
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
	"github.com/targetgate/targetgate/targets/networking/members"
)

// EC2 is what is read and changed. Authorize and Revoke take or refuse all rules of a call.
type EC2 interface {
	members.EC2
	Authorize(ctx context.Context, class budget.Class, group string, rules []ec2.Permission) error
	Revoke(ctx context.Context, class budget.Class, group string, rules []ec2.Permission) error
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
)

// EC2 is what is read and changed. Reads take any number of IDs and leave out what does not exist; they may be some seconds behind
// the last change. Authorize and Revoke take or refuse all rules of a call.
type EC2 interface {
	Interfaces(ctx context.Context, class budget.Class, ids []string) ([]ec2.Interface, error)
	InterfacesByAddress(ctx context.Context, class budget.Class, vpc string, addresses []netip.Addr) ([]ec2.Interface, error)
	Instances(ctx context.Context, class budget.Class, ids []string) ([]ec2.Instance, error)
	SecurityGroups(ctx context.Context, class budget.Class, ids []string) ([]ec2.SecurityGroup, error)
	Authorize(ctx context.Context, class budget.Class, group string, rules []ec2.Permission) error
	Revoke(ctx context.Context, class budget.Class, group string, rules []ec2.Permission) error
}

// passing is an error that the next attempt may be without: EC2 throttles or does not answer, or a record is not written.
type passing struct{ error }

func (p passing) Unwrap() error { return p.error }

func isPassing(err error) bool {
	var p passing
	return errors.As(err, &p)
}

// failedRead is the error of a read of what is named.
func failedRead(what string, err error) error {
	err = fmt.Errorf("describing %s: %w", what, err)
	if awserr.IsDefinite(err) {
		return err
	}
	return passing{err}
}

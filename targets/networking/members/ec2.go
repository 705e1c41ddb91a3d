// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/ec2"
)

// EC2 is what is read. Reads take any number of IDs and leave out what does not exist; they may be some seconds behind the last change.
type EC2 interface {
	Interfaces(ctx context.Context, class budget.Class, ids []string) ([]ec2.Interface, error)
	InterfacesByAddress(ctx context.Context, class budget.Class, vpc string, addresses []netip.Addr) ([]ec2.Interface, error)
	Instances(ctx context.Context, class budget.Class, ids []string) ([]ec2.Instance, error)
	SecurityGroups(ctx context.Context, class budget.Class, ids []string) ([]ec2.SecurityGroup, error)
}

// passing is an error that may be gone at the next attempt.
type passing struct{ error }

func (p passing) Unwrap() error { return p.error }

// Passing marks an error that may be gone at the next attempt: EC2 throttles or does not answer, or something is not written.
func Passing(err error) error { return passing{err} }

// IsPassing reports whether the error was marked by Passing.
func IsPassing(err error) bool {
	var p passing
	return errors.As(err, &p)
}

// FailedRead is the error of a read of what is named, passing unless EC2 has refused it.
func FailedRead(what string, err error) error {
	err = fmt.Errorf("describing %s: %w", what, err)
	if awserr.IsDefinite(err) {
		return err
	}
	return Passing(err)
}

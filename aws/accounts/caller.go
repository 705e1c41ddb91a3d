// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/targetgate/targetgate/aws/budget"
)

// Caller makes calls of one service with the SDK's client of it, as the program itself, charged to one class, and to the tenant that the
// call's context names. It is safe for concurrent use and holds no lock during a call.
type Caller[Client any] struct {
	client  *Client
	session *Session
	class   budget.Class
}

// NewCaller returns one with a client made from Config, whose calls are charged to the class. No call is made.
func NewCaller[Client any](a *Accounts, client *Client, class budget.Class) Caller[Client] {
	return Caller[Client]{client: client, session: a.own, class: class}
}

// Call makes one call; the error says what was being done.
func Call[Client, Options, In, Out any](
	ctx context.Context, c Caller[Client], doing string,
	do func(*Client, context.Context, *In, ...func(*Options)) (*Out, error), in *In,
) (*Out, error) {
	ctx, err := c.session.Prepare(ctx, c.class, "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	out, err := do(c.client, ctx, in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return out, nil
}

// Pages makes calls until there is no further page. Next takes in a page and makes the input ask for the one after it (Follow); it returns
// false when there is none.
func Pages[Client, Options, In, Out any](
	ctx context.Context, c Caller[Client], doing string,
	do func(*Client, context.Context, *In, ...func(*Options)) (*Out, error), in *In, next func(*In, *Out) bool,
) error {
	for asked := *in; ; {
		page, err := Call(ctx, c, doing, do, &asked)
		if err != nil {
			return err
		}
		if !next(&asked, page) {
			return nil
		}
	}
}

// Follow sets the marker to the next page's. It reports whether there is one.
func Follow(marker **string, next *string) bool {
	*marker = next
	return aws.ToString(next) != ""
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestUntilTellsTheCauseAndTheLastLook(t *testing.T) {
	cause := errors.New("component died")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := until(ctx, "a thing", func(context.Context) error {
		cancel(cause)
		return errors.New("not there")
	})
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "not there") {
		t.Errorf("until() = %v, want the cause and the last look", err)
	}
}

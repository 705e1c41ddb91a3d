// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
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

// await polls until the check succeeds, or fails the test. A minute: after an outage of the API server its clients wait
// up to half a minute before they try again.
func await(t *testing.T, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := until(ctx, what, func(context.Context) error { return check() }); err != nil {
		t.Fatal(err)
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// patience is how long a test waits for what should come within seconds, on a busy machine with the race detector.
const patience = 90 * time.Second

// Eventually polls until check returns nil.
func Eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(testbed.NextLook(time.Since(begun))) {
		err := check()
		if err == nil {
			return
		}
		if time.Since(begun) > patience {
			t.Fatalf("waited %s for %s: %v", patience, what, err)
		}
	}
}

// Throughout polls for d that check returns nil all the time.
func Throughout(t *testing.T, d time.Duration, what string, check func() error) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err := check(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// Must ends the test when there is an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

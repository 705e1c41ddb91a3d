// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// scale of all times of nodes and load balancers.
const scale = 0.1

// bed is what every test runs on.
var bed *testbed.Bed

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	options := testbed.Options{Scale: scale, Latency: 40 * time.Millisecond}
	for name, path := range map[string]*string{
		"TARGETGATE_BINARY": &options.Targetgate, "TARGETGATE_CONTROL_PLANE": &options.ControlPlane,
	} {
		if *path = os.Getenv(name); *path == "" {
			return 1, fmt.Errorf("%s is not set: run these tests by `make test-e2e`, which builds what they need", name)
		}
	}
	bed, err = testbed.Start(context.Background(), options)
	if err != nil {
		return 1, err
	}
	code = m.Run()
	if code != 0 {
		showLog()
	}
	return code, bed.Close()
}

// showLog prints the end of targetgate's log, for whoever looks for the cause.
func showLog() {
	log, err := os.ReadFile(bed.Targetgate.LogFile())
	if err == nil {
		fmt.Fprintf(os.Stderr, "targetgate's log ends with:\n%s\n", log[max(0, len(log)-16<<10):])
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// Scale of all times of nodes and load balancers that suits most tests: ten times faster than AWS's.
const Scale = 0.1

// Root is the repository's folder, seen from those of the packages of tests.
const Root = "../.."

// binary and controlPlane name the variables with the paths of the program under test and of the control plane.
const binary, controlPlane = "TARGETGATE_BINARY", "TARGETGATE_CONTROL_PLANE"

// awsLatency is what every AWS call takes.
const awsLatency = 40 * time.Millisecond

// Bed is the test bed that all tests of a package run on. Main starts it.
type Bed struct {
	*testbed.Bed
	// Finally, when set, checks what all tests of the package must have done together. It is not called when only some were run.
	Finally func() error
}

// Main starts the bed, runs the tests of the package, closes the bed and ends the program. The options lack the programs,
// whose paths are in the environment, and the latency of AWS.
func (bed *Bed) Main(m *testing.M, options testbed.Options) {
	code, err := bed.run(m, options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Kubectl is the path of kubectl, which is beside the control plane unless TARGETGATE_KUBECTL says where. It is not built by `make test`.
func Kubectl() string {
	return cmp.Or(os.Getenv("TARGETGATE_KUBECTL"), filepath.Join(filepath.Dir(os.Getenv(controlPlane)), "kubectl"))
}

func (bed *Bed) run(m *testing.M, options testbed.Options) (code int, err error) {
	options.Latency = awsLatency
	for name, path := range map[string]*string{
		binary: &options.Targetgate, controlPlane: &options.ControlPlane,
	} {
		if *path = os.Getenv(name); *path == "" {
			return 1, fmt.Errorf("%s is not set: run these tests by `make test` or `make test-rest`, which build what they need", name)
		}
	}
	if err = awaitRoom(); err != nil {
		return 1, err
	}
	if bed.Bed, err = testbed.Start(context.Background(), options); err != nil {
		return 1, err
	}
	code = m.Run()
	if code != 0 {
		bed.showLog()
	}
	if code == 0 && bed.Finally != nil && flag.Lookup("test.run").Value.String() == "" {
		err = bed.Finally()
	}
	if code == 0 && options.Provisioning {
		err = errors.Join(err, bed.nothingIsLeft())
	}
	return code, errors.Join(err, bed.Close())
}

// StartOtherCluster starts a second cluster in the bed's AWS, until the end of the test.
func (bed *Bed) StartOtherCluster(t *testing.T, clusterName string) *Bed {
	t.Helper()
	other, err := bed.Bed.StartOtherCluster(t.Context(), clusterName)
	Must(t, err)
	t.Cleanup(func() { Must(t, other.Close()) })
	return &Bed{Bed: other}
}

// showLog prints the end of targetgate's log, for whoever looks for the cause.
func (bed *Bed) showLog() {
	log, err := os.ReadFile(bed.Targetgate.LogFile())
	if err == nil {
		fmt.Fprintf(os.Stderr, "targetgate's log ends with:\n%s\n", log[max(0, len(log)-16<<10):])
	}
}

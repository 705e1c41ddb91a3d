// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/testbed"
)

// awsLatency is what every AWS call takes.
const awsLatency = 40 * time.Millisecond

// Programs are the paths of what a bed runs.
type Programs struct{ ControlPlane, Targetgate string }

// AddFlags has the command line give the paths.
func (p *Programs) AddFlags(flags *flag.FlagSet) {
	flags.StringVar(&p.ControlPlane, "control-plane", "", "`path` of the control plane built from e2e/kubernetes (required)")
	flags.StringVar(&p.Targetgate, "targetgate", "", "`path` of targetgate, built without the race detector (required)")
}

// Complete checks that both paths are there and makes them absolute. The error names the make target that sets them.
func (p *Programs) Complete(target string) error {
	if p.ControlPlane == "" || p.Targetgate == "" {
		return fmt.Errorf("-control-plane and -targetgate are required; `make %s` builds both and sets them", target)
	}
	return MakeAbsolute(&p.ControlPlane, &p.Targetgate)
}

// MakeAbsolute makes paths absolute; an empty one stays empty.
func MakeAbsolute(paths ...*string) error {
	for _, path := range paths {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return fmt.Errorf("finding %s: %w", *path, err)
		}
		*path = absolute
	}
	return nil
}

// Version asks targetgate for its version.
func (p *Programs) Version(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, p.Targetgate, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", p.Targetgate, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// OnBed does something on a bed of its own, whose options lack the programs and the latency of AWS, and leaves nothing behind,
// however that ends.
func (p *Programs) OnBed(ctx context.Context, options testbed.Options, do func(*testbed.Bed) error) error {
	options.ControlPlane, options.Targetgate, options.Latency = p.ControlPlane, p.Targetgate, awsLatency
	bed, err := testbed.Start(ctx, options)
	if err != nil {
		return err
	}
	err = do(bed)
	return errors.Join(err, bed.Close())
}

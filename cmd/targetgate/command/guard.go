// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/targets/guards"
)

const guard = "guard"

const guardUsage = `Keeps a node until its targets have drained: waits for SIGTERM, and then until targetgate says, in the condition
targetgate.dev/MayLeave of this pod, that the node is in no target group any longer. It is what the pods of the chart's nodeGuard run. Needs
POD_NAME and POD_NAMESPACE of the pod, and its right to get it.

  targetgate guard [flags]

Exit code: 1 if it cannot start, 2 if the command line is wrong, otherwise 0.

`

// defaultLongestWait is the deregistration delay that AWS gives a target group, and a minute for all else.
const defaultLongestWait = 6 * time.Minute

// AsksToGuard reports whether the command line runs a guard.
func AsksToGuard(command []string) bool { return len(command) > 1 && command[1] == guard }

// Guard runs a guard with these arguments until it may leave after signalled has ended, and returns the exit code.
func Guard(signalled context.Context, args []string, out, errOut io.Writer) int {
	logger := logr.FromSlogHandler(slog.NewJSONHandler(errOut, nil))
	ctrl.SetLogger(logger)
	flags := pflag.NewFlagSet("targetgate "+guard, pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(out)
	flags.Usage = func() { fmt.Fprintf(out, guardUsage+"%s", flags.FlagUsages()) }
	longestWait := flags.Duration("longest-wait", defaultLongestWait,
		"How long to stay at most after SIGTERM. The pod's grace period must be some seconds longer.")
	kubeconfig := flags.String("kubeconfig", "", KubeconfigHelp)
	code := 2
	err := flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case err == nil && *longestWait < 0:
		err = fmt.Errorf("--longest-wait=%s: must be 0 or more", *longestWait)
	case err == nil:
		code, err = 1, runGuard(signalled, *kubeconfig, guards.Process{LongestWait: *longestWait, Log: logger})
	}
	if err != nil {
		fmt.Fprintf(errOut, "targetgate %s: %v\n", guard, err)
		return code
	}
	return 0
}

// runGuard runs the process, which it gives the reading of its own pod.
func runGuard(signalled context.Context, kubeconfig string, process guards.Process) error {
	name, namespace := os.Getenv("POD_NAME"), os.Getenv("POD_NAMESPACE")
	if name == "" || namespace == "" {
		return errors.New("POD_NAME and POD_NAMESPACE must be set")
	}
	cfg, err := KubeConfig(kubeconfig, "")
	if err != nil {
		return err
	}
	c, err := corev1client.NewForConfig(rest.AddUserAgent(cfg, guard))
	if err != nil {
		return fmt.Errorf("creating API client: %w", err)
	}
	process.Pod = func(ctx context.Context) (*corev1.Pod, error) {
		return c.Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	}
	process.Run(signalled)
	return nil
}

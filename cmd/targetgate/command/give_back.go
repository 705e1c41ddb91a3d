// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/handover"
	"github.com/targetgate/targetgate/targets/ownership"
)

const giveBack = "give-back"

const giveBackUsage = `Gives all TargetGroupBindings that targetgate has with --beside back to aws-load-balancer-controller, as
before an uninstall. Removes the label targetgate.dev/register from all namespaces first. While a targetgate has the lease,
waits for that one to give back, as long as it gives back a binding every two minutes. Does the same where there is no such
lease, as targetgate may run in another namespace. Touches no target, and asks only the API server.

  targetgate give-back [flags]

Exit code: 1 if a binding is left or the API server failed, 2 if the command line is wrong, otherwise 0.

`

// AsksToGiveBack reports whether the command line runs give-back, which the kubectl plugin has, too.
func AsksToGiveBack(command []string) bool { return len(command) > 1 && command[1] == giveBack }

// GiveBack runs give-back with these arguments and returns the exit code.
func GiveBack(ctx context.Context, args []string, out, errOut io.Writer) int {
	ctrl.SetLogger(logr.Discard())
	flags := pflag.NewFlagSet("targetgate "+giveBack, pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(out)
	flags.Usage = func() { fmt.Fprintf(out, giveBackUsage+"%s", flags.FlagUsages()) }
	timeout := flags.Duration("timeout", 5*time.Minute, "How long to try again while a binding is left.")
	lease := client.ObjectKey{}
	flags.StringVar(&lease.Name, "leader-election-id", ownership.BesideLease, "Name of the lease of the targetgate that may run.")
	flags.StringVar(&lease.Namespace, "leader-election-namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), DefaultNamespace),
		"Namespace of the lease. Default: the pod's own, else "+DefaultNamespace+".")
	kubeconfig := flags.String("kubeconfig", "", KubeconfigHelp)
	kubeContext := flags.String("context", "", "Context in the kubeconfig. Default: the current one.")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	code := 2
	if err == nil {
		code, err = 1, giveBackAll(ctx, *kubeconfig, *kubeContext, lease, *timeout, out)
	}
	if err != nil {
		fmt.Fprintf(errOut, "targetgate %s: %v\n", giveBack, err)
		return code
	}
	return 0
}

func giveBackAll(
	ctx context.Context, kubeconfig, kubeContext string, lease client.ObjectKey, timeout time.Duration, out io.Writer,
) error {
	cfg, err := KubeConfig(kubeconfig, kubeContext)
	if err != nil {
		return err
	}
	cfg.Timeout = 30 * time.Second
	scheme, err := NewScheme()
	if err != nil {
		return err
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("creating API client: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := handover.All(ctx, c, lease, out); err != nil {
		return fmt.Errorf("left with targetgate:\n%w", err)
	}
	fmt.Fprintln(out, "no binding is left with targetgate")
	return nil
}

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

	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/explain"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Explain runs explain and returns the exit code. Program is the name by which users call it, version what AWS is told.
func Explain(ctx context.Context, program, version string, args []string, out, errOut io.Writer) int {
	ctrl.SetLogger(logr.Discard())
	opts, err := parseExplainOptions(program, args, out)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	code := 2
	if err == nil {
		code, err = opts.explain(ctx, version, out, errOut)
	}
	if err != nil {
		fmt.Fprintf(errOut, "%s: %v\n", program, err)
	}
	return code
}

// explain returns exit code 1 if a link is broken, and with every error.
func (o *explainOptions) explain(ctx context.Context, version string, out, errOut io.Writer) (int, error) {
	now := &serverClock{PassiveClock: clock.RealClock{}}
	reader, namespace, err := Connect(o.Kubeconfig, o.Context, o.Namespace, now.wrap)
	if err != nil {
		return 1, err
	}
	explainer := explain.Explainer{
		Reader: reader, Clock: now,
		Lease:                client.ObjectKey{Namespace: o.LeaseNamespace, Name: cmp.Or(o.LeaseName, DefaultLease)},
		BesideLease:          client.ObjectKey{Namespace: o.LeaseNamespace, Name: cmp.Or(o.LeaseName, ownership.BesideLease)},
		WebhookConfiguration: o.WebhookConfiguration,
		LoadBalancerGates:    o.LoadBalancerGates,
	}
	if o.AWS {
		explainer.AWS = o.awsClients(ctx, version)
	}
	report, err := o.ask(ctx, reader, explain.New(explainer), namespace)
	if err != nil {
		return 1, withCRD(err)
	}
	if len(report.Chains) == 0 {
		fmt.Fprintf(errOut, "No TargetGroupBinding in namespace %s.\n", namespace)
	}
	if err := o.print(out, report); err != nil {
		return 1, err
	}
	if report.IsBroken() {
		return 1, nil
	}
	return 0, nil
}

// withCRD names the kind that the API server does not know, or the group where it knows none of it.
func withCRD(err error) error {
	var kind *apimeta.NoKindMatchError
	var group *apimeta.NoResourceMatchError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("the API server does not know %s (is its CRD installed?): %w", kind.GroupKind.Kind, err)
	case errors.As(err, &group):
		return fmt.Errorf("the API server does not know %s (are the CRDs installed?): %w", group.PartialResource.Group, err)
	}
	return err
}

func (o *explainOptions) ask(ctx context.Context, c client.Client, explainer *explain.Explainer, namespace string) (explain.Report, error) {
	key := client.ObjectKey{Namespace: namespace, Name: o.Name}
	switch o.Kind {
	case kindPod:
		return explainer.Pod(ctx, key)
	case kindIngress:
		return o.explainIngress(ctx, c, explainer, key)
	case kindBinding:
		return explainer.Binding(ctx, key)
	default:
		return explainer.Namespace(ctx, namespace)
	}
}

// awsClients returns AWS clients with the credentials that the SDK finds and the Region of the target group's ARN. Like
// targetgate, they assume the binding's role.
func (o *explainOptions) awsClients(ctx context.Context, version string) func(*v1beta1.TargetGroupBinding) (*elbv2.Client, error) {
	regions := map[string]*elbv2.Clients{}
	return func(binding *v1beta1.TargetGroupBinding) (*elbv2.Client, error) {
		region := o.Region
		if parsed, err := arn.Parse(binding.Spec.TargetGroupARN); err == nil && region == "" {
			region = parsed.Region
		}
		if regions[region] == nil {
			cfg, err := accounts.LoadConfig(ctx, config.WithRegion(region))
			if err != nil {
				return nil, fmt.Errorf("loading AWS configuration: %w", err)
			}
			regions[region] = elbv2.NewClients(accounts.New(cfg, accounts.Settings{
				Endpoints: o.Endpoints, MaxRetries: 2, UserAgent: "targetgate-explain/" + version,
			}))
		}
		return regions[region].Client(accounts.RoleOf(binding)), nil
	}
}

func (o *explainOptions) print(out io.Writer, report explain.Report) error {
	if o.Output == "json" {
		return PrintJSON(out, report)
	}
	return report.Text(out, o.Kind == kindPod, o.Color == "always" || o.Color == "auto" && isTerminal(out))
}

// isTerminal reports whether out is a terminal that shows colours, unless the user asked for none (no-color.org).
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/preview"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/ownership"
)

// pluginName is the program that kubectl runs for kubectl targetgate.
const pluginName = "kubectl-targetgate"

const explainUsage = `Explains why a pod gets no traffic or is not Ready. Checks each link from the Service to the readiness
gate, names the first broken one, and says what to do. Read-only.

  %[1]s explain pod NAME         one pod, with every link
  %[1]s explain tgb NAME         a TargetGroupBinding, with all its pods
  %[1]s explain ingress NAME     an Ingress (or NAMESPACE/NAME): its rules, and the TargetGroupBindings behind them
  %[1]s explain                  all TargetGroupBindings of the namespace

Exit code: 1 if a link is broken or the check failed, 2 if the command line is wrong, otherwise 0.

`

// pluginUsage is the help of the plugin as a whole.
const pluginUsage = `The kubectl plugin of targetgate.

  kubectl targetgate explain      says why a pod gets no traffic or is not Ready
  kubectl targetgate plan         says what would change in AWS for Ingresses, and why
  kubectl targetgate orphans      lists and deletes load balancers without Ingresses
  kubectl targetgate give-back    gives bindings back to aws-load-balancer-controller

kubectl targetgate COMMAND --help says more of each.
`

// explainOptions holds the flags and arguments of explain. It also reads the environment variables NO_COLOR and TERM, and
// those of kubectl and the AWS SDK.
type explainOptions struct {
	Kind, Name string // kindPod, kindBinding, or empty for the whole namespace

	Kubeconfig, Context, Namespace string

	Output string
	Color  string

	AWS       bool
	Region    string
	Endpoints map[string]string

	Ingress preview.Flags

	LeaseName, LeaseNamespace string
	WebhookConfiguration      string
	LoadBalancerGates         []string
}

const (
	kindPod     = "pod"
	kindBinding = "targetgroupbinding"
	kindIngress = "ingress"
)

// kinds maps the names that kubectl accepts for a kind.
var kinds = map[string]string{
	"pod": kindPod, "pods": kindPod, "po": kindPod,
	"targetgroupbinding": kindBinding, "targetgroupbindings": kindBinding, "tgb": kindBinding,
	"ingress": kindIngress, "ingresses": kindIngress, "ing": kindIngress,
}

// plugin is how users call the plugin.
const plugin = "kubectl targetgate"

// AsksToExplain reports whether the command line runs explain, and the name by which users call the program. The plugin explains, unless
// the first argument names another command.
func AsksToExplain(command []string) (program string, yes bool) {
	if strings.TrimSuffix(filepath.Base(command[0]), ".exe") == pluginName {
		return plugin, true
	}
	return "targetgate", len(command) > 1 && command[1] == "explain"
}

// parseExplainOptions reads the arguments; the first must be explain. It returns pflag.ErrHelp after it has printed help
// to out.
func parseExplainOptions(program string, args []string, out io.Writer) (*explainOptions, error) {
	opts := &explainOptions{}
	flags := pflag.NewFlagSet(program+" explain", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(out)
	flags.Usage = func() {
		if program == plugin && flags.Arg(0) == "" {
			fmt.Fprint(out, pluginUsage)
			return
		}
		fmt.Fprintf(out, explainUsage+"%[2]s", program, flags.FlagUsages())
	}
	opts.addFlags(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.Arg(0) != "explain" {
		return nil, fmt.Errorf("usage: %s explain ... (see --help)", program)
	}
	if err := opts.takeSubject(flags.Args()[1:]); err != nil {
		return nil, err
	}
	return opts, opts.validate()
}

func (o *explainOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "Namespace. Default: the context's.")
	flags.StringVarP(&o.Output, "output", "o", "text", "text or json.")
	flags.BoolVar(&o.AWS, "aws", false,
		"Ask AWS for the current state of the targets, with your own credentials. Default: use what targetgate last recorded.")
	flags.StringVar(&o.Region, "aws-region", "", "AWS Region. Default: the target group's own.")
	flags.StringToStringVar(&o.Endpoints, "aws-api-endpoints", nil, "Base URLs by service ID, as for targetgate itself.")
	flags.StringVar(&o.Color, "color", "auto", "auto (on a terminal), always or never.")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "Path to a kubeconfig file. Default: KUBECONFIG, ~/.kube/config.")
	flags.StringVar(&o.Context, "context", "", "Context in the kubeconfig. Default: the current one.")
	addIngressFlags(flags, &o.Ingress)
	flags.StringSliceVar(&o.LoadBalancerGates, "load-balancer-gate-prefixes", readiness.LoadBalancerGates(),
		"The flag of targetgate with that name.")
	flags.StringVar(&o.LeaseName, "leader-election-id", "",
		"Name of targetgate's lease. Default: "+DefaultLease+"; for bindings registered with --beside "+ownership.BesideLease+".")
	flags.StringVar(&o.LeaseNamespace, "leader-election-namespace", "targetgate-system", "Namespace of the lease, where targetgate runs.")
	flags.StringVar(&o.WebhookConfiguration, "webhook-configuration-name", "targetgate-webhook",
		"Name of targetgate's MutatingWebhookConfiguration, which decides which pods get gates.")
}

// addIngressFlags adds those of the controller's flags that routes depend on.
func addIngressFlags(flags *pflag.FlagSet, f *preview.Flags) {
	const usage = "For ingress: the flag of targetgate with that name."
	f.Options = input.DefaultOptions("", "")
	flags.StringVar(&f.IngressClass, "ingress-class", "alb", usage)
	flags.BoolVar(&f.Switches.ForbidClassAnnotation, "disable-ingress-class-annotation", false, usage)
	flags.BoolVar(&f.Switches.ForbidGroupName, "disable-ingress-group-name-annotation", false, usage)
	flags.BoolVar(&f.Switches.IgnoreClassAnnotation, "ignore-ingress-class-annotation", false, usage)
	flags.StringVar(&f.Options.DefaultTargetType, "default-target-type", f.Options.DefaultTargetType, usage+" instance or ip.")
	flags.BoolVar(&f.Options.TolerateMissingService, "tolerate-non-existent-backend-service", f.Options.TolerateMissingService, usage)
	flags.BoolVar(&f.Options.TolerateMissingAction, "tolerate-non-existent-backend-action", f.Options.TolerateMissingAction, usage)
	limits := &f.Options.Limits
	flags.IntVar(&limits.Rules, "load-balancer-rule-quota", limits.Rules, usage)
	flags.IntVar(&limits.Certificates, "load-balancer-certificate-quota", limits.Certificates, usage)
	flags.IntVar(&limits.FrontTargets, "frontend-nlb-target-quota", limits.FrontTargets, usage)
}

// takeSubject reads what to explain: nothing, KIND NAME or KIND/NAME.
func (o *explainOptions) takeSubject(args []string) error {
	if len(args) == 1 {
		args = strings.SplitN(args[0], "/", 2)
	}
	if len(args) == 0 {
		return nil
	}
	if len(args) != 2 || args[1] == "" {
		return fmt.Errorf("give a kind and a name, such as pod web-0 or tgb web, not %q", strings.Join(args, " "))
	}
	kind, known := kinds[strings.ToLower(args[0])]
	if !known {
		return fmt.Errorf("cannot explain a %q: must be pod, targetgroupbinding (tgb) or ingress", args[0])
	}
	if kind == kindIngress {
		return o.takeIngress(args[1])
	}
	o.Kind, o.Name = kind, args[1]
	return nil
}

func (o *explainOptions) validate() error {
	switch {
	case !slices.Contains([]string{"text", "json"}, o.Output):
		return fmt.Errorf("--output=%s: must be text or json", o.Output)
	case !slices.Contains([]string{"auto", "always", "never"}, o.Color):
		return fmt.Errorf("--color=%s: must be auto, always or never", o.Color)
	case !slices.Contains([]string{"instance", "ip"}, o.Ingress.Options.DefaultTargetType):
		return fmt.Errorf("--default-target-type=%s: must be instance or ip", o.Ingress.Options.DefaultTargetType)
	}
	switch limits := o.Ingress.Options.Limits; {
	case limits.Rules < 1:
		return fmt.Errorf("--load-balancer-rule-quota=%d: must be 1 or more", limits.Rules)
	case limits.Certificates < 1:
		return fmt.Errorf("--load-balancer-certificate-quota=%d: must be 1 or more", limits.Certificates)
	case limits.FrontTargets < 100:
		return fmt.Errorf("--frontend-nlb-target-quota=%d: must be 100 or more", limits.FrontTargets)
	}
	faults, _ := ValidateEndpoints(o.Endpoints)
	if len(faults) > 0 {
		return faults[0]
	}
	return nil
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const planName = "plan"

const planUsage = `Says what targetgate --provision would change for Ingresses, and why: in AWS, in TargetGroupBindings, and in the
Ingresses themselves. Read-only, with your own rights in the cluster and in AWS. Before a move from aws-load-balancer-controller,
plan --all shows that nothing would change.

  targetgate plan NAMESPACE/NAME    for an Ingress, with its group
  targetgate plan --group=NAME      for a group of Ingresses
  targetgate plan -f FILE           if this file were applied: YAML with Ingresses, and with Services, IngressClasses and
                                    IngressClassParams if any; - is the standard input
  targetgate plan --all             for all Ingresses

Takes all flags of the controller, so that its own arguments can be given; those below have an effect. Give the same as there.
--cluster-name is required, and so are --aws-region (or AWS_REGION) and --aws-vpc-id without instance metadata, as on a laptop.

Exit code: 0 if nothing would change, 2 if something would, 1 if the command line is wrong, if something could not be read, or if an
Ingress would not be served as it asks.

`

// planOptions holds the flags and arguments of plan: those of the controller, and its own.
type planOptions struct {
	options
	Context, Namespace string
	Output             string

	// One of these says what is planned.
	Ingress client.ObjectKey
	Group   string
	File    string
	All     bool
}

// asksToPlan reports whether the command line runs plan, which the kubectl plugin has, too.
func asksToPlan(command []string) bool { return len(command) > 1 && command[1] == planName }

// parsePlanOptions reads the arguments after plan. It returns pflag.ErrHelp after it has printed help to out.
func parsePlanOptions(args []string, out io.Writer) (*planOptions, error) {
	o := &planOptions{}
	all := pflag.NewFlagSet("targetgate "+planName, pflag.ContinueOnError)
	all.SortFlags = false
	all.SetOutput(out)
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false
	o.addOwnFlags(own)
	all.AddFlagSet(own)
	o.addFlags(all)
	addIgnoredFlags(all)
	o.hideOthers(all, own)
	all.Usage = func() { fmt.Fprintf(out, planUsage+"%s", all.FlagUsages()) }
	if err := all.Parse(args); err != nil {
		return nil, err
	}
	o.Provision.Enabled = true
	faults := o.complete(all)
	faults = slices.Concat(o.validateNamespaces(), o.validateAWS(), o.Provision.validate(false), faults)
	return o, errors.Join(append(faults, o.takeSubject(all.Args()))...)
}

func (o *planOptions) addOwnFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Group, "group", "", "Name of a group: alb.ingress.kubernetes.io/group.name of its Ingresses.")
	flags.StringVarP(&o.File, "filename", "f", "", "File with objects that stand in place of the cluster's; - is the standard input.")
	flags.BoolVar(&o.All, "all", false, "Plan for all groups.")
	flags.StringVarP(&o.Output, "output", "o", "text", "text or json.")
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "Namespace of what names none. Default: the context's.")
	flags.StringVar(&o.Context, "context", "", "Context in the kubeconfig. Default: the current one.")
}

// hideOthers leaves in the help what has an effect.
func (o *planOptions) hideOthers(all, own *pflag.FlagSet) {
	shown := append(slices.Clone(o.Provision.names),
		"cluster-name", "disable-restricted-sg-rules", "feature-gates", "kubeconfig", "watch-namespace")
	hideOthers(all, own, shown, "ingress-max-concurrent-reconciles", "ingress-drift-interval", "orphan-grace")
}

// hideOthers hides in the help all flags but a command's own, these, and those for AWS calls, and besides those that are idle.
func hideOthers(all, own *pflag.FlagSet, shown []string, idle ...string) {
	idle = append(idle, "aws-role-session-name", "aws-role-session-tags")
	all.VisitAll(func(f *pflag.Flag) {
		if own.Lookup(f.Name) == nil && !slices.Contains(shown, f.Name) && !strings.HasPrefix(f.Name, "aws-") || slices.Contains(idle, f.Name) {
			f.Hidden = true
		}
	})
}

// takeSubject reads what to plan: an Ingress as an argument, or one of the flags.
func (o *planOptions) takeSubject(args []string) error {
	if !slices.Contains([]string{"text", "json"}, o.Output) {
		return fmt.Errorf("--output=%s: must be text or json", o.Output)
	}
	subjects := len(args)
	for _, given := range []bool{o.Group != "", o.File != "", o.All} {
		if given {
			subjects++
		}
	}
	if subjects != 1 {
		return errors.New("give one of NAMESPACE/NAME of an Ingress, --group, -f and --all (see targetgate plan --help)")
	}
	if len(args) == 0 {
		return nil
	}
	namespace, name, both := strings.Cut(args[0], "/")
	if !both {
		namespace, name = o.Namespace, args[0]
	}
	if name == "" || strings.Contains(name, "/") || both && namespace == "" {
		return fmt.Errorf("name an Ingress as NAMESPACE/NAME, not %q", args[0])
	}
	o.Ingress = client.ObjectKey{Namespace: namespace, Name: name}
	return nil
}

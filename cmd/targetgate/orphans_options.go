// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

const orphansName = "orphans"

const orphansUsage = `Lists the load balancers with the tags of this cluster to which no Ingress belongs: since when, what targetgate does
about them, and what would go with each. Read-only without --delete, with your own rights in the cluster and in AWS.

  targetgate orphans                      lists all
  targetgate orphans --delete=NAME,...    deletes these, by the name of their group or of the load balancer, with all that was made
                                          for them

With --delete it deletes also before --orphan-grace is over, and where too many have no Ingress; never one whose group an Ingress
names, nor one whose name is not one that targetgate gives. It asks nothing more: look at the list first. A targetgate that runs
meanwhile leaves them alone. It needs the rights of targetgate in AWS, and in the cluster that to delete TargetGroupBindings.

Takes all flags of the controller, so that its own arguments can be given; those below have an effect. Give the same as there.
--cluster-name is required, and so are --aws-region (or AWS_REGION) and --aws-vpc-id without instance metadata, as on a laptop.

Exit code: 0 if there is none, or all that are named are deleted; 2 if the list has any; 1 if the command line is wrong, something
could not be read, or something is left.

`

// orphansOptions holds the flags of orphans: those of the controller, and its own.
type orphansOptions struct {
	options
	Context string
	Output  string
	Delete  []string
	Timeout time.Duration
}

// asksForOrphans reports whether the command line runs orphans, which the kubectl plugin has, too.
func asksForOrphans(command []string) bool { return len(command) > 1 && command[1] == orphansName }

// parseOrphansOptions reads the arguments after orphans. It returns pflag.ErrHelp after it has printed help to out.
func parseOrphansOptions(args []string, out io.Writer) (*orphansOptions, error) {
	o := &orphansOptions{}
	all := pflag.NewFlagSet("targetgate "+orphansName, pflag.ContinueOnError)
	all.SortFlags = false
	all.SetOutput(out)
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false
	own.StringSliceVar(&o.Delete, "delete", nil, "Groups or load balancers to delete.")
	own.StringVarP(&o.Output, "output", "o", "text", "text or json; of the list.")
	own.DurationVar(&o.Timeout, "timeout", 10*time.Minute, "How long to try again while something of what is deleted is left.")
	own.StringVar(&o.Context, "context", "", "Context in the kubeconfig. Default: the current one.")
	all.AddFlagSet(own)
	o.addFlags(all)
	addIgnoredFlags(all)
	hideOthers(all, own, []string{
		"cluster-name", "kubeconfig", "ingress-class", "orphan-grace", "disable-ingress-class-annotation",
		"disable-ingress-group-name-annotation", "ignore-ingress-class-annotation", "watch-namespace",
	})
	all.Usage = func() { fmt.Fprintf(out, orphansUsage+"%s", all.FlagUsages()) }
	if err := all.Parse(args); err != nil {
		return nil, err
	}
	o.Provision.Enabled = true
	faults := o.complete(all)
	faults = slices.Concat(o.validateNamespaces(), o.validateAWS(), o.Provision.validate(false), faults)
	return o, errors.Join(append(faults, o.validateOwn(all.Args()))...)
}

func (o *orphansOptions) validateOwn(args []string) error {
	switch {
	case !slices.Contains([]string{"text", "json"}, o.Output):
		return fmt.Errorf("--output=%s: must be text or json", o.Output)
	case o.Output != "text" && len(o.Delete) > 0:
		return errors.New("--output is that of the list: leave it out with --delete")
	case o.Timeout <= 0:
		return fmt.Errorf("--timeout=%s: must be more than 0", o.Timeout)
	case len(args) > 0:
		return fmt.Errorf("unexpected argument %q: name what to delete with --delete", args[0])
	}
	return nil
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/cmd/targetgate/command"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/pods"
)

// options holds all flags of the program, and its environment variables: POD_NAME, POD_UID and POD_NAMESPACE of its own pod.
// Names, meanings and defaults are the incumbent's unless the help text says otherwise, so that an existing argument
// list works.
type options struct {
	ClusterName string

	Region       string
	VpcID        string
	VpcTags      map[string]string
	Endpoints    map[string]string
	Throttle     []budget.Rule
	MaxRetries   int
	throttleText string

	RoleSessionName string
	Sessions        accounts.Sessions

	Beside                  bool
	OpenIncumbentGates      bool
	InjectGates             bool
	Termination             pods.Termination
	MaxConcurrentReconciles int
	MaxBackoff              time.Duration
	Policy                  plan.Policy
	Unattached              string
	Consent                 consentOptions
	Networking              networkingOptions
	Provision               provisionOptions
	DriftInterval           time.Duration
	LoadBalancerGates       []string
	EndpointsFailOpen       bool

	SyncPeriod      time.Duration
	WatchNamespaces []string
	Kubeconfig      string
	LogLevel        string
	FeatureGates    map[string]string

	LeaderElection          bool
	LeaderElectionID        string
	LeaderElectionNamespace string
	Identity                string // survives a restart of the container; empty if unknown

	WebhookPort     int
	Certificates    certificateOptions
	MetricsAddr     string
	HealthProbeAddr string
	ShutdownDelay   time.Duration

	ignoredFlags []string // flags that were set but have no effect
}

const usage = `Registers pods as targets of AWS load balancers, and makes them Ready only when their targets are healthy.

  targetgate --cluster-name=NAME [flags]    runs the controller
  targetgate give-back                      gives bindings back to aws-load-balancer-controller (targetgate give-back --help)
  targetgate guard                          keeps a node until its targets have drained (targetgate guard --help)
  targetgate explain                        explains why a pod gets no traffic or is not Ready (targetgate explain --help)
  targetgate plan                           says what would change in AWS for Ingresses, and why (targetgate plan --help)
  targetgate orphans                        lists and deletes load balancers without Ingresses (targetgate orphans --help)

`

// parseOptions reads the arguments. It returns pflag.ErrHelp after it has printed help or the version. Its error names every
// wrong flag, its value and what is allowed.
func parseOptions(args []string) (*options, error) {
	opts := &options{}
	flags := pflag.NewFlagSet("targetgate", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.SetOutput(os.Stdout) // for --help; errors are returned
	flags.Usage = func() { fmt.Printf(usage+"%s", flags.FlagUsages()) }
	showVersion := flags.Bool("version", false, "Print the version and exit.")
	opts.addFlags(flags)
	addIgnoredFlags(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if *showVersion {
		fmt.Println(version)
		return nil, pflag.ErrHelp
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: give flags, or a command as the first argument (see targetgate --help)", flags.Arg(0))
	}
	faults := opts.complete(flags)
	return opts, errors.Join(append(opts.validate(), faults...)...)
}

// complete derives options from others and from the environment, and parses those that are texts. It returns the faults of these.
func (o *options) complete(flags *pflag.FlagSet) []error {
	o.trimLists()
	if name, uid := os.Getenv("POD_NAME"), os.Getenv("POD_UID"); name != "" && uid != "" {
		o.Identity = name + "_" + uid
	}
	o.Certificates.complete(flags)
	if o.Beside && !flags.Changed("leader-election-id") {
		o.LeaderElectionID = ownership.BesideLease
	}
	o.LeaderElectionNamespace = cmp.Or(o.LeaderElectionNamespace, o.Certificates.SelfMade.Namespace)
	o.Policy.ReadyWhenUnattached = o.Unattached == "ready"
	mode := consent.Mode(o.Consent.Mode)
	o.ignoredFlags = append(setIgnoredFlags(flags), o.Provision.complete(flags, o.ClusterName, o.Networking.Unrestricted, mode)...)
	faults := append(o.completeAWS(), o.parseFeatureGates()...)
	slices.Sort(o.ignoredFlags)
	return faults
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.ClusterName, "cluster-name", "", "Name of the Kubernetes cluster. Required.")
	o.addAWSFlags(flags)
	o.addBindingFlags(flags)
	o.addServerFlags(flags)
}

func (o *options) addBindingFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.Beside, "beside", false,
		"Work beside aws-load-balancer-controller: register targets only in namespaces with the label targetgate.dev/register=enabled. "+
			"Needs the chart's ValidatingAdmissionPolicy, which keeps that controller from these bindings.")
	flags.BoolVar(&o.OpenIncumbentGates, "open-incumbent-gates", false,
		"In namespaces with the label targetgate.dev/protect=enabled, open the gates of pods that aws-load-balancer-controller registers "+
			"as soon as their targets are healthy. Needs --beside.")
	flags.BoolVar(&o.InjectGates, "enable-pod-readiness-gate-inject", true, "Add readiness gates to pods at admission.")
	flags.DurationVar(&o.Termination.ALB, "termination-delay-alb", elbv2.ServeOnALB,
		"preStop sleep for containers that have no preStop, in pods with a gate, so that a deleted pod keeps serving for a while. "+
			"For target groups of protocol HTTP or HTTPS. Rounded up to whole seconds; 0 adds no sleep. "+
			"A deregistration may be delayed by the difference between this sleep and --deregistration-lead-alb. "+
			"The pod annotation targetgate.dev/termination-delay overrides it.")
	flags.DurationVar(&o.Termination.NLB, "termination-delay-nlb", elbv2.ServeOnNLB, "The same for target groups of all other protocols.")
	flags.DurationVar(&o.Policy.Lead.ALB, "deregistration-lead-alb", elbv2.StopsSendingALB,
		"How long before a deleted pod gets SIGTERM its target must be deregistered, because the load balancer keeps sending for that long. "+
			"For target groups of protocol HTTP or HTTPS. Until then a deregistration may wait, see --keep-until-replaced. "+
			"Pods that have no native preStop sleep, or none that is longer, are deregistered at once.")
	flags.DurationVar(&o.Policy.Lead.NLB, "deregistration-lead-nlb", elbv2.StopsSendingNLB,
		"The same for target groups of all other protocols.")
	flags.BoolVar(&o.Policy.KeepUntilReplaced, "keep-until-replaced", true,
		"Keep the target of a deleted pod that still serves, if a replacement comes, until as many others are healthy as before, but not past "+
			"the deadline that --deregistration-lead-alb and -nlb set. The pod annotation targetgate.dev/keep-until-replaced=false switches it "+
			"off for a pod.")
	flags.IntVar(&o.MaxConcurrentReconciles, "targetgroupbinding-max-concurrent-reconciles", 16, "Maximum bindings reconciled in parallel.")
	flags.DurationVar(&o.MaxBackoff, "targetgroupbinding-max-exponential-backoff-delay", 30*time.Second,
		"Maximum delay before a failed reconcile is retried.")
	flags.IntVar(&o.Policy.MaxTargets, "max-targets-per-target-group", 0,
		"Maximum targets in a target group. Pods beyond it are not registered, and their conditions say so. 0 means no limit.")
	flags.IntVar(&o.Policy.MinReadyPercent, "min-ready-percent", 50,
		"Deregister running but unready pods only while at least this percentage of the targets that served together with them serves. "+
			"The annotation "+v1beta1.MinReadyPercentAnnotation+" of a TargetGroupBinding or Service overrides it.")
	flags.DurationVar(&o.Policy.ReplacementTimeout, "replacement-timeout", 5*time.Minute,
		"How long to keep targets that the Service no longer selects (or whose Service is gone) while replacements become healthy. "+
			"The target of a node to be replaced waits at most this long for the first health checks of other nodes, then until as many are "+
			"healthy. With --provision, also how long a load balancer keeps former security groups while targets do not accept the new ones.")
	flags.StringVar(&o.Unattached, "unattached-target-group", "ready",
		"Gates of target groups attached to no load balancer, where no health check runs: ready opens them, wait keeps them closed.")
	flags.DurationVar(&o.Policy.ReadinessTimeout, "readiness-timeout", 0,
		"Open a gate this long after registration even if the target is still unhealthy, with a Warning event. 0 disables this.")
	flags.BoolVar(&o.Policy.TwoWay, "readiness-two-way", false,
		"Close the gate of a pod whose target becomes unhealthy, while at least --min-ready-percent of the pods are healthy. "+
			"By default an open gate stays open.")
	flags.StringSliceVar(&o.LoadBalancerGates, "load-balancer-gate-prefixes", readiness.LoadBalancerGates(),
		"Prefixes of the readiness gates that controllers of other load balancers open, separated by commas. A pod whose other gates, but for "+
			"these and targetgate's own, are not True gets no traffic.")
	o.Consent.addFlags(flags)
	o.Networking.addFlags(flags)
	o.Provision.addFlags(flags)
	flags.DurationVar(&o.DriftInterval, "drift-interval", 5*time.Minute,
		"How often to compare each target group with the cluster when nothing has changed. Random jitter shortens it by up to a fifth.")
	flags.DurationVar(&o.SyncPeriod, "sync-period", 10*time.Hour,
		"How often to reconcile every binding when nothing has changed. With 0, only --drift-interval applies.")
	flags.StringSliceVar(&o.WatchNamespaces, "watch-namespace", nil, "Namespaces to watch, separated by commas. Default: all.")
	flags.StringToStringVar(&o.FeatureGates, "feature-gates", nil,
		"EndpointsFailOpen=true|false: when no other endpoint is left, register those on nodes of unknown state (default true). "+
			"With --provision: LBCapacityReservation, ListenerRulesTagging, SubnetDiscoveryByReachability, SubnetsClusterTagCheck (default true), "+
			"ALBSingleSubnet, EnableCertificateManagement, EnableDefaultTagsLowPriority (default false). "+
			"Other feature gates of aws-load-balancer-controller are ignored.")
}

func (o *options) addServerFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.LeaderElection, "enable-leader-election", true, "Elect a leader, so that only one replica works on bindings.")
	flags.StringVar(&o.LeaderElectionID, "leader-election-id", command.DefaultLease,
		"Name of the lease. The default is aws-load-balancer-controller's, so that only one of the two can lead in a namespace; "+
			"with --beside it is "+ownership.BesideLease+".")
	flags.StringVar(&o.LeaderElectionNamespace, "leader-election-namespace", "", "Namespace of the lease. Default: the pod's own.")
	flags.IntVar(&o.WebhookPort, "webhook-bind-port", 9443, "Port of the webhook server.")
	o.Certificates.addFlags(flags)
	flags.StringVar(&o.MetricsAddr, "metrics-bind-addr", defaultMetricsAddr, "Address of the metrics server; 0 disables it.")
	flags.StringVar(&o.HealthProbeAddr, "health-probe-bind-addr", ":61779", "Address of /healthz and /readyz.")
	flags.DurationVar(&o.ShutdownDelay, "shutdown-delay", 10*time.Second,
		"How long to keep working after SIGTERM, because API servers keep their webhook connections to a terminating pod. "+
			"The pod's grace period must be about 15s longer.")
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", command.KubeconfigHelp)
	flags.StringVar(&o.LogLevel, "log-level", "info", "info or debug.")
}

// validate returns all faults at once, but for those that complete has found.
func (o *options) validate() (faults []error) {
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	fault(o.Beside && o.LeaderElectionID == command.DefaultLease,
		"--leader-election-id=%s: with --beside, aws-load-balancer-controller holds that lease: set another name", o.LeaderElectionID)
	fault(o.Beside && len(o.WatchNamespaces) > 0, "--beside and --watch-namespace=%s exclude each other: bindings of other namespaces may "+
		"have the same target group, and must be seen", strings.Join(o.WatchNamespaces, ","))
	fault(o.Networking.Quota < 1, "--security-group-rule-quota=%d: must be 1 or more", o.Networking.Quota)
	fault(o.OpenIncumbentGates && !o.Beside, "--open-incumbent-gates needs --beside")
	fault(!validDelay(o.Termination.ALB), "--termination-delay-alb=%s: must be 0 to %s", o.Termination.ALB, pods.MaxTerminationDelay)
	fault(!validDelay(o.Termination.NLB), "--termination-delay-nlb=%s: must be 0 to %s", o.Termination.NLB, pods.MaxTerminationDelay)
	fault(!validDelay(o.Policy.Lead.ALB), "--deregistration-lead-alb=%s: must be 0 to %s", o.Policy.Lead.ALB, pods.MaxTerminationDelay)
	fault(!validDelay(o.Policy.Lead.NLB), "--deregistration-lead-nlb=%s: must be 0 to %s", o.Policy.Lead.NLB, pods.MaxTerminationDelay)
	fault(o.Policy.MaxTargets < 0, "--max-targets-per-target-group=%d: must be 0 or more", o.Policy.MaxTargets)
	fault(o.Policy.MinReadyPercent < 0 || o.Policy.MinReadyPercent > 100, "--min-ready-percent=%d: must be 0 to 100", o.Policy.MinReadyPercent)
	fault(o.Policy.ReplacementTimeout < 0, "--replacement-timeout=%s: must be 0 or more", o.Policy.ReplacementTimeout)
	fault(!slices.Contains([]string{"ready", "wait"}, o.Unattached), "--unattached-target-group=%s: must be ready or wait", o.Unattached)
	fault(o.Policy.ReadinessTimeout < 0, "--readiness-timeout=%s: must be 0 or more", o.Policy.ReadinessTimeout)
	fault(o.SyncPeriod != 0 && o.SyncPeriod < minSyncPeriod, "--sync-period=%s: must be %s or more, or 0", o.SyncPeriod, minSyncPeriod)
	fault(o.DriftInterval < minDriftInterval, "--drift-interval=%s: must be %s or more", o.DriftInterval, minDriftInterval)
	fault(o.MaxConcurrentReconciles < 1, "--targetgroupbinding-max-concurrent-reconciles=%d: must be 1 or more", o.MaxConcurrentReconciles)
	fault(o.MaxBackoff < minMaxBackoff, "--targetgroupbinding-max-exponential-backoff-delay=%s: must be %s or more",
		o.MaxBackoff, minMaxBackoff)
	fault(o.ShutdownDelay < 0, "--shutdown-delay=%s: must be 0 or more", o.ShutdownDelay)
	fault(o.WebhookPort < 1 || o.WebhookPort > 65535, "--webhook-bind-port=%d: must be 1 to 65535", o.WebhookPort)
	fault(!slices.Contains([]string{"info", "debug"}, o.LogLevel), "--log-level=%s: must be info or debug", o.LogLevel)
	faults = append(faults, o.validateNamespaces()...)
	faults = append(faults, o.validateNames()...)
	faults = append(faults, o.Consent.validate(o.ClusterName)...)
	faults = append(faults, o.Certificates.validate()...)
	faults = append(faults, o.Provision.validate(o.Beside)...)
	return append(faults, o.validateAWS()...)
}

// validateNames returns the faults of names of Kubernetes objects: with a wrong one, a replica would never lead.
func (o *options) validateNames() (faults []error) {
	if o.LeaderElection && len(validation.IsDNS1123Subdomain(o.LeaderElectionID)) > 0 {
		faults = append(faults, fmt.Errorf("--leader-election-id=%s: must be the name of a lease, as targetgate-leader", o.LeaderElectionID))
	}
	if o.LeaderElectionNamespace != "" && len(validation.IsDNS1123Label(o.LeaderElectionNamespace)) > 0 {
		faults = append(faults, fmt.Errorf("--leader-election-namespace=%s: must be the name of a namespace, as targetgate-system",
			o.LeaderElectionNamespace))
	}
	return faults
}

// mode is what --beside stands for.
func (o *options) mode() ownership.Mode {
	if o.Beside {
		return ownership.Beside
	}
	return ownership.Alone
}

const (
	// minSyncPeriod keeps resyncs of the caches, of which each looks at every pod, from taking all of the CPU.
	minSyncPeriod = 10 * time.Second
	// minMaxBackoff keeps passes that fail at the API server from being repeated without a pause.
	minMaxBackoff = time.Second
	// minDriftInterval keeps idle target groups from using up the AWS budget.
	minDriftInterval = 10 * time.Second
)

func validDelay(d time.Duration) bool { return d >= 0 && d <= pods.MaxTerminationDelay }

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	clientevents "k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/balancers"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/orphans"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/secrets"
	"github.com/targetgate/targetgate/balancers/shared"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/targets/consent"
)

// provisionOptions say which load balancers are created for Ingresses. Names, meanings and defaults are the incumbent's, apart from
// Enabled, DriftInterval, SettleTime and OrphanGrace.
type provisionOptions struct {
	Enabled       bool
	Class         string
	Workers       int
	DriftInterval time.Duration
	SettleTime    time.Duration
	OrphanGrace   time.Duration
	// Switches hold in the webhook and in each pass.
	Switches membership.Switches
	// SecretsLabel is key=value of Secrets that may be read; "" for all.
	SecretsLabel string
	Ingress      input.Options

	names []string // of these flags, apart from --provision
}

func (o *provisionOptions) addFlags(all *pflag.FlagSet) {
	all.BoolVar(&o.Enabled, "provision", false,
		"Create Application Load Balancers for Ingresses. All flags from here to --tolerate-non-existent-backend-service need it.")
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	i := &o.Ingress
	*i = input.DefaultOptions("", "")
	flags.StringVar(&o.Class, "ingress-class", "alb",
		"Value of the annotation kubernetes.io/ingress.class of Ingresses that targetgate manages. "+
			"If empty, those without any class are managed, too.")
	addSwitches(flags, &o.Switches)
	flags.StringVar(&i.DefaultScheme, "default-load-balancer-scheme", i.DefaultScheme,
		"Scheme of load balancers whose Ingresses set none: internal or internet-facing.")
	flags.StringVar(&i.DefaultTargetType, "default-target-type", i.DefaultTargetType,
		"Target type where nothing else sets one: instance or ip.")
	flags.StringVar(&i.DefaultSSLPolicy, "default-ssl-policy", i.DefaultSSLPolicy, "Security policy of HTTPS listeners that set none.")
	flags.StringToStringVar(&i.DefaultTags, "default-tags", nil, "Tags of all that is made, key=value,...")
	flags.StringSliceVar(&i.ExternalTags, "external-managed-tags", nil, "Keys of tags that others write: they are left alone.")
	flags.BoolVar(&i.BackendSecurityGroups, "enable-backend-security-group", i.BackendSecurityGroups,
		"Attach one more security group to load balancers, shared by all of them, so that targets can accept traffic from it.")
	flags.StringVar(&i.BackendSecurityGroup, "backend-security-group", "", "ID of that security group. Default: one is made.")
	flags.BoolVar(&i.ManageBackendRules, "enable-manage-backend-security-group-rules", false,
		"Add rules that let load balancers reach their targets even if an Ingress sets the load balancer's security groups. "+
			"Needs --enable-backend-security-group.")
	flags.BoolVar(&i.TolerateMissingService, "tolerate-non-existent-backend-service", i.TolerateMissingService,
		"Answer 503 for a Service that does not exist. Otherwise its Ingress stays as it was.")
	flags.BoolVar(&i.TolerateMissingAction, "tolerate-non-existent-backend-action", i.TolerateMissingAction,
		"Answer 503 for an actions annotation that does not exist. Otherwise its Ingress stays as it was.")
	flags.StringSliceVar(&i.AllowedCAs, "allowed-certificate-authority-arns", nil,
		"ARNs of private certificate authorities: only certificates of these are found by host. Default: all certificates are.")
	flags.StringVar(&i.DefaultCA, "default-pca-arn", "",
		"ARN of the private certificate authority of certificates that are issued for Ingresses with the annotation create-acm-cert. "+
			"Default: Amazon issues them. Needs the feature gate EnableCertificateManagement.")
	flags.BoolVar(&i.WAFv2, "enable-wafv2", i.WAFv2, "Associate load balancers with AWS WAF web ACLs.")
	flags.BoolVar(&i.WAFClassic, "enable-waf", i.WAFClassic,
		"Associate load balancers with web ACLs of AWS WAF Classic, which AWS has retired.")
	flags.BoolVar(&i.AddZones, "add-zones", false,
		"Add subnets in zones that a load balancer is not in yet, when they are found by their tags. None is taken away. "+
			"Default: an event names them.")
	flags.BoolVar(&i.ResetAttributes, "reset-attributes", false,
		"Set every attribute of load balancers, listeners and target groups that no annotation and no IngressClassParams names to AWS's "+
			"default, also what others have set, such as access logs. Deletion protection stays. Default: all stay as they are.")
	flags.BoolVar(&i.Shield, "enable-shield", i.Shield, "Have AWS Shield Advanced protect load balancers.")
	flags.StringVar(&o.SecretsLabel, "required-secrets-label", "",
		"Label, key=value, that a Secret for logins must have to be read. Default: none is needed. Only Secrets that Ingresses name are read.")
	addQuotas(flags, &i.Limits)
	flags.IntVar(&o.Workers, "ingress-max-concurrent-reconciles", balancers.DefaultConcurrentReconciles,
		"Maximum groups of Ingresses of one namespace reconciled in parallel. One more of another namespace can be.")
	flags.DurationVar(&o.DriftInterval, "ingress-drift-interval", time.Hour,
		"How often to compare load balancers with their Ingresses when nothing has changed.")
	flags.DurationVar(&o.OrphanGrace, "orphan-grace", orphans.DefaultGrace,
		"How long a load balancer that no Ingress belongs to or names must have been without before it is deleted. "+
			"0 keeps it. One whose last Ingress this process has seen go is deleted at once.")
	flags.DurationVar(&o.SettleTime, "load-balancer-settle-time", balancers.DefaultSettleTime,
		"How long a load balancer that was replaced, or that an Ingress has left, keeps serving after its name has left the status, "+
			"so that DNS records and clients can follow.")
	flags.VisitAll(func(f *pflag.Flag) {
		o.names = append(o.names, f.Name)
		all.AddFlag(f)
	})
}

func addSwitches(flags *pflag.FlagSet, switches *membership.Switches) {
	flags.BoolVar(&switches.ForbidClassAnnotation, "disable-ingress-class-annotation", false,
		"Refuse new uses of the annotation kubernetes.io/ingress.class. An Ingress that has it all the same is not served.")
	flags.BoolVar(&switches.ForbidGroupName, "disable-ingress-group-name-annotation", false,
		"Refuse new uses of the annotation alb.ingress.kubernetes.io/group.name. An Ingress that has it all the same is not served.")
	flags.BoolVar(&switches.IgnoreClassAnnotation, "ignore-ingress-class-annotation", false,
		"Ignore the annotation kubernetes.io/ingress.class: spec.ingressClassName, or the default IngressClass, decides alone. "+
			"Ingresses served by their annotation stay as they are until they set spec.ingressClassName.")
}

func addQuotas(flags *pflag.FlagSet, limits *parts.Limits) {
	flags.IntVar(&limits.Rules, "load-balancer-rule-quota", limits.Rules,
		"How many rules AWS lets a load balancer have. Rules beyond it are not added, and an event says so.")
	flags.IntVar(&limits.Certificates, "load-balancer-certificate-quota", limits.Certificates,
		"How many certificates AWS lets a load balancer have. An Ingress that goes beyond it stays as it was, and an event says so.")
	flags.IntVar(&limits.FrontTargets, "frontend-nlb-target-quota", limits.FrontTargets,
		"How many targets AWS lets a Network Load Balancer have. The one behind counts as 50 a port, or 100 with cross-zone load balancing.")
}

// complete adds what other flags say. It returns the flags that were set and have no effect.
func (o *provisionOptions) complete(
	flags *pflag.FlagSet, cluster string, unrestrictedRules bool, mode consent.Mode,
) (ignored []string) {
	o.Ingress.Cluster, o.Ingress.UnrestrictedRules = cluster, unrestrictedRules
	if mode.Asks() {
		o.Ingress.Consent = mode
	}
	if o.Enabled {
		return nil
	}
	for _, name := range o.names {
		if flags.Changed(name) {
			ignored = append(ignored, name)
		}
	}
	return ignored
}

var securityGroupID = regexp.MustCompile(`^sg-[0-9a-f]+$`)

// validate returns all faults.
func (o *provisionOptions) validate(beside bool) (faults []error) {
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	i := &o.Ingress
	fault(o.Enabled && beside, "--provision and --beside exclude each other: aws-load-balancer-controller makes the load balancers there")
	fault(!slices.Contains([]string{"internal", "internet-facing"}, i.DefaultScheme),
		"--default-load-balancer-scheme=%s: must be internal or internet-facing", i.DefaultScheme)
	fault(!slices.Contains([]string{"instance", "ip"}, i.DefaultTargetType),
		"--default-target-type=%s: must be instance or ip", i.DefaultTargetType)
	fault(i.BackendSecurityGroup != "" && !securityGroupID.MatchString(i.BackendSecurityGroup),
		"--backend-security-group=%s: must be an ID such as sg-0123456789abcdef0", i.BackendSecurityGroup)
	fault(i.DefaultCA != "" && annotation.CheckCA(i.DefaultCA) != nil, "--default-pca-arn=%s: %v", i.DefaultCA,
		annotation.CheckCA(i.DefaultCA))
	fault(i.ManageBackendRules && !i.BackendSecurityGroups,
		"--enable-manage-backend-security-group-rules needs --enable-backend-security-group")
	if o.SecretsLabel != "" {
		set, err := labels.ConvertSelectorToLabelsMap(o.SecretsLabel)
		fault(err != nil || len(set) != 1, "--required-secrets-label=%s: must be one label, key=value", o.SecretsLabel)
	}
	fault(o.Workers < 1, "--ingress-max-concurrent-reconciles=%d: must be 1 or more", o.Workers)
	fault(i.Limits.Rules < 1, "--load-balancer-rule-quota=%d: must be 1 or more", i.Limits.Rules)
	fault(i.Limits.Certificates < 1, "--load-balancer-certificate-quota=%d: must be 1 or more", i.Limits.Certificates)
	fault(i.Limits.FrontTargets < 100, "--frontend-nlb-target-quota=%d: must be 100 or more", i.Limits.FrontTargets)
	fault(o.DriftInterval < minDriftInterval, "--ingress-drift-interval=%s: must be %s or more", o.DriftInterval, minDriftInterval)
	fault(o.OrphanGrace < 0, "--orphan-grace=%s: must be 0 or more", o.OrphanGrace)
	fault(o.SettleTime < 0, "--load-balancer-settle-time=%s: must be 0 or more", o.SettleTime)
	for _, key := range slices.Sorted(maps.Keys(i.DefaultTags)) {
		fault(stack.Ingresses.Tracks(key), "--default-tags: %s is a tag by which load balancers are found again: set another key", key)
		fault(slices.Contains(i.ExternalTags, key), "--default-tags: %s is in --external-managed-tags, too: list it in one of them", key)
	}
	for _, key := range i.ExternalTags {
		fault(stack.Ingresses.Tracks(key), "--external-managed-tags: %s is a tag by which load balancers are found again", key)
	}
	return faults
}

// featureGate sets one of the incumbent's. It reports whether the gate has an effect.
func (o *provisionOptions) featureGate(name string, on bool) bool {
	gates := map[string]*bool{
		"ListenerRulesTagging":          &o.Ingress.TagListenersAndRules,
		"SubnetsClusterTagCheck":        &o.Ingress.CheckClusterTag,
		"SubnetDiscoveryByReachability": &o.Ingress.ByReachability,
		"ALBSingleSubnet":               &o.Ingress.SingleSubnet,
		"LBCapacityReservation":         &o.Ingress.Capacity,
		"EnableDefaultTagsLowPriority":  &o.Ingress.DefaultTagsLast,
		"EnableCertificateManagement":   &o.Ingress.IssueCertificates,
	}
	if gate, known := gates[name]; known && o.Enabled {
		*gate = on
		return true
	}
	return false
}

// The RBAC of provisioning is in config/provision: without --provision none of it is needed.

// setUpProvisioning adds the controller that creates load balancers for Ingresses, if it is asked for.
func setUpProvisioning(ctx context.Context, opts *options, mgr ctrl.Manager, aws *aws, recorder clientevents.EventRecorder) error {
	o := &opts.Provision
	if !o.Enabled {
		return nil
	}
	vpc, err := aws.ownVPC(ctx)
	if err != nil {
		return err
	}
	o.Ingress.VPC = vpc
	calls := newProvisionCalls(aws)
	view, answerer := newView(opts, calls), newAnswerer(opts, calls)
	reconciler, ingresses := newReconciler(opts, view, answerer, mgr.GetClient())
	reconciler.Recorder = recorder
	clientset, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return fmt.Errorf("making the client for Secrets: %w", err)
	}
	watcher := &secrets.Watcher{Client: clientset, Label: o.SecretsLabel}
	ingresses.Secrets, reconciler.SecretChanges = watcher, watcher.Start
	if len(opts.WatchNamespaces) == 0 {
		reconciler.Stacks = view
	} else {
		reconciler.Fresh = view.Fresh
	}
	if answerer.Issuer != nil {
		reconciler.Issuer = answerer.Issuer
	}
	reconciler.Applier = newApplier(opts, aws, calls, view, mgr.GetClient())
	if reconciler.Stacks != nil { // else Ingresses that are not seen may need it
		reconciler.Shared = shared.New(shared.Options{
			Client: reconciler.Client, View: view, Applier: reconciler.Applier, Clock: reconciler.Clock, Cluster: o.Ingress.Cluster,
			Held: ingresses.Held, Given: o.Ingress.BackendSecurityGroup, Interval: o.DriftInterval,
		})
	}
	return reconciler.SetupWithManager(mgr)
}

func (o *provisionOptions) planOptions() plan.Options {
	return plan.Options{
		Rules: o.Ingress.Limits.Rules, Certificates: o.Ingress.Limits.Certificates, TargetGroups: o.Ingress.Limits.TargetGroups,
		FrontTargets: o.Ingress.Limits.FrontTargets,
		// Owners of target groups set the tag of consent by hand, also on those that we make.
		KeepTag: func(key string) bool { return key == consent.TagKey || slices.Contains(o.Ingress.ExternalTags, key) },
	}
}

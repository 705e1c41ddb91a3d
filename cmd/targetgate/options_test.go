// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var minimal = []string{"--cluster-name=prod"}

// The defaults are the incumbent's but for the two that compat promises otherwise.
func TestParseOptionsDefaults(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	opts, err := parseOptions(minimal)
	if err != nil {
		t.Fatal(err)
	}
	type view struct {
		retries, workers, port     int
		backoff, sync, alb, nlb    time.Duration
		gates, leader              bool
		id, metrics, probes, level string
	}
	got := view{
		opts.MaxRetries, opts.MaxConcurrentReconciles, opts.WebhookPort, opts.MaxBackoff, opts.SyncPeriod, opts.Termination.ALB, opts.Termination.NLB,
		opts.InjectGates, opts.LeaderElection, opts.LeaderElectionID, opts.MetricsAddr, opts.HealthProbeAddr, opts.LogLevel,
	}
	want := view{
		10, 16, 9443, 30 * time.Second, 10 * time.Hour, 30 * time.Second, 210 * time.Second, true, true, "aws-load-balancer-controller-leader", ":8080", ":61779", "info",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(view{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestParseOptionsStartsWithArgumentsOfTheIncumbent(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	opts, err := parseOptions(append(minimal,
		"--ingress-class", "alb", "--enable-shield=false", "--enable-waf", "--targetgroupbinding-requeue-duration=15s",
		"--aws-api-endpoints=Elastic Load Balancing v2=https://elb.example,EC2=http://127.0.0.1:4566",
		"--aws-api-throttle=Global Accelerator:^List=1:1,Elastic Load Balancing v2:^Describe=10:20", "--watch-namespace=shop",
		"--feature-gates=EndpointsFailOpen=false,WeightedTargetGroups=true",
		"--disable-restricted-sg-rules", "--service-target-eni-security-group-tags=role=node,tier=web",
		"--gateway-class-max-concurrent-reconciles=3", "--quic-environment-variable-name=QUIC_SERVER_ID", "--required-secrets-label=a=b",
	))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"aws-api-throttle: Global Accelerator:^List=1:1", "enable-shield", "enable-waf", "feature-gates: WeightedTargetGroups",
		"gateway-class-max-concurrent-reconciles", "ingress-class", "quic-environment-variable-name", "required-secrets-label",
		"targetgroupbinding-requeue-duration"}
	if diff := cmp.Diff(want, opts.ignoredFlags); diff != "" {
		t.Errorf("ignored flags (-want +got):\n%s", diff)
	}
	wantNetworking := networkingOptions{
		Make: true, Unrestricted: true, Quota: 60, ExtraTags: map[string]string{"role": "node", "tier": "web"},
	}
	if diff := cmp.Diff(wantNetworking, opts.Networking); diff != "" {
		t.Errorf("inbound rules (-want +got):\n%s", diff)
	}
	if opts.EndpointsFailOpen {
		t.Error("EndpointsFailOpen is on, want it off as asked for")
	}
	if len(opts.Throttle) != 1 || len(opts.Endpoints) != 2 || opts.WatchNamespaces[0] != "shop" {
		t.Errorf("throttle %v, endpoints %v, namespaces %v", opts.Throttle, opts.Endpoints, opts.WatchNamespaces)
	}
}

func TestParseOptionsNamesEveryFault(t *testing.T) {
	tests := map[string]struct {
		args []string
		want []string
	}{
		"nothing given": {want: []string{"--cluster-name is required"}},
		"several at once": {
			args: append(minimal, "--log-level=loud", "--webhook-bind-port=0", "--aws-api-throttle=Elastic Load Balancing v2:x", "--min-ready-percent=101",
				"--feature-gates=EndpointsFailOpen=maybe", "--drift-interval=1s", "--termination-delay-alb=-1s", "--termination-delay-nlb=3601s"),
			want: []string{
				"--log-level=loud: must be info or debug", "--webhook-bind-port=0: must be 1 to 65535", "--aws-api-throttle: \"Elastic Load Balancing v2:x\"",
				"--min-ready-percent=101: must be 0 to 100", "EndpointsFailOpen=maybe: must be true or false", "--drift-interval=1s: must be 10s or more",
				"--termination-delay-alb=-1s: must be 0 to 1h0m0s", "--termination-delay-nlb=1h0m1s: must be 0 to 1h0m0s",
			},
		},
		"unsupported":             {args: append(minimal, "--aws-vpc-tags=Name=prod"), want: []string{"--aws-vpc-tags=map[Name:prod] is not supported: set --aws-vpc-id"}},
		"bad URL":                 {args: append(minimal, "--aws-api-endpoints=EC2=nowhere"), want: []string{"--aws-api-endpoints: EC2=nowhere: must be a URL"}},
		"typing error":            {args: append(minimal, "--cluster-nam=x"), want: []string{"unknown flag: --cluster-nam"}},
		"no rules":                {args: append(minimal, "--security-group-rule-quota=0"), want: []string{"--security-group-rule-quota=0: must be 1 or more"}},
		"resyncs without a pause": {args: append(minimal, "--sync-period=-1s"), want: []string{"--sync-period=-1s: must be 10s or more, or 0"}},
		"resyncs with little":     {args: append(minimal, "--sync-period=9s"), want: []string{"--sync-period=9s: must be 10s or more, or 0"}},
		"retries without a pause": {args: append(minimal, "--targetgroupbinding-max-exponential-backoff-delay=1ms"), want: []string{"-delay=1ms: must be 1s or more"}},
		"a namespace of no name":  {args: append(minimal, "--watch-namespace=a,,b"), want: []string{`--watch-namespace=a,,b: must be names of namespaces, separated by commas: "" is none`}},
		"no namespace's name":     {args: append(minimal, "--watch-namespace=shop,Pay"), want: []string{`--watch-namespace=shop,Pay: must be names of namespaces, separated by commas: "Pay" is none`}},
		"separated by spaces":     {args: append(minimal, "--watch-namespace=shop pay"), want: []string{`"shop pay" is none`}},
		"a lease of no name":      {args: append(minimal, "--leader-election-id="), want: []string{"--leader-election-id=: must be the name of a lease"}},
		"a lease nowhere":         {args: append(minimal, "--leader-election-namespace=a/b"), want: []string{"--leader-election-namespace=a/b: must be the name of a namespace"}},
		"no client":               {args: append(minimal, "--kube-ca-pem-filepath=ca.pem", "--kube-client-names=,"), want: []string{"--kube-client-names: list at least one name"}},
		"secret paths of files":   {args: append(minimal, "--webhook-secret-paths", "--webhook-cert-dir=/certs"), want: []string{"it would serve /certs/tls.crt"}},
		"their lease": {
			args: append(minimal, "--beside", "--leader-election-id=aws-load-balancer-controller-leader"),
			want: []string{"--leader-election-id=aws-load-balancer-controller-leader: with --beside"},
		},
		"beside, with half a view": {
			args: append(minimal, "--beside", "--watch-namespace=shop,web"),
			want: []string{"--beside and --watch-namespace=shop,web exclude each other: bindings of other namespaces may have the same target group"},
		},
		"others' gates, alone": {args: append(minimal, "--open-incumbent-gates"), want: []string{"--open-incumbent-gates needs --beside"}},
		"stray word":           {args: append(minimal, "start"), want: []string{`unexpected argument "start"`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parseOptions(tc.args)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestParseOptionsNamesFaultsInOneOrder(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	var want []string
	for _, name := range []string{"A", "B", "C", "D"} {
		want = append(want, fmt.Sprintf("--aws-api-endpoints: %s=x: must be a URL such as https://host", name))
	}
	for _, name := range []string{"E", "F", "G", "H"} {
		want = append(want, fmt.Sprintf("--feature-gates: %s=x: must be true or false", name))
	}
	args := append(minimal, "--aws-api-endpoints=B=x,D=x,A=x,C=x", "--feature-gates=F=x,H=x,E=x,G=x")
	for range 10 {
		if _, err := parseOptions(args); err == nil || err.Error() != strings.Join(want, "\n") {
			t.Fatalf("error %v, want %q", err, want)
		}
	}
}

// People write a space after a comma.
func TestParseOptionsTakesListsWithSpaces(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	args := []string{
		"--cluster-name=prod", "--watch-namespace=shop, pay", "--external-managed-tags=a, b ,", "--allowed-certificate-authority-arns= c,d,",
		"--kube-client-names=kube-apiserver, ,e",
	}
	opts, err := parseOptions(args)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := parsePlanOptions(append(args, "--all"), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []*options{opts, &planned.options} {
		got := [][]string{o.WatchNamespaces, o.Provision.Ingress.ExternalTags, o.Provision.Ingress.AllowedCAs, o.Certificates.ClientNames}
		if diff := cmp.Diff([][]string{{"shop", "pay"}, {"a", "b"}, {"c", "d"}, {"kube-apiserver", "e"}}, got); diff != "" {
			t.Errorf("lists (-want +got):\n%s", diff)
		}
	}
}

// What stops resyncs, needs no lease or watches all is no fault.
func TestParseOptionsTakesWhatSwitchesOff(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	for _, arg := range []string{"--sync-period=0", "--sync-period=10s", "--enable-leader-election=false --leader-election-id=", "--watch-namespace="} {
		if _, err := parseOptions(append(strings.Fields(arg), minimal...)); err != nil {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestParseOptionsTakesAnotherLeaseBesideTheIncumbent(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	tests := map[string]struct {
		args []string
		want string
	}{
		"alone":                   {want: "aws-load-balancer-controller-leader"},
		"beside":                  {args: []string{"--beside"}, want: "targetgate-leader"},
		"beside, with its own":    {args: []string{"--beside", "--leader-election-id=mine"}, want: "mine"},
		"alone, with another one": {args: []string{"--leader-election-id=mine"}, want: "mine"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			opts, err := parseOptions(append(minimal, tc.args...))
			if err != nil {
				t.Fatal(err)
			}
			if opts.LeaderElectionID != tc.want {
				t.Errorf("lease %q, want %q", opts.LeaderElectionID, tc.want)
			}
		})
	}
}

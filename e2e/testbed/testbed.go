// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/iam"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Options say how to put a run together. ControlPlane and Targetgate are required.
type Options struct {
	// ControlPlane is the path of the multi-call binary built from e2e/kubernetes.
	ControlPlane string
	// Targetgate is the path of the program under test.
	Targetgate string
	// Scale multiplies every time of the load balancers and the nodes: 0.1 is ten times faster. Default 1.
	Scale float64
	// Latency is added to every AWS call.
	Latency time.Duration
	// Limits are AWS's token buckets; nil are AWS's own.
	Limits *wire.Limits
	// Timings are how long load balancers take, before scaling; nil is what users and AWS report.
	Timings *state.Timings
	// Quotas are AWS's, and Delays how long what it makes and deletes takes, before scaling; nil is what AWS documents and users report.
	Quotas *state.Quotas
	Delays *state.Delays
	// Args are further flags of targetgate; see also Targetgate.RestartWith.
	Args []string
	// Values are some of the chart's, name=value. When set, what the chart installs with them is installed, instead of what config/ does,
	// without its Deployment; flags are in Args all the same. That needs Helm.
	Values []string
	// Nodes is how many nodes there are, default 3. Each is an EC2 instance that the emulator knows.
	Nodes int
	// SecurityGroups gives each node's instance a network interface with a security group (Bed.NodeSecurityGroup), so that load
	// balancers reach pods and nodes only where its inbound rules let them, and tells targetgate the VPC of the emulator. An app's
	// load balancer gets security groups by App.Balancer.
	SecurityGroups bool
	// Provisioning has targetgate make load balancers of Ingresses, with the rights and the policy that it needs for that. It goes with
	// SecurityGroups.
	Provisioning bool
	// EC2Lag is how old what EC2 shows may be, before scaling; nil is up to two seconds.
	EC2Lag *region.Range
	// Progress, when set, is told what is being started.
	Progress func(string)
}

// Bed is a running test bed.
type Bed struct {
	Cluster *cluster.Cluster
	AWS     *emulator.Emulator
	Kubelet *kubelet.Kubelet
	Client  client.Client // an administrator's, without a cache

	Targetgate *Targetgate

	// NodeSecurityGroup is the id of the security group of all nodes, with Options.SecurityGroups.
	NodeSecurityGroup string

	options     Options
	clusterName string
	first       *Bed // the cluster whose AWS this one uses, nil for its own

	ports    ports         // of the first targetgate
	replicas []*Targetgate // all others
	root     string        // of the repository
	dir      string        // for files of the run, removed by Close

	webhooks    string // manifest of the webhook configurations, empty for that in config/
	webhookPort int    // that they lead to

	reserving sync.Mutex     // guards addresses, which AddNode adds to
	addresses []net.Listener // reserve the nodes' pod addresses
	excused   []span         // when targetgate is refused things on purpose
}

// Start puts everything together and returns when targetgate is ready and its webhooks are called. When anything fails
// nothing is left running.
func Start(ctx context.Context, options Options) (*Bed, error) {
	if options.Scale == 0 {
		options.Scale = 1
	}
	if options.Nodes == 0 {
		options.Nodes = 3
	}
	if options.Progress == nil {
		options.Progress = func(string) {}
	}
	return start(ctx, &Bed{options: options, clusterName: firstCluster})
}

func start(ctx context.Context, b *Bed) (*Bed, error) {
	if err := b.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the test bed: %w", err), b.Close())
	}
	return b, nil
}

func (b *Bed) start(ctx context.Context) error {
	steps := []struct {
		title string
		run   func(context.Context) error
	}{
		{"temporary folder for all data", b.makeFolders},
		{"control plane (etcd, kube-apiserver, kube-controller-manager, kube-scheduler)", b.startCluster},
		{"custom resource, permissions", b.install},
		{"load balancer emulator", b.startAWS},
		{"nodes", b.startNodes},
		{"webhook configuration", b.installWebhooks},
		{"targetgate", b.startTargetgate},
		{"webhooks", b.awaitWebhooks},
	}
	for _, step := range steps {
		b.options.Progress(step.title)
		if err := step.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bed) makeFolders(context.Context) (err error) {
	if b.root, err = repositoryRoot(); err != nil {
		return err
	}
	b.dir, err = os.MkdirTemp("", "targetgate-e2e-")
	return err
}

// repositoryRoot is the folder above the working directory that has the go.mod.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("finding the repository: no go.mod here or above")
}

func (b *Bed) startCluster(ctx context.Context) (err error) {
	ctrllog.SetLogger(logr.Discard()) // or the client complains, half a minute after the program's start
	b.Cluster, err = cluster.Start(ctx, cluster.Options{Binary: b.options.ControlPlane, Audited: user})
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme), ingressapi.AddToScheme(scheme)); err != nil {
		return err
	}
	b.Client, err = client.New(b.Cluster.AdminConfig(), client.Options{Scheme: scheme})
	return err
}

func (b *Bed) startAWS(ctx context.Context) error {
	if b.first != nil {
		return b.joinAWS()
	}
	policies, err := b.policies()
	if err != nil {
		return err
	}
	b.AWS, err = emulator.Start(context.WithoutCancel(ctx), emulator.Options{
		Cloud: cloud.Options{
			Region: region.Options{Scale: b.options.Scale},
			EC2:    ec2.Options{Lag: b.options.EC2Lag},
			ELB:    state.Options{Timings: b.options.Timings, Quotas: b.options.Quotas, Delays: b.options.Delays},
		},
		Wire: wire.Options{
			Latency: b.options.Latency, Limits: b.options.Limits, Policies: map[string][]iam.Policy{b.AccessKey(): policies},
			Roles: []wire.Role{{ARN: "arn:aws:iam::210987654321:role/shared", ExternalID: "handshake", SessionName: "e2e+*"}},
		},
	})
	return err
}

func (b *Bed) startNodes(ctx context.Context) (err error) {
	nodes := kubelet.NumberedNodes(b.options.Nodes, "eu-west-1a", "eu-west-1b", "eu-west-1c")
	if err := b.reserve(nodes); err != nil {
		return err
	}
	if b.first != nil {
		nameInstances(nodes)
	}
	config, err := b.Cluster.UserConfig(nodesUser, nodesGroup)
	if err != nil {
		return err
	}
	b.Kubelet, err = kubelet.Start(context.WithoutCancel(ctx), kubelet.Options{
		Config: config,
		Nodes:  nodes,
		Scale:  b.options.Scale,
	})
	if err != nil {
		return err
	}
	if b.options.SecurityGroups && b.first == nil {
		if err := b.createNodeSecurityGroup(); err != nil {
			return err
		}
	}
	return b.LaunchInstances(ctx)
}

// Close ends everything, in the order in which it depends on each other. The error tells what ended badly before:
// a data race in targetgate, or a call for which it has no permission in Kubernetes or AWS.
func (b *Bed) Close() error {
	var failures []error
	if b.Targetgate != nil {
		failures = append(failures, b.Targetgate.close())
	}
	for _, replica := range b.replicas {
		failures = append(failures, replica.close())
	}
	if b.Kubelet != nil {
		b.Kubelet.Close()
	}
	for _, reservation := range b.addresses {
		failures = append(failures, reservation.Close())
	}
	if b.AWS != nil {
		failures = append(failures, b.unauthorized())
		if b.first == nil {
			failures = append(failures, b.AWS.Close())
		}
	}
	if b.Cluster != nil {
		failures = append(failures, b.refusals(), b.Cluster.Stop())
	}
	if b.dir != "" {
		failures = append(failures, os.RemoveAll(b.dir))
	}
	return errors.Join(failures...)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net"
	"path/filepath"
	"strconv"
)

// The names of the components, which are also what the multi-call binary is called to be one.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
)

const (
	// serviceRange holds the cluster IPs. It must not meet 10.0.0.0/8, which belongs to the pods.
	serviceRange = "172.20.0.0/16"
	// serviceOfAPIServer is the first address of serviceRange, which Kubernetes gives to its own service.
	serviceOfAPIServer = "172.20.0.1"

	// The request rate of controllers and scheduler; their default is 20 and 50 a second.
	clientQPS, clientBurst = "500", "1000"
)

// environment has the components spend less of a shared machine on collecting garbage.
var environment = []string{"GOGC=200"}

// layout knows where everything of one cluster is: its files, all below dir, and its ports.
type layout struct {
	dir               string // absolute
	etcdPort, apiPort int
}

func (l layout) path(elements ...string) string {
	return filepath.Join(append([]string{l.dir}, elements...)...)
}

func (l layout) logPath(component string) string        { return l.path("logs", component+".log") }
func (l layout) certificatePath(owner string) string    { return l.path("pki", owner+".crt") }
func (l layout) keyPath(owner string) string            { return l.path("pki", owner+".key") }
func (l layout) kubeconfigPath(component string) string { return l.path(component + ".kubeconfig") }
func (l layout) etcdURL() string                        { return "http://" + address(l.etcdPort) }
func (l layout) apiServerURL() string                   { return "https://" + address(l.apiPort) }

func address(port int) string {
	return net.JoinHostPort(loopback, strconv.Itoa(port))
}

// args returns the flags of a component.
func (l layout) args(component string) []string {
	switch component {
	case etcd:
		return l.etcdArgs()
	case apiServer:
		return l.apiServerArgs()
	case controllerManager:
		return l.controllerManagerArgs()
	default:
		return l.schedulerArgs()
	}
}

// etcdArgs: there is one member. Nobody connects to its peer port, whichever that is, and it always wins its election,
// so it need not wait the usual second for another candidate. Each heartbeat wakes it. It does not wait for the disk either.
func (l layout) etcdArgs() []string {
	return []string{
		"--data-dir=" + l.path("etcd"),
		"--listen-client-urls=" + l.etcdURL(),
		"--advertise-client-urls=" + l.etcdURL(),
		"--listen-peer-urls=http://" + address(0),
		"--heartbeat-interval=50", // milliseconds, as the next one
		"--election-timeout=250",
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

// apiServerArgs keeps the default admission plugins: webhooks are called, service accounts are demanded and their
// tokens mounted. The endpoints of the kubernetes service are not published, since slices refuse loopback addresses.
func (l layout) apiServerArgs() []string {
	return []string{
		"--etcd-servers=" + l.etcdURL(),
		"--bind-address=" + loopback,
		"--advertise-address=" + loopback,
		"--endpoint-reconciler-type=none",
		"--secure-port=" + strconv.Itoa(l.apiPort),
		"--tls-cert-file=" + l.certificatePath(apiServer),
		"--tls-private-key-file=" + l.keyPath(apiServer),
		"--client-ca-file=" + l.certificatePath(authorityFile),
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--service-cluster-ip-range=" + serviceRange,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + l.path("pki", serviceAccountPublicFile),
		"--service-account-signing-key-file=" + l.keyPath(serviceAccountFile),
	}
}

// controllerManagerArgs: each controller is its own service account, as in a real cluster, so that admission and audit
// see the usual names.
func (l layout) controllerManagerArgs() []string {
	return append(l.clientArgs(controllerManager),
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+l.keyPath(serviceAccountFile),
		"--root-ca-file="+l.certificatePath(authorityFile),
		"--service-cluster-ip-range="+serviceRange,
	)
}

func (l layout) schedulerArgs() []string {
	return l.clientArgs(scheduler)
}

// clientArgs is what controller manager and scheduler have in common. They serve nothing: nobody asks them.
func (l layout) clientArgs(component string) []string {
	kubeconfig := l.kubeconfigPath(component)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=" + clientQPS,
		"--kube-api-burst=" + clientBurst,
	}
}

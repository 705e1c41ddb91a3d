// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/targetgate/targetgate/e2e/process"
)

const (
	// startTimeout ends a start that goes nowhere. Idle, it takes some 5 s; the machine may be busy.
	startTimeout = 2 * time.Minute
	// stopGrace is how long a component may take to end by itself. Its data are not worth more.
	stopGrace = 2 * time.Second
)

// Options say how to run a cluster.
type Options struct {
	// Binary is the multi-call binary built from e2e/kubernetes. Required.
	Binary string
	// Dir gets state, certificates, kubeconfigs and logs, and is kept; it must not hold another cluster's. When it is
	// empty, a temporary folder is used, and removed by Stop.
	Dir string
	// ControllerManagerArgs are further flags of kube-controller-manager.
	ControllerManagerArgs []string
	// Audited is the user whose requests the API server writes down for Requests; nobody's when it is empty.
	Audited string
	// Log is told what is started and stopped. The zero value discards.
	Log logr.Logger
}

// Cluster is a running control plane. Its methods may be called from several goroutines.
type Cluster struct {
	layout
	binary    string
	extra     map[string][]string // further flags by component
	temporary bool                // remove dir in the end
	log       logr.Logger
	launcher  *process.Launcher
	ca        *authority
	admin     *rest.Config
	client    kubernetes.Interface // as administrator

	mu      sync.Mutex
	running map[string]*process.Process // by component; those that are meant to run
	stopped bool

	apiServerStopped time.Time // zero when it was not, or when that has been dealt with
}

// Start brings up a control plane and returns when its API server is ready and its controllers have begun to work: pods
// may be created in the default namespace. The context bounds the start only; the processes run until Stop. When
// anything fails, nothing is left running, and the error of a component that died ends with the end of its log.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c, err := prepare(options)
	if err != nil {
		return nil, fmt.Errorf("preparing the control plane: %w", err)
	}
	if err := c.bringUp(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), c.Stop())
	}
	return c, nil
}

// bringUp starts a component only when what it needs is there. It would wait for that by itself, but back off, and in
// the end take longer.
func (c *Cluster) bringUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.launch(etcd); err != nil {
		return err
	}
	if err := c.await(ctx, "etcd", c.etcdReady, etcd); err != nil {
		return err
	}
	if err := c.launch(apiServer); err != nil {
		return err
	}
	if err := c.await(ctx, "the API server", c.apiServerReady, etcd, apiServer); err != nil {
		return err
	}
	if err := c.launch(controllerManager, scheduler); err != nil {
		return err
	}
	return c.await(ctx, "the controllers", c.controllersWork, etcd, apiServer, controllerManager, scheduler)
}

// launch starts the components that are not running.
func (c *Cluster) launch(components ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return errors.New("the cluster has been stopped")
	}
	for _, name := range components {
		if c.running[name] != nil {
			continue
		}
		p, err := c.launcher.Start(process.Command{
			Name: name, Binary: c.binary, Args: append(c.args(name), c.extra[name]...), Env: environment, Dir: c.dir, LogPath: c.logPath(name),
		})
		if err != nil {
			return err
		}
		c.running[name] = p
		c.log.Info("Started", "component", name, "pid", p.PID(), "logFile", p.LogPath)
	}
	return nil
}

func (c *Cluster) etcdReady(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.etcdURL()+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd answers %s", response.Status)
	}
	return nil
}

func (c *Cluster) apiServerReady(ctx context.Context) error {
	return c.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// controllersWork looks for something that needs them all: the API server makes the default namespace, and one of the
// controllers then makes the service account that pods in it need.
func (c *Cluster) controllersWork(ctx context.Context) error {
	_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}

// Check returns nil when every component runs that is meant to, and otherwise tells of each that does not, with the end
// of its log.
func (c *Cluster) Check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var failures []error
	for _, p := range c.running {
		failures = append(failures, p.Failure())
	}
	return errors.Join(failures...)
}

// Stop ends all processes, clients before servers, and removes the folder if it is a temporary one. It takes a few
// seconds at most. Once it has returned, another call does nothing.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	c.halt(controllerManager, scheduler)
	c.halt(apiServer)
	c.halt(etcd)
	c.launcher.Close()
	if !c.temporary {
		return nil
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("removing the cluster's folder: %w", err)
	}
	return nil
}

// halt stops those of the components that run, all at the same time. The lock must be held.
func (c *Cluster) halt(components ...string) {
	var group sync.WaitGroup
	for _, name := range components {
		p := c.running[name]
		if p == nil {
			continue
		}
		delete(c.running, name)
		group.Go(func() {
			p.Stop(stopGrace)
			c.log.Info("Stopped", "component", name, "outcome", p.Outcome())
		})
	}
	group.Wait()
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/kubelet/address"
	"github.com/targetgate/targetgate/e2e/kubelet/app"
	"github.com/targetgate/targetgate/e2e/kubelet/probe"
)

// container runs the processes of one container, one after the other.
type container struct {
	pod     *pod
	spec    corev1.Container
	sidecar bool // an init container that goes on running
	host    string
	app     *app.App
	backoff backoff
	done    chan struct{} // closed when no process runs and none will

	mu       sync.Mutex
	process  *app.Process
	halted   chan struct{} // closed: no more restarts
	state    corev1.ContainerState
	last     corev1.ContainerState
	restarts int32
	ready    bool
}

func newContainer(p *pod, spec corev1.Container, sidecar bool) *container {
	return &container{
		pod: p, spec: spec, sidecar: sidecar, host: address.Socket(p.ip).String(), app: app.New(spec.Env),
		done: make(chan struct{}), halted: make(chan struct{}),
	}
}

// run goes from process to process until the container is halted or its restart policy says that it is done.
func (c *container) run(p *app.Process, started time.Time) {
	defer close(c.done)
	for p != nil {
		c.watch(p)
		if !c.again(p.Code()) {
			return
		}
		ran := c.pod.kubelet.unscaled(c.pod.now().Sub(started))
		c.wait(c.backoff.next(ran))
		p, started = c.start()
	}
}

// start starts a process; nil when the container was halted.
func (c *container) start() (*app.Process, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.pod.now()
	if c.isHalted() {
		c.state = c.last // back-off is over for good
		return nil, now
	}
	if c.state.Terminated != nil {
		c.last.Terminated = c.state.Terminated
	}
	if c.last.Terminated != nil {
		c.restarts++
	}
	c.process = c.app.Start(c.pod.name(), c.pod.kubelet.clock, c.addresses())
	c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: seconds(now)}}
	c.ready = c.spec.ReadinessProbe == nil
	c.pod.note(Started, c.spec.Name)
	c.pod.poke()
	return c.process, now
}

// watch probes the process until it ends.
func (c *container) watch(p *app.Process) {
	ctx, cancel := context.WithCancel(c.pod.ctx)
	var probing sync.WaitGroup
	if c.spec.ReadinessProbe != nil {
		probing.Go(func() { c.prober().Run(ctx, c.setReady) })
	}
	<-p.Exited()
	cancel()
	probing.Wait()
	c.pod.note(Exited, c.spec.Name)
	c.exited(p)
}

func (c *container) prober() *probe.Prober {
	k := c.pod.kubelet
	return &probe.Prober{Clock: k.clock, Spec: *c.spec.ReadinessProbe, Ports: c.spec.Ports, Host: c.host, Scale: k.seconds}
}

func (c *container) setReady(ready bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = ready
	c.pod.poke()
}

func (c *container) exited(p *app.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := &corev1.ContainerStateTerminated{
		ExitCode: int32(p.Code()), Reason: "Error", Message: p.Message(), FinishedAt: seconds(c.pod.now()), ContainerID: c.id(),
	}
	if p.Code() == 0 {
		ended.Reason = "Completed"
	}
	if c.state.Running != nil {
		ended.StartedAt = c.state.Running.StartedAt
	}
	c.state = corev1.ContainerState{Terminated: ended}
	c.process, c.ready = nil, false
	c.pod.poke()
}

// wait shows CrashLoopBackOff for the given time, before scaling.
func (c *container) wait(unscaled time.Duration) {
	if unscaled == 0 || c.isHalted() {
		return
	}
	c.mu.Lock()
	c.last.Terminated = c.state.Terminated
	c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason:  "CrashLoopBackOff",
		Message: fmt.Sprintf("back-off %v restarting failed container=%s pod=%s", unscaled, c.spec.Name, c.pod.fullName()),
	}}
	c.mu.Unlock()
	c.pod.poke()
	timer := c.pod.kubelet.clock.NewTimer(c.pod.kubelet.scaled(unscaled))
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-c.halted:
	}
}

// again reports whether a container that ended with this code is to start again.
func (c *container) again(code int) bool {
	if c.isHalted() {
		return false
	}
	switch c.pod.restartPolicy() {
	case corev1.RestartPolicyNever:
		return c.sidecar
	case corev1.RestartPolicyOnFailure:
		return c.sidecar || code != 0
	default:
		return true
	}
}

// halt forbids further restarts and returns the process that runs, or nil.
func (c *container) halt() *app.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.isHalted() {
		close(c.halted)
	}
	return c.process
}

func (c *container) isHalted() bool {
	select {
	case <-c.halted:
		return true
	default:
		return false
	}
}

func (c *container) addresses() []string {
	var addrs []string
	for _, port := range c.spec.Ports {
		if port.Protocol == corev1.ProtocolTCP || port.Protocol == "" {
			addrs = append(addrs, net.JoinHostPort(c.host, strconv.Itoa(int(port.ContainerPort))))
		}
	}
	return addrs
}

func (c *container) id() string {
	return fmt.Sprintf("standin://%s/%s/%d", c.pod.uid, c.spec.Name, c.restarts)
}

// status is what the kubelet reports about the container.
func (c *container) status() corev1.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: "standin://" + c.spec.Image,
		State: c.state, LastTerminationState: c.last, RestartCount: c.restarts,
		Ready: c.ready, Started: ptr.To(c.state.Running != nil), ContainerID: c.id(),
	}
}

// seconds is a time as the API keeps it.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

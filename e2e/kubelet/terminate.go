// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/e2e/kubelet/app"
)

// minShutdown is what every container gets between SIGTERM and SIGKILL, even when preStop used up the grace period.
const minShutdown = 2 * time.Second

// die starts the termination of the pod, or shortens it when something later asks for that.
func (p *pod) die(grace int64) {
	end := p.now().Add(p.kubelet.scaled(time.Duration(grace) * time.Second))
	if p.dying == nil {
		p.dying, p.grace = newDeadline(p.kubelet.clock, end), grace
		p.kubelet.work.Go(p.terminate)
		return
	}
	if grace < p.grace {
		p.grace = grace
		p.dying.shorten(end)
	}
}

// terminate shuts all containers down, the sidecars after the others and in reverse order, and says so when they are done.
func (p *pod) terminate() {
	defer close(p.stopped)
	var shutdowns sync.WaitGroup
	for _, c := range p.containers {
		shutdowns.Go(func() { c.shutDown(p.dying, nil) })
	}
	for i, c := range p.sidecars {
		before := append(append([]*container{}, p.containers...), p.sidecars[i+1:]...)
		shutdowns.Go(func() { c.shutDown(p.dying, before) })
	}
	shutdowns.Wait()
}

// shutDown runs preStop, waits for the containers that go before, sends SIGTERM and, at the deadline, SIGKILL.
func (c *container) shutDown(end *deadline, before []*container) {
	process := c.halt()
	if process == nil {
		<-c.done
		return
	}
	c.preStop(process, end)
	for _, other := range before {
		end.wait(other.done, func(deadline time.Time) time.Time { return deadline })
	}
	c.pod.note(SIGTERM, c.spec.Name)
	process.Terminate()
	if !end.wait(process.Exited(), notBefore(c.pod.now().Add(c.pod.kubelet.scaled(minShutdown)))) {
		c.pod.note(SIGKILL, c.spec.Name)
		process.Kill()
	}
	<-c.done
}

// preStop waits as long as the hook takes, but not past the deadline nor the end of the process.
func (c *container) preStop(process *app.Process, end *deadline) {
	length, found := preStop(c.spec)
	if !found {
		return
	}
	c.pod.note(PreStopStart, c.spec.Name)
	end.wait(process.Exited(), notAfter(c.pod.now().Add(c.pod.kubelet.scaled(length))))
	c.pod.note(PreStopEnd, c.spec.Name)
}

func gracePeriod(object *corev1.Pod) int64 {
	switch {
	case object.DeletionGracePeriodSeconds != nil:
		return *object.DeletionGracePeriodSeconds
	case object.Spec.TerminationGracePeriodSeconds != nil:
		return *object.Spec.TerminationGracePeriodSeconds
	default:
		return corev1.DefaultTerminationGracePeriodSeconds
	}
}

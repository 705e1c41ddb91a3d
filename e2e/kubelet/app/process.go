// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Exit codes of a process, as a container runtime reports them.
const (
	exitDone    = 0
	exitCrash   = 1
	exitUsage   = 2
	exitSigkill = 137
	exitSigterm = 143
)

// Process is one run of the app in a container: it opens sockets, serves, and ends with an exit code.
type Process struct {
	set    behaviour
	clock  clock.Clock
	listen []string // addresses
	server *http.Server
	term   chan struct{}
	killed chan int // buffered: the first code counts
	exited chan struct{}

	// valid once exited is closed
	code    int
	message string
}

// Start runs the app on the given addresses, as that of a pod of that name, until it ends by itself or is told to.
func (a *App) Start(pod string, c clock.Clock, addrs []string) *Process {
	alive, cut := context.WithCancel(context.Background())
	p := &Process{
		set: a.behaviour(), clock: c, listen: addrs,
		term: make(chan struct{}), killed: make(chan int, 1), exited: make(chan struct{}),
	}
	p.server = &http.Server{
		Handler:           &handler{app: a, pod: pod, clock: c},
		ReadHeaderTimeout: 2 * time.Minute, // longer than load balancers keep connections that carry no request, as AWS recommends
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	if a.badEnv != nil {
		p.message = a.badEnv.Error()
		p.kill(exitUsage)
	}
	a.running(p)
	go func() {
		defer close(p.exited)
		var serving sync.WaitGroup
		p.code = p.run(alive, &serving)
		a.running(nil)
		cut()
		// Errors of closing sockets say nothing: they are closed either way.
		_ = p.server.Close()
		serving.Wait()
	}()
	return p
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Code is the exit code, and Message what the process says of its end. Both are valid once Exited is closed.
func (p *Process) Code() int { return p.code }

// Message is empty if the process says nothing.
func (p *Process) Message() string { return p.message }

// Terminate is SIGTERM; to be called once.
func (p *Process) Terminate() { close(p.term) }

// Kill is SIGKILL: all connections are cut.
func (p *Process) Kill() { p.kill(exitSigkill) }

// kill ends the process with this exit code.
func (p *Process) kill(code int) {
	select {
	case p.killed <- code:
	default: // it is ending already
	}
}

// run lives the life of the process and returns its exit code.
func (p *Process) run(alive context.Context, serving *sync.WaitGroup) int {
	up := p.after(&p.set.startupDelay)
	crash, exit := p.after(p.set.crashAfter), p.after(p.set.exitAfter)
	term, drained := p.term, make(chan struct{})
	for {
		select {
		case code := <-p.killed:
			return code
		case <-crash:
			return exitCrash
		case <-exit:
			return exitDone
		case <-drained:
			return exitDone
		case <-up:
			up = nil
			if err := p.open(serving); err != nil {
				p.message = err.Error()
				return exitCrash
			}
		case <-term:
			term = nil
			switch p.set.onSigterm {
			case sigtermExit:
				return exitSigterm
			case sigtermGraceful:
				up = nil
				serving.Go(func() { p.drain(alive, drained) })
			}
		}
	}
}

// drain closes the listeners at once and lets requests in flight finish.
func (p *Process) drain(alive context.Context, drained chan<- struct{}) {
	if p.server.Shutdown(alive) == nil {
		close(drained)
	}
}

// open listens on every address and serves on them.
func (p *Process) open(serving *sync.WaitGroup) error {
	for _, addr := range p.listen {
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		serving.Go(func() { p.serve(listener) })
	}
	return nil
}

func (p *Process) serve(listener net.Listener) {
	if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		p.kill(exitCrash)
	}
}

// after returns a channel that fires once the duration has passed, or nil, which never fires, when there is none.
func (p *Process) after(d *time.Duration) <-chan time.Time {
	if d == nil {
		return nil
	}
	return p.clock.After(*d)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Launcher starts processes that die with this one, even if this one gets no chance to stop them.
//
// The kernel's signal for that (PR_SET_PDEATHSIG) is sent when the parent's thread ends, not its process, and Go ends
// threads as it sees fit. So all processes are started from one goroutine that owns its thread until close.
type Launcher struct {
	starts chan func()
}

// NewLauncher returns a launcher that is good until Close.
func NewLauncher() *Launcher {
	l := &Launcher{starts: make(chan func())}
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for start := range l.starts {
			start()
		}
	}()
	return l
}

// Close ends the launcher's thread, and with it every process that the launcher started and that still runs.
func (l *Launcher) Close() {
	close(l.starts)
}

// Command is what to run and where.
type Command struct {
	Name    string   // argv[0], which tells a multi-call binary what to be
	Binary  string   // path of the program
	Args    []string // without argv[0]
	Env     []string // name=value, besides the home directory
	Dir     string   // working directory, and home
	LogPath string   // gets the output of both kinds, after what is there already
}

// Process is a started command. It is waited for from the beginning, so it never becomes a zombie.
type Process struct {
	LogPath string

	name    string
	cmd     *exec.Cmd
	done    chan struct{} // closed when the process has ended
	outcome string        // how it ended; valid once done is closed
}

// Start runs the command. The environment is empty but for Env and the home directory, so that no variable of the caller's
// shell (etcd reads a flag from each ETCD_ one) has a say.
func (l *Launcher) Start(c Command) (*Process, error) {
	log, err := os.OpenFile(c.LogPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", c.Name, err)
	}
	defer log.Close() // the process has its own descriptor

	cmd := exec.Command(c.Binary, c.Args...)
	cmd.Args[0] = c.Name
	cmd.Dir = c.Dir
	cmd.Env = append([]string{"HOME=" + c.Dir}, c.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	// A process group of its own: Ctrl-C in a terminal reaches us, and we stop the processes in their order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}

	started := make(chan error)
	l.starts <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Name, err)
	}
	p := &Process{name: c.Name, LogPath: c.LogPath, cmd: cmd, done: make(chan struct{})}
	go p.wait()
	return p, nil
}

func (p *Process) wait() {
	p.outcome = "exit status 0"
	if err := p.cmd.Wait(); err != nil {
		p.outcome = err.Error()
	}
	close(p.done)
}

// Failure returns nil while the process runs, and once it has ended an error with the end of its log.
func (p *Process) Failure() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s has ended: %s; its log %s ends with:\n%s", p.name, p.outcome, p.LogPath, tail(p.LogPath))
	default:
		return nil
	}
}

// Stop asks the process to end, kills it when it has not ended after the grace period, and returns when it is gone.
// Doing so to an ended process changes nothing.
func (p *Process) Stop(grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	// The only failure of both signals is that the process has ended, which is what is wanted.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-timer.C:
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Kill ends the process as kill -9 does, and returns when it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only when the process has ended
	<-p.done
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Outcome is how the process ended; it waits for the end.
func (p *Process) Outcome() string {
	<-p.done
	return p.outcome
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What the process does when it is asked to stop.
const (
	sigtermGraceful = "graceful"
	sigtermExit     = "exit"
	sigtermIgnore   = "ignore"
)

// behaviour is what the env of a container asks of its app. A nil duration means never.
type behaviour struct {
	version      string
	startupDelay time.Duration
	ready        bool
	health       int
	status       int
	latency      time.Duration
	keepAlive    bool
	crashAfter   *time.Duration
	exitAfter    *time.Duration
	onSigterm    string
}

// parseBehaviour reads the env variables that steer the app; others are left alone. The error names the first bad one.
func parseBehaviour(env []corev1.EnvVar) (behaviour, error) {
	b := behaviour{ready: true, health: http.StatusOK, status: http.StatusOK, keepAlive: true, onSigterm: sigtermGraceful}
	for _, v := range env {
		if v.Value == "" {
			continue
		}
		if err := b.set(v.Name, v.Value); err != nil {
			return b, fmt.Errorf("reading env %s: %w", v.Name, err)
		}
	}
	return b, nil
}

func (b *behaviour) set(name, value string) (err error) {
	switch name {
	case "VERSION":
		b.version = value
	case "STARTUP_DELAY":
		b.startupDelay, err = time.ParseDuration(value)
	case "READY":
		b.ready, err = strconv.ParseBool(value)
	case "HEALTH_STATUS":
		b.health, err = parseStatus(value)
	case "STATUS":
		b.status, err = parseStatus(value)
	case "LATENCY":
		b.latency, err = time.ParseDuration(value)
	case "KEEP_ALIVE":
		b.keepAlive, err = strconv.ParseBool(value)
	case "CRASH_AFTER":
		b.crashAfter, err = parseOptional(value)
	case "EXIT_AFTER":
		b.exitAfter, err = parseOptional(value)
	case "ON_SIGTERM":
		b.onSigterm, err = parseSigterm(value)
	}
	return err
}

func parseStatus(value string) (int, error) {
	status, err := strconv.Atoi(value)
	if err == nil && (status < 200 || status > 599) {
		err = fmt.Errorf("no HTTP status: %d", status)
	}
	return status, err
}

func parseOptional(value string) (*time.Duration, error) {
	d, err := time.ParseDuration(value)
	return &d, err
}

func parseSigterm(value string) (string, error) {
	switch value {
	case sigtermGraceful, sigtermExit, sigtermIgnore:
		return value, nil
	}
	return "", fmt.Errorf("want graceful, exit or ignore, not %q", value)
}

// App steers and watches the program in one container of one pod, over restarts. It stays usable when the pod has gone.
// It is safe for concurrent use.
type App struct {
	badEnv error // no process of it runs for long

	mu       sync.Mutex
	set      behaviour
	process  *Process // nil while none runs
	requests int
	last     time.Time
}

// New reads the env of a container. If that cannot be read, each process ends at once with exit code 2 and says why.
func New(env []corev1.EnvVar) *App {
	set, err := parseBehaviour(env)
	return &App{set: set, badEnv: err}
}

// SetReady makes /ready answer 200 or 503.
func (a *App) SetReady(ready bool) { a.change(func(b *behaviour) { b.ready = ready }) }

// SetHealth sets the status code of /healthz.
func (a *App) SetHealth(status int) { a.change(func(b *behaviour) { b.health = status }) }

// SetStatus sets the status code of every path but /ready and /healthz.
func (a *App) SetStatus(status int) { a.change(func(b *behaviour) { b.status = status }) }

// SetLatency sets the service time of requests that come from now on.
func (a *App) SetLatency(latency time.Duration) { a.change(func(b *behaviour) { b.latency = latency }) }

// Crash ends the running process at once with exit code 1; its restart policy decides what follows. It returns false when no
// process runs.
func (a *App) Crash() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.process == nil {
		return false
	}
	a.process.kill(exitCrash)
	return true
}

// Requests returns how many requests came in over the life of the pod. Requests for /ready and /healthz, and those of the
// kubelet's and the load balancer's probes, do not count.
func (a *App) Requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

// LastRequest returns when the last request that counts came in, or the zero time.
func (a *App) LastRequest() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

func (a *App) change(edit func(*behaviour)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	edit(&a.set)
}

func (a *App) behaviour() behaviour {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.set
}

func (a *App) running(p *Process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.process = p
}

func (a *App) count(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	a.last = at
}

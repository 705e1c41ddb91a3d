// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app is what runs in containers.
//
//	app.go      the app's env, and App, by which tests steer it
//	process.go  one run of the app: sockets, signals, exit code
//	handler.go  how the app answers requests
//
// # What the app in a container does
//
// There are no images. Every container is the same small HTTP server, steered by literal values in the container's env:
//
//	VERSION         text answered on / and in the header X-Version
//	STARTUP_DELAY   time from the start of the process until it listens (2s, 300ms)
//	READY           false: /ready answers 503
//	HEALTH_STATUS   status code of /healthz (200)
//	STATUS          status code of every other path (200)
//	LATENCY         service time of each request on those other paths
//	KEEP_ALIVE      false: each connection ends after an answer on those other paths
//	CRASH_AFTER     the process ends with exit code 1 this long after its start
//	EXIT_AFTER      the process ends with exit code 0 this long after its start (jobs: 0s)
//	ON_SIGTERM      graceful (default): the listener closes at once, requests in flight finish, then exit code 0
//	                exit: everything is cut at once, exit code 143
//	                ignore: it goes on serving until SIGKILL, exit code 137
//
// An env value that cannot be read makes the process exit with code 2, so it shows up as a crash loop and not as a default.
// Env set by valueFrom or envFrom is not seen. A running pod is steered through App: what is set there stays set for the life
// of the pod, over restarts too.
package app

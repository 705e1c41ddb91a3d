// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command cmd runs the load balancer emulator by itself, for any AWS client:
//
//	go run ./e2e/emulator/cmd --listen 127.0.0.1:4566 --scale 0.1 --latency 40ms
//
// It prints how to point a client at it, and each front door as it opens, and stops on SIGINT or SIGTERM (main.go). Its flags are in
// options.go.
package main

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress tells what happens, with the seconds since the start in front.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out: out, start: time.Now()} }

// say prints a line. It is for people to read while they wait, so an error in writing it changes nothing.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, "%4.0f s  %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
}

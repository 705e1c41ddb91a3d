// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress tells what happens, with the seconds since the start in front.
type Progress struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

// NewProgress starts counting now.
func NewProgress(out io.Writer) *Progress { return &Progress{out: out, start: time.Now()} }

// Say prints a line. It is for people to read while they wait, so an error in writing it changes nothing.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = fmt.Fprintf(p.out, "%4.0f s  %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
}

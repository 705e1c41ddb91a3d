// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import "sync"

// line makes the writes that are put into it, in that order and so many at a time. In a rollout hundreds stand in it: one
// that waits takes no goroutine, whose stack would be most of what it takes.
type line struct {
	width int

	mu      sync.Mutex
	running int
	waiting []func()
}

func newLine(width int) *line {
	return &line{width: width}
}

func (l *line) put(write func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, write)
	if l.running < l.width {
		l.running++
		go l.run()
	}
}

// run makes writes until none waits.
func (l *line) run() {
	for write := l.next(); write != nil; write = l.next() {
		write()
	}
}

// next is the next write, nil when there is none: then its caller ends.
func (l *line) next() (write func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.waiting = nil
		l.running--
		return nil
	}
	write, l.waiting[0] = l.waiting[0], nil
	l.waiting = l.waiting[1:]
	return write
}

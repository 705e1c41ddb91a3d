// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// mostHeld is the longest that one caller of awaitRoom waits for a busy machine, and has the others wait.
const mostHeld = 10 * time.Second

// awaitRoom waits until the machine has time for what the caller is about to start. All packages of tests share it. On a busy one,
// targetgate and the cluster become slow, and the load balancers, which are ten times as fast as AWS's, do not. One caller of all packages
// looks at a time, so that it sees what the one before it has started.
func awaitRoom() error {
	turn, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("targetgate-e2e-%d.lock", os.Getuid())), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer turn.Close() // gives the turn up
	if err := syscall.Flock(int(turn.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("locking %s: %w", turn.Name(), err)
	}
	for begun := time.Now(); time.Since(begun) < mostHeld && !hasRoom(); {
		time.Sleep(200 * time.Millisecond)
	}
	return nil
}

// hasRoom reports whether a thread that wants to run does so for half of the time or more. It is true where nothing tells.
func hasRoom() bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ran, waited := threadTimes()
	for begun := time.Now(); time.Since(begun) < 50*time.Millisecond; {
		// It is to run, and has nothing to do.
	}
	ranNow, waitedNow := threadTimes()
	return waitedNow-waited <= ranNow-ran
}

// threadTimes are how long the thread has run, and has waited for a processor: the first two numbers of Linux's schedstat, 0 elsewhere.
func threadTimes() (ran, waited time.Duration) {
	text, _ := os.ReadFile("/proc/thread-self/schedstat")
	_, _ = fmt.Sscan(string(text), &ran, &waited)
	return ran, waited
}

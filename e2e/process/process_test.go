// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// orphanMaker, when set in the environment, turns this test program into one that starts a process through a launcher,
// prints its number and waits to be killed.
const orphanMaker = "TARGETGATE_TEST_ORPHAN_MAKER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(orphanMaker); dir != "" {
		makeOrphan(dir)
	}
	os.Exit(m.Run())
}

func makeOrphan(dir string) {
	p, err := NewLauncher().Start(Command{
		Name: "sleep", Binary: "/bin/sleep", Args: []string{"60"}, Dir: dir, LogPath: filepath.Join(dir, "log"),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.PID())
	<-p.done
	os.Exit(0)
}

func TestProcessTellsHowItEnded(t *testing.T) {
	p := startShell(t, "echo something went wrong; exit 3")
	<-p.done
	err := p.Failure()
	if err == nil {
		t.Fatal("Failure() = nil after the process ended")
	}
	for _, want := range []string{"shell has ended: exit status 3", "something went wrong"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Failure() = %q, want %q in it", err, want)
		}
	}
}

func TestProcessStopKillsAfterGrace(t *testing.T) {
	const forever = "; echo set; while :; do sleep 0.01; done"
	cases := map[string]struct {
		script      string
		grace       time.Duration
		wantOutcome string
	}{
		"one that obeys": {
			script: "trap 'exit 0' TERM" + forever, grace: time.Minute, wantOutcome: "exit status 0",
		},
		"one that ignores": {
			script: "trap '' TERM" + forever, grace: 50 * time.Millisecond, wantOutcome: "signal: killed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := startShell(t, tc.script)
			if err := p.Failure(); err != nil {
				t.Errorf("Failure() = %v while the process runs", err)
			}
			await(t, "the trap to be set", func() error {
				if text := tail(p.LogPath); text != "set" {
					return fmt.Errorf("log is %q", text)
				}
				return nil
			})
			p.Stop(tc.grace)
			if p.outcome != tc.wantOutcome {
				t.Errorf("outcome = %q, want %q", p.outcome, tc.wantOutcome)
			}
			p.Stop(tc.grace) // changes nothing
		})
	}
}

func TestProcessHasNoForeignEnvironment(t *testing.T) {
	t.Setenv("ETCD_NAME", "leaked")
	p := startShell(t, `echo "name:$ETCD_NAME"`)
	<-p.done
	if got := tail(p.LogPath); got != "name:" {
		t.Errorf("output = %q, want none of our variables", got)
	}
}

func TestProcessDiesWithItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), orphanMaker+"="+t.TempDir())
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(output, &pid); err != nil {
		t.Fatalf("reading the child's number: %v", err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Error("the parent ended by itself, want it killed")
	}
	await(t, "the child to die", func() error {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || strings.Contains(string(status), "State:\tZ") { // a zombie, until who adopted it asks
			return nil
		}
		return fmt.Errorf("it is there:\n%s", status)
	})
}

// startShell runs the script and ends it with the test.
func startShell(t *testing.T, script string) *Process {
	t.Helper()
	dir := t.TempDir()
	l := NewLauncher()
	p, err := l.Start(Command{
		Name: "shell", Binary: "/bin/sh", Args: []string{"-c", script}, Dir: dir, LogPath: filepath.Join(dir, "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Stop(0)
		l.Close()
	})
	return p
}

// await polls until the check succeeds, or fails the test.
func await(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

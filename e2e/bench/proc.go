// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the kernel's unit of time in /proc (USER_HZ), the same on all Linux that Go runs on.
const ticksPerSecond = 100

// usage is what a process has used in its life so far.
type usage struct {
	cpu  time.Duration
	peak float64 // of resident memory, in MiB
}

// usageOf reads what the process has used.
func usageOf(pid int) (u usage, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, fmt.Errorf("reading CPU time of process %d: %w", pid, err)
	}
	if u.cpu, err = parseCPU(string(stat)); err != nil {
		return u, fmt.Errorf("reading CPU time of process %d: %w", pid, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, fmt.Errorf("reading memory of process %d: %w", pid, err)
	}
	if u.peak, err = parsePeak(string(status)); err != nil {
		return u, fmt.Errorf("reading memory of process %d: %w", pid, err)
	}
	return u, nil
}

// parseCPU adds user and system time of a /proc/<pid>/stat. The name in it may hold spaces and parentheses.
func parseCPU(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const userAfterName, systemAfterName = 11, 12
	if len(fields) <= systemAfterName {
		return 0, fmt.Errorf("%d fields after the name", len(fields))
	}
	return sumTicks(fields[userAfterName : systemAfterName+1])
}

func sumTicks(fields []string) (time.Duration, error) {
	total := 0
	for _, field := range fields {
		ticks, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("reading ticks: %w", err)
		}
		total += ticks
	}
	return time.Duration(total) * time.Second / ticksPerSecond, nil
}

// parsePeak finds VmHWM in a /proc/<pid>/status, in MiB.
func parsePeak(status string) (float64, error) {
	for line := range strings.Lines(status) {
		value, found := strings.CutPrefix(line, "VmHWM:")
		if !found {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
		if err != nil {
			return 0, fmt.Errorf("reading VmHWM: %w", err)
		}
		return kib / 1024, nil
	}
	return 0, fmt.Errorf("no VmHWM in %d bytes", len(status))
}

// machine is the time that all cores have spent since boot.
type machine struct{ busy, all time.Duration }

func readMachine() (machine, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return machine{}, fmt.Errorf("reading the machine's CPU time: %w", err)
	}
	m, err := parseMachine(string(stat))
	if err != nil {
		return m, fmt.Errorf("reading the machine's CPU time: %w", err)
	}
	return m, nil
}

// parseMachine reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, and then guests'
// time, which is in user's already.
func parseMachine(stat string) (machine, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	const idle, iowait, steal = 4, 5, 8
	if len(fields) <= steal || fields[0] != "cpu" {
		return machine{}, fmt.Errorf("the first line is %q", line)
	}
	all, err := sumTicks(fields[1 : steal+1])
	if err != nil {
		return machine{}, err
	}
	free, err := sumTicks(fields[idle : iowait+1])
	return machine{all - free, all}, err
}

// busySince is the share of all cores' time that was used, in percent.
func (m machine) busySince(before machine) float64 {
	if m.all == before.all {
		return 0
	}
	return 100 * float64(m.busy-before.busy) / float64(m.all-before.all)
}

// childCalled finds the process of that argv[0] that this one has started.
func childCalled(name string) (int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, fmt.Errorf("listing processes: %w", err)
	}
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && isChild(path) && argv0(pid) == name {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("finding process %s: it does not run", name)
}

// isChild reports whether a /proc/<pid>/stat is that of a child of ours. A process may end at any time.
func isChild(path string) bool {
	stat, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid())
}

func argv0(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	name, _, _ := bytes.Cut(line, []byte{0})
	return string(name)
}

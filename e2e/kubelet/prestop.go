// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// preStop returns how long the container's preStop hook takes when nothing cuts it short, and whether there is one.
// It is known for sleep and for exec of "sleep N", alone or in a shell; any other hook takes no time.
func preStop(container corev1.Container) (time.Duration, bool) {
	if container.Lifecycle == nil || container.Lifecycle.PreStop == nil {
		return 0, false
	}
	hook := container.Lifecycle.PreStop
	switch {
	case hook.Sleep != nil:
		return time.Duration(hook.Sleep.Seconds) * time.Second, true
	case hook.Exec != nil:
		return execSleep(hook.Exec.Command), true
	default:
		return 0, true
	}
}

func execSleep(command []string) time.Duration {
	words := strings.Fields(strings.Join(command, " "))
	for i, word := range words[:max(len(words)-1, 0)] {
		if word != "sleep" && !strings.HasSuffix(word, "/sleep") {
			continue
		}
		number := strings.TrimSuffix(strings.Trim(words[i+1], `;"'`), "s")
		if seconds, err := strconv.ParseFloat(number, 64); err == nil {
			return time.Duration(seconds * float64(time.Second))
		}
	}
	return 0
}

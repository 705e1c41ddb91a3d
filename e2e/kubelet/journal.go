// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Event names a moment in the life of a pod.
type Event string

// The moments of a pod's life, in the order in which they come. ContainersReady, Ready and their opposites come again
// whenever the condition changes; Started and Exited come once for each start of a container, PreStopStart, PreStopEnd and
// SIGTERM once for each container.
const (
	Created            Event = "created"            // the pod was first seen, bound or not
	Bound              Event = "bound"              // it was first seen with the name of one of our nodes
	Started            Event = "started"            // a container's process started
	ContainersReady    Event = "containersReady"    // the API server took the condition
	ContainersNotReady Event = "containersNotReady" // the API server took the condition
	Ready              Event = "ready"              // the API server took the condition
	NotReady           Event = "notReady"           // the API server took the condition
	DeletionSeen       Event = "deletionSeen"       // it was first seen with a deletionTimestamp
	PreStopStart       Event = "preStopStart"
	PreStopEnd         Event = "preStopEnd"
	SIGTERM            Event = "sigterm"
	SIGKILL            Event = "sigkill"
	Exited             Event = "exited" // a container's process ended
	Gone               Event = "gone"   // it was seen to have left the API server
)

// Moment is one event in the life of one pod. Container is empty for what concerns the whole pod; Node and IP are empty
// until they are known.
type Moment struct {
	UID       types.UID
	Namespace string
	Pod       string
	Container string
	Node      string
	IP        string
	Event     Event
	At        time.Time
}

// journal keeps moments in the order in which they were noted.
type journal struct {
	mu      sync.Mutex
	moments []Moment
	created map[types.UID]bool
}

func newJournal() *journal { return &journal{created: map[types.UID]bool{}} }

func (j *journal) note(m Moment) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.moments = append(j.moments, m)
}

// noteCreated notes a pod's first sight, once.
func (j *journal) noteCreated(pod *corev1.Pod, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.created[pod.UID] {
		return
	}
	j.created[pod.UID] = true
	j.moments = append(j.moments, Moment{UID: pod.UID, Namespace: pod.Namespace, Pod: pod.Name, Event: Created, At: at})
}

func (j *journal) copy() []Moment {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.moments)
}

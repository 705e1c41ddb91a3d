// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Event is what users are told of an object.
type Event struct {
	Type, Reason, Action, Note string
}

// Warning is an event of type Warning.
func Warning(reason, action, format string, args ...any) Event {
	return Event{corev1.EventTypeWarning, reason, action, fmt.Sprintf(format, args...)}
}

// Normal is an event of type Normal.
func Normal(reason, action, format string, args ...any) Event {
	return Event{corev1.EventTypeNormal, reason, action, fmt.Sprintf(format, args...)}
}

// Record has the event written.
func (e Event) Record(recorder events.EventRecorder, on runtime.Object) {
	recorder.Eventf(on, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
}

// Notice is an event that is recorded once for as long as its cause lasts.
type Notice struct {
	On runtime.Object
	Event
}

// maxMessage is what a condition's or an event's message is cut to; the API server refuses longer notes.
const maxMessage = 1024

// Cut bounds a message, between two characters.
func Cut(message string) string {
	if len(message) > maxMessage {
		return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
	}
	return message
}

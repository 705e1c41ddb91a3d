// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// watched is the body of a watch after one more event of that kind.
func (b *watchBody) watched(t *testing.T, kind string, pod *corev1.Pod) *watchBody {
	t.Helper()
	event := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: encode(t, pod)}}
	sent, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	b.source.Reset(bytes.NewReader(append(binary.BigEndian.AppendUint32(nil, uint32(len(sent))), sent...)))
	if err := b.next(); err != nil {
		t.Fatal(err)
	}
	return b
}

// A watch may go on for long, while pods come and go.
func TestWatchForgetsWhatWasDeleted(t *testing.T) {
	b := newWatchBody(io.NopCloser(nil))
	stays, goes := typicalPod(), typicalPod()
	stays.UID = "stays"
	b.watched(t, "ADDED", stays).watched(t, "ADDED", goes).watched(t, "MODIFIED", goes)
	if n := len(b.seen.told); n != 2 {
		t.Errorf("%d pods are remembered, want both", n)
	}
	b.watched(t, "DELETED", goes)
	if n := len(b.seen.told); n != 1 {
		t.Errorf("%d pods are remembered when one of two was deleted", n)
	}
}

func TestWatchKeepsNoLargeBuffer(t *testing.T) {
	b := newWatchBody(io.NopCloser(nil)).watched(t, "ADDED", typicalPod())
	if size := cap(b.event); size == 0 {
		t.Error("the buffer of a usual event is not kept")
	}
	large := typicalPod()
	large.Annotations["text"] = strings.Repeat("x", maxIdle)
	b.watched(t, "MODIFIED", large)
	if size := cap(b.event); size > maxIdle {
		t.Errorf("a buffer of %d bytes is kept, want at most %d", size, maxIdle)
	}
	large.Labels["text"] = strings.Repeat("x", maxIdle) // which is kept of it
	b.watched(t, "MODIFIED", large).watched(t, "MODIFIED", typicalPod())
	if size := max(cap(b.kept), cap(b.seen.essence)); size > maxIdle {
		t.Errorf("a buffer of %d bytes for what is kept of events stays, want at most %d", size, maxIdle)
	}
}

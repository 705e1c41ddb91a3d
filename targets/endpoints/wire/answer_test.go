// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// change is an event of a watch.
type change struct {
	kind   string
	object runtime.Object
}

// frame is an event as API servers send it.
func (c change) frame(t testing.TB) []byte {
	t.Helper()
	event := metav1.WatchEvent{Type: c.kind, Object: runtime.RawExtension{Raw: encode(t, c.object)}}
	body, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// readAll reads what a client gets of a watch, in events without their length.
func readAll(t *testing.T, body io.Reader) (events [][]byte) {
	t.Helper()
	for {
		var length [lengthBytes]byte
		_, err := io.ReadFull(body, length[:])
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		event := make([]byte, binary.BigEndian.Uint32(length[:]))
		if _, err := io.ReadFull(body, event); err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
}

// versionOf says which event it was.
func versionOf(t *testing.T, event []byte) string {
	t.Helper()
	var got metav1.WatchEvent
	if err := got.Unmarshal(event); err != nil {
		t.Fatal(err)
	}
	object, ok := decode(t, got.Object.Raw).(metav1.Object)
	if !ok {
		return got.Type
	}
	return got.Type + " " + object.GetResourceVersion()
}

// at is the object at a version, with a change.
func at[T metav1.Object](object T, version string, do func(T)) T {
	object = any(object).(runtime.Object).DeepCopyObject().(T)
	object.SetResourceVersion(version)
	do(object)
	return object
}

func TestWatchTellsNews(t *testing.T) {
	pod, nothing := typicalPod(), func(*corev1.Pod) {}
	restarted := func(pod *corev1.Pod) { pod.Status.ContainerStatuses[0].RestartCount++ }
	ready := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.Conditions[0].Status = status }
	}
	containersReady := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Status.Conditions[1].Status = status }
	}
	labelled := func(pod *corev1.Pod) { pod.Labels["team"] = "search" }
	leaves := func(at, grace int64) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			end := metav1.Unix(1_800_000_000+at, 0)
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &end, &grace
		}
	}
	annotated := func(key string) func(*corev1.Pod) { return func(pod *corev1.Pod) { pod.Annotations[key] = "new" } }
	other := at(pod, "1", func(pod *corev1.Pod) { pod.UID = "other" })
	service, ingress := filled(1, &corev1.Service{}), filled(1, &networkingv1.Ingress{})
	tests := map[string]struct {
		sent []change
		want []string
	}{
		"the first update in a watch": {[]change{{"MODIFIED", at(pod, "1", nothing)}}, []string{"MODIFIED 1"}},
		"a container restarts":        {[]change{{"ADDED", at(pod, "1", nothing)}, {"MODIFIED", at(pod, "2", restarted)}}, []string{"ADDED 1"}},
		"Ready follows":               {[]change{{"ADDED", at(pod, "1", nothing)}, {"MODIFIED", at(pod, "2", ready("False"))}}, []string{"ADDED 1"}},
		"containers are unready, and ready again": {[]change{
			{"ADDED", at(pod, "1", nothing)}, {"MODIFIED", at(pod, "2", containersReady("False"))}, {"MODIFIED", at(pod, "3", restarted)},
			{"MODIFIED", at(pod, "4", containersReady("False"))},
		}, []string{"ADDED 1", "MODIFIED 2", "MODIFIED 3", "MODIFIED 4"}},
		"a label changes": {[]change{{"ADDED", at(pod, "1", nothing)}, {"MODIFIED", at(pod, "2", labelled)}}, []string{"ADDED 1", "MODIFIED 2"}},
		"it gets less time to leave": {[]change{
			{"ADDED", at(pod, "1", nothing)}, {"MODIFIED", at(pod, "2", leaves(60, 30))}, {"MODIFIED", at(pod, "3", leaves(31, 30))},
			{"MODIFIED", at(pod, "4", leaves(31, 1))}, {"MODIFIED", at(pod, "5", leaves(31, 1))},
		}, []string{"ADDED 1", "MODIFIED 2", "MODIFIED 3", "MODIFIED 4"}},
		"its owner lets go of it": {[]change{
			{"ADDED", at(pod, "1", nothing)}, {"MODIFIED", at(pod, "2", func(pod *corev1.Pod) { pod.OwnerReferences = nil })},
		}, []string{"ADDED 1", "MODIFIED 2"}},
		"annotations change": {[]change{
			{"ADDED", at(pod, "1", nothing)}, {"MODIFIED", at(pod, "2", annotated("checksum/config"))},
			{"MODIFIED", at(pod, "3", annotated("vpc.amazonaws.com/pod-eni"))},
		}, []string{"ADDED 1", "MODIFIED 3"}},
		"it is told again": {[]change{{"ADDED", at(pod, "1", nothing)}, {"ADDED", at(pod, "1", nothing)}}, []string{"ADDED 1", "ADDED 1"}},
		"it is deleted, and comes again": {[]change{
			{"ADDED", at(pod, "1", nothing)}, {"DELETED", at(pod, "2", nothing)}, {"DELETED", at(pod, "2", nothing)},
			{"MODIFIED", at(pod, "3", nothing)},
		}, []string{"ADDED 1", "DELETED 2", "DELETED 2", "MODIFIED 3"}},
		"two pods": {[]change{
			{"ADDED", at(pod, "1", nothing)}, {"ADDED", other}, {"MODIFIED", at(other, "2", restarted)}, {"MODIFIED", at(other, "3", labelled)},
		}, []string{"ADDED 1", "ADDED 1", "MODIFIED 3"}},
		"a bookmark twice": {[]change{
			{"BOOKMARK", &corev1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}},
			{"BOOKMARK", &corev1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}},
		}, []string{"BOOKMARK 7", "BOOKMARK 7"}},
		"an error": {[]change{{"ERROR", &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}}}}, []string{"ERROR"}},
		"a Service's label and annotations change": {[]change{
			{"ADDED", at(service, "1", func(*corev1.Service) {})},
			{"MODIFIED", at(service, "2", func(s *corev1.Service) { s.Labels = map[string]string{"app": "web"} })},
			{"MODIFIED", at(service, "3", func(s *corev1.Service) {
				s.Annotations = map[string]string{"alb.ingress.kubernetes.io/target-type": "ip"}
			})},
		}, []string{"ADDED 1", "MODIFIED 3"}},
		"an Ingress's label changes": {[]change{
			{"ADDED", at(ingress, "1", func(*networkingv1.Ingress) {})},
			{"MODIFIED", at(ingress, "2", func(i *networkingv1.Ingress) { i.Labels = map[string]string{"app": "web"} })},
		}, []string{"ADDED 1", "MODIFIED 2"}},
		"a Secret, which is not filtered": {[]change{
			{"ADDED", filled(1, &corev1.Secret{})}, {"MODIFIED", filled(1, &corev1.Secret{})},
		}, []string{"ADDED " + filled(1, &corev1.Secret{}).ResourceVersion, "MODIFIED " + filled(1, &corev1.Secret{}).ResourceVersion}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var sent bytes.Buffer
			for _, c := range tc.sent {
				sent.Write(c.frame(t))
			}
			var got []string
			for _, event := range readAll(t, newWatchBody(io.NopCloser(&sent))) {
				got = append(got, versionOf(t, event))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWatchTellsOfNodesAndSlices(t *testing.T) {
	node, slice := filled(1, &corev1.Node{}), filled(1, &discoveryv1.EndpointSlice{})
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	beaten, down := node.DeepCopy(), node.DeepCopy()
	beaten.Status.Conditions[0].LastHeartbeatTime, down.Status.Conditions[0].Status = metav1.Now(), corev1.ConditionFalse
	same, longer := slice.DeepCopy(), slice.DeepCopy()
	same.Generation++
	longer.Endpoints = append(longer.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0.9"}})
	var sent bytes.Buffer
	for _, c := range []change{
		{"ADDED", node}, {"MODIFIED", beaten}, {"MODIFIED", down}, {"ADDED", slice}, {"MODIFIED", same}, {"MODIFIED", longer},
	} {
		sent.Write(c.frame(t))
	}
	if got := len(readAll(t, newWatchBody(io.NopCloser(&sent)))); got != 4 {
		t.Errorf("%d of 6 changes are told, want the first and the last of each", got)
	}
}

// However an answer arrives and is read, a client reads the same.
func TestWatchIsReadInAnyPieces(t *testing.T) {
	var sent bytes.Buffer
	for seed := range int64(20) {
		sent.Write(change{"ADDED", filled(seed, &corev1.Pod{})}.frame(t))
	}
	want, err := io.ReadAll(newWatchBody(io.NopCloser(bytes.NewReader(sent.Bytes()))))
	if err != nil {
		t.Fatal(err)
	}
	for name, reader := range map[string]io.Reader{
		"sent byte by byte": newWatchBody(io.NopCloser(iotest.OneByteReader(bytes.NewReader(sent.Bytes())))),
		"read byte by byte": iotest.OneByteReader(newWatchBody(io.NopCloser(bytes.NewReader(sent.Bytes())))),
		"sent with its end": newWatchBody(io.NopCloser(iotest.DataErrReader(bytes.NewReader(sent.Bytes())))),
	} {
		if got, err := io.ReadAll(reader); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, error %v, want %d", name, len(got), err, len(want))
		}
	}
}

func TestWatchHandsOnWhatIsNoEvent(t *testing.T) {
	huge := append([]byte{0x7f, 0xff, 0xff, 0xff}, bytes.Repeat([]byte("x"), 100_000)...)
	tests := map[string]struct {
		sent, want []byte
		wantErr    error
	}{
		"nothing":               {wantErr: nil},
		"an empty event":        {sent: make([]byte, 8), want: make([]byte, 8)},
		"no protobuf":           {sent: append([]byte{0, 0, 0, 4}, "{}{}"...), want: append([]byte{0, 0, 0, 4}, "{}{}"...)},
		"too large an event":    {sent: huge, want: huge},
		"half a length":         {sent: []byte{0, 0}, wantErr: io.ErrUnexpectedEOF},
		"half an event":         {sent: []byte{0, 0, 0, 4, 'x'}, wantErr: io.ErrUnexpectedEOF},
		"a length without more": {sent: []byte{0, 0, 0, 4}, wantErr: io.ErrUnexpectedEOF},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := io.ReadAll(newWatchBody(io.NopCloser(bytes.NewReader(tc.sent))))
			if !errors.Is(err, tc.wantErr) || !bytes.Equal(got, tc.want) {
				t.Errorf("%d bytes, error %v, want %d, %v", len(got), err, len(tc.want), tc.wantErr)
			}
		})
	}
}

func podList(count int) *corev1.PodList {
	list := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more"},
	}
	for range count {
		pod := typicalPod()
		pod.TypeMeta = metav1.TypeMeta{} // items of lists have none
		list.Items = append(list.Items, *pod)
	}
	return list
}

func TestListIsFiltered(t *testing.T) {
	for name, count := range map[string]int{"none": 0, "one": 1, "many": 30} {
		t.Run(name, func(t *testing.T) {
			list := podList(count)
			sent := encode(t, list)
			small, err := io.ReadAll(newListBody(io.NopCloser(iotest.HalfReader(bytes.NewReader(sent)))))
			if err != nil {
				t.Fatal(err)
			}
			if most := 100 + len(sent)/8; len(small) > most {
				t.Errorf("%d of %d bytes are left, want at most %d", len(small), len(sent), most)
			}
			got := decode(t, small).(*corev1.PodList)
			if len(got.Items) != count || got.ListMeta != list.ListMeta || got.TypeMeta != list.TypeMeta {
				t.Fatalf("%d pods, %v, want %d, %v", len(got.Items), got.ListMeta, count, list.ListMeta)
			}
			for i := range got.Items {
				if diff := cmp.Diff(stripped(t, &list.Items[i]), stripped(t, &got.Items[i])); diff != "" {
					t.Errorf("pod %d, stripped (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

func TestOtherAnswersAreHandedOn(t *testing.T) {
	for name, sent := range map[string][]byte{
		"a pod":          encode(t, typicalPod()),
		"Secrets":        encode(t, filled(1, &corev1.SecretList{})),
		"nothing":        {},
		"half a magic":   []byte("k8"),
		"no protobuf":    []byte(`{"kind":"PodList"}`),
		"only a type":    append([]byte("k8s\x00\x0a\x0d"), typeOf("v1", "PodList")...),
		"no list in it":  append(append([]byte("k8s\x00\x0a\x0d"), typeOf("v1", "PodList")...), 0x1a, 0),
		"no type before": append([]byte("k8s\x00\x12\x00\x0a\x0d"), typeOf("v1", "PodList")...),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := io.ReadAll(newListBody(io.NopCloser(bytes.NewReader(sent))))
			if err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d bytes, error %v, want the %d that were sent", len(got), err, len(sent))
			}
		})
	}
}

func TestBrokenListIsAnError(t *testing.T) {
	head := append(append([]byte("k8s\x00\x0a\x0d"), typeOf("v1", "PodList")...), 0x12)
	for name, sent := range map[string][]byte{
		"cut in a pod":          encode(t, podList(3))[:12_000],
		"without a length":      head,
		"shorter than it says":  append(bytes.Clone(head), 9, 0x0a, 0),
		"a number in it":        append(bytes.Clone(head), 2, 0x08, 1),
		"an item that is huge":  append(bytes.Clone(head), 9, 0x12, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"an item that is none":  append(bytes.Clone(head), 4, 0x12, 2, 0x0a, 9),
		"more than fits an int": append(bytes.Clone(head), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x0a, 0),
	} {
		t.Run(name, func(t *testing.T) {
			body := newListBody(io.NopCloser(bytes.NewReader(sent)))
			got, err := io.ReadAll(body)
			if err == nil {
				t.Fatalf("no error, but %d bytes", len(got))
			}
			if _, again := body.Read(make([]byte, 9)); !errors.Is(again, err) {
				t.Errorf("the next read says %v, want %v again", again, err)
			}
		})
	}
}

// Whatever arrives, reading it comes to an end.
func FuzzAnswer(f *testing.F) {
	f.Add(encode(f, podList(2)))
	f.Add(change{"ADDED", typicalPod()}.frame(f))
	f.Add([]byte{0, 0, 0, 4, 'x'})
	f.Fuzz(func(t *testing.T, sent []byte) {
		for _, body := range []io.Reader{newListBody(io.NopCloser(bytes.NewReader(sent))), newWatchBody(io.NopCloser(bytes.NewReader(sent)))} {
			if got, err := io.ReadAll(body); err == nil && len(got) > 2*len(sent)+100 {
				t.Errorf("%d bytes have become %d", len(sent), len(got))
			}
		}
	})
}

// BenchmarkList is what a list of pods costs until it is decoded.
func BenchmarkList(b *testing.B) {
	sent := encode(b, podList(500))
	for name, open := range map[string]func(io.ReadCloser) io.Reader{
		"whole":    func(body io.ReadCloser) io.Reader { return body },
		"filtered": func(body io.ReadCloser) io.Reader { return newListBody(body) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				body, err := io.ReadAll(open(io.NopCloser(bytes.NewReader(sent))))
				if err != nil {
					b.Fatal(err)
				}
				decode(b, body)
			}
		})
	}
}

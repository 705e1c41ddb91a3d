// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// Deploy creates the app, once the machine has room for it, and has its namespace deleted at the end of the test.
func (bed *Bed) Deploy(t *testing.T, app *testbed.App) {
	t.Helper()
	Must(t, awaitRoom())
	Must(t, bed.Bed.Deploy(t.Context(), app))
	t.Cleanup(func() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Name}}
		if err := bed.Client.Delete(context.Background(), namespace); err != nil {
			t.Errorf("deleting namespace %s: %v", app.Name, err)
		}
	})
}

// AwaitRolled waits until every pod is of the newest template and Ready, and no other is left.
func (bed *Bed) AwaitRolled(t *testing.T, app *testbed.App) {
	t.Helper()
	Must(t, bed.Bed.AwaitRolled(t.Context(), app, patience))
}

// NewApp is a gated app of three pods that sleeps 25 s before SIGTERM, 2.5 s on the test bed: longer than the load
// balancer goes on sending.
func NewApp(name string) *testbed.App {
	return &testbed.App{Name: name, Replicas: 3, Gated: true, PreStopSeconds: 25}
}

// LongSleep is the PreStopSeconds of apps whose controller restarts, or falls behind, while pods leave: 20 s on the test bed. Such times
// are not scaled: on a busy machine a restart took 10 s.
const LongSleep = 200

// NewInstanceApp is an app whose group holds the nodes. It keeps no connection: one through a node port would outlast the pod's endpoint,
// and when the pod ends, a request that has just come in would be lost. That is so with AWS, too, and no controller can help it.
func NewInstanceApp(name string) *testbed.App {
	app := NewApp(name)
	app.Env = map[string]string{"KEEP_ALIVE": "false"}
	app.Balancer = func(s *emulator.Service) { s.TargetType = state.TypeInstance }
	app.Service = func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }
	return app
}

// MovePort gives the app's Service another port than the binding names; giveBack gives it the same once more.
func (bed *Bed) MovePort(t *testing.T, app *testbed.App) (giveBack func()) {
	t.Helper()
	renumber := func(to int32) { bed.ChangeService(t, app, func(s *corev1.Service) { s.Spec.Ports[0].Port = to }) }
	renumber(81)
	return func() { renumber(80) }
}

// DeleteService deletes the app's Service; giveBack creates the same once more.
func (bed *Bed) DeleteService(t *testing.T, app *testbed.App) (giveBack func()) {
	t.Helper()
	var service corev1.Service
	Must(t, bed.Client.Get(t.Context(), app.Key(), &service))
	Must(t, bed.Client.Delete(t.Context(), service.DeepCopy()))
	return func() {
		bed.Create(t, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name},
			Spec:       corev1.ServiceSpec{Selector: service.Spec.Selector, Ports: service.Spec.Ports},
		})
	}
}

// ChangeService edits the app's Service.
func (bed *Bed) ChangeService(t *testing.T, app *testbed.App, edit func(*corev1.Service)) {
	t.Helper()
	Change(t, bed, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: app.Name}}, edit)
}

// Change edits the object of that name and kind.
func Change[T client.Object](t *testing.T, bed *Bed, object T, edit func(T)) {
	t.Helper()
	Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	patch := client.MergeFrom(object.DeepCopyObject().(client.Object))
	edit(object)
	Must(t, bed.Client.Patch(t.Context(), object, patch))
}

// Create creates the object as soon as the API server takes it: a new namespace may have no service account yet.
func (bed *Bed) Create(t *testing.T, object client.Object) {
	t.Helper()
	Eventually(t, "the API server to take "+object.GetName(), func() error { return bed.Client.Create(t.Context(), object) })
}

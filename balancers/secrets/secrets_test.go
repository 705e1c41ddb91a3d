// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

func secret(id string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "idp", UID: "u", Labels: map[string]string{"may": "yes"}},
		Data:       map[string][]byte{"clientID": []byte(id), "clientSecret": []byte("hidden")},
	}
}

var key = types.NamespacedName{Namespace: "shop", Name: "idp"}

// A group hears of each change of a Secret that it needs, also of one that comes later, and of none when it needs it no longer.
func TestGroupsHearOfTheirSecrets(t *testing.T) {
	client := fake.NewClientset()
	w := &Watcher{Client: client}
	heard := make(chan stack.Group, 10)
	w.Start(t.Context(), func(group stack.Group) { heard <- group })
	group := stack.Group{Name: "edge"}
	get := func() lookup.Secret { return w.Of(t.Context(), group, []types.NamespacedName{key})[key] }
	await := func(id string) {
		t.Helper()
		for deadline := time.After(20 * time.Second); get().ClientID != id; {
			select {
			case got := <-heard:
				if got != group {
					t.Fatalf("group %v heard of it", got)
				}
			case <-deadline:
				t.Fatalf("client %q, want %q", get().ClientID, id)
			}
		}
	}
	if got := get(); !strings.HasPrefix(got.Reason, "does not exist") {
		t.Errorf("of a Secret that is not there: %+v", got)
	}
	api := client.CoreV1().Secrets("shop")
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if !cache.WaitForCacheSync(t.Context().Done(), w.watched[key].informer.HasSynced) { // the fake loses what happens between list and watch
		t.Fatal("the Secret is not watched")
	}
	must(api.Create(t.Context(), secret("first"), metav1.CreateOptions{}))
	await("first")
	must(api.Update(t.Context(), secret("second"), metav1.UpdateOptions{}))
	await("second")

	w.Of(t.Context(), group, nil)
	if len(w.watched) > 0 {
		t.Errorf("watched %v, though nobody needs it", w.watched)
	}
}

// Two groups need one Secret: it is watched until neither does.
func TestASecretIsWatchedAsLongAsItIsNeeded(t *testing.T) {
	w := &Watcher{Client: fake.NewClientset(secret("id"))}
	w.Start(t.Context(), func(stack.Group) {})
	one, two := stack.Group{Name: "one"}, stack.Group{Name: "two"}
	w.Of(t.Context(), one, []types.NamespacedName{key})
	w.Of(t.Context(), two, []types.NamespacedName{key})
	w.Of(t.Context(), one, nil)
	if w.watched[key] == nil || len(w.watched[key].groups) != 1 {
		t.Errorf("watched %v, want it for the second group", w.watched)
	}
}

// Each watch costs memory, and whoever may write Ingresses can name any number of Secrets. Other namespaces have watches of their own.
func TestSecretsOfANamespaceAreWatchedUpToABound(t *testing.T) {
	w := &Watcher{Client: fake.NewClientset(secret("id"))}
	w.Start(t.Context(), func(stack.Group) {})
	many, one := stack.Group{Name: "many"}, stack.Group{Name: "one"}
	keys := []types.NamespacedName{{Namespace: "away", Name: "idp"}}
	for n := range mostWatched + 1 {
		keys = append(keys, types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("a-", n)})
	}
	const refused = "is not read, as Ingresses of its namespace need 200 others"
	got := w.Of(t.Context(), many, keys)
	for i, key := range keys {
		if isRefused := strings.HasPrefix(got[key].Reason, refused); isRefused != (i == len(keys)-1) {
			t.Errorf("Secret %d: %q", i, got[key].Reason)
		}
	}
	if len(w.watched) != mostWatched+1 {
		t.Errorf("%d are watched, want %d and one of the other namespace", len(w.watched), mostWatched)
	}
	of := func() lookup.Secret { return w.Of(t.Context(), one, []types.NamespacedName{key})[key] }
	if got := of(); !strings.HasPrefix(got.Reason, refused) {
		t.Errorf("one more: %+v", got)
	}
	if got := w.Of(t.Context(), many, append(keys[1:mostWatched:mostWatched], key))[key]; got.ClientID != "id" {
		t.Errorf("one in the place of another: %+v", got)
	}
	w.Of(t.Context(), many, nil)
	if got := of(); got.ClientID != "id" || len(w.watched) != 1 {
		t.Errorf("when there is room: %+v, %d are watched", got, len(w.watched))
	}
}

// forbidding is an API server that lets nobody read.
type forbidding struct{ client.Reader }

func (forbidding) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "idp", nil)
}

// Whoever asks may lack a right that targetgate has.
func TestAReaderBlamesNoOneElseForItsOwnRights(t *testing.T) {
	r := &Reader{Client: forbidding{}}
	got := r.Of(t.Context(), stack.Group{}, []types.NamespacedName{key})[key]
	if !strings.HasPrefix(got.Reason, "may not be read by you") || strings.Contains(got.Reason, "service account") {
		t.Errorf("%q, want it said of whoever asks", got.Reason)
	}
}

func TestWhyASecretIsNotKnown(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	for name, tc := range map[string]struct {
		label string
		err   error
		want  string
	}{
		"known":       {"may=yes", nil, ""},
		"gone":        {"", apierrors.NewNotFound(resource, "idp"), "does not exist: create it"},
		"forbidden":   {"", apierrors.NewForbidden(resource, "idp", nil), "may not be read: allow"},
		"unreachable": {"", context.DeadlineExceeded, "could not be read: context deadline exceeded"},
		"no label":    {"may=no", nil, "has no label may=no, which --required-secrets-label wants"},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(tc.label, secret("id"), tc.err)
			if !strings.HasPrefix(got.Reason, tc.want) || (tc.want == "") != (got.ClientID == "id") {
				t.Errorf("got %+v, want %q", got, tc.want)
			}
		})
	}
}

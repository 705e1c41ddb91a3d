// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// apiReader answers from the API server what is asked of a cache with indexes elsewhere: it lists each kind of a namespace
// once, whole, and looks through it, and gets each object once. Of kinds outside of the namespace, which not everybody may read, it
// reads what it may.
type apiReader struct {
	client.Reader
	lists   map[string][]runtime.Object // by kind and namespace
	objects map[string]object           // by kind and name
	unread  []string
}

// object is what the API server has answered.
type object struct {
	runtime.Object
	err error
}

func newAPIReader(reader client.Reader) *apiReader {
	return &apiReader{Reader: reader, lists: map[string][]runtime.Object{}, objects: map[string]object{}}
}

// Get notes what may not be read. What it reads is shared, and read only.
func (u *apiReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	id := fmt.Sprintf("%T %s", o, key)
	known, ok := u.objects[id]
	if !ok {
		known.err = u.Reader.Get(ctx, key, o)
		known.Object = o.DeepCopyObject()
		u.objects[id] = known
	}
	if apierrors.IsForbidden(known.err) {
		u.miss(kindBeyond(o, key.Namespace))
	}
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(known.Object).Elem())
	return known.err
}

// kindBeyond is the kind of what is outside of the namespace and not said to be unread elsewhere, in the words of RBAC; empty otherwise.
func kindBeyond(o runtime.Object, namespace string) string {
	switch o.(type) {
	case *corev1.Node, *corev1.NodeList:
		return "nodes"
	case *corev1.Namespace:
		return "namespaces"
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return "mutatingwebhookconfigurations"
	case *v1beta1.TargetGroupBindingList:
		if namespace == "" {
			return "targetgroupbindings of other namespaces"
		}
	}
	return ""
}

// List takes what is outside of the namespace and may not be read for none.
func (u *apiReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(opts)
	all, err := u.all(ctx, list, asked.Namespace)
	if err != nil {
		return err
	}
	var matching []runtime.Object
	for _, o := range all {
		if matches(o.(client.Object), &asked) {
			matching = append(matching, o)
		}
	}
	return apimeta.SetList(list, matching)
}

func (u *apiReader) all(ctx context.Context, list client.ObjectList, namespace string) ([]runtime.Object, error) {
	key := fmt.Sprintf("%T %s", list, namespace)
	if known, ok := u.lists[key]; ok {
		return known, nil
	}
	err := u.Reader.List(ctx, list, client.InNamespace(namespace))
	if kind := kindBeyond(list, namespace); kind != "" && apierrors.IsForbidden(err) {
		u.miss(kind)
		u.lists[key] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := apimeta.ExtractList(list)
	if err == nil {
		u.lists[key] = all
	}
	return all, err
}

func (u *apiReader) miss(kind string) {
	if kind != "" && !slices.Contains(u.unread, kind) {
		u.unread = append(u.unread, kind)
	}
}

// matches applies the one index that is asked for, if any.
func matches(o client.Object, asked *client.ListOptions) bool {
	if asked.FieldSelector == nil {
		return true
	}
	for field, value := range ownership.Indexes {
		if wanted, ok := asked.FieldSelector.RequiresExactMatch(field); ok {
			return value(o.(*v1beta1.TargetGroupBinding)) == wanted
		}
	}
	return false
}

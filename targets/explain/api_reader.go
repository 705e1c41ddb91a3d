// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// apiReader answers from the API server what is asked of a cache with indexes elsewhere: it lists each kind of a namespace
// once, whole, and looks through it. Of kinds outside of the namespace, which not everybody may read, it reads what it may.
type apiReader struct {
	client.Reader
	lists  map[string][]runtime.Object // by kind and namespace
	unread []string
}

func newAPIReader(reader client.Reader) *apiReader {
	return &apiReader{Reader: reader, lists: map[string][]runtime.Object{}}
}

// Get notes that nodes may not be read.
func (u *apiReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	err := u.Reader.Get(ctx, key, o)
	if _, isNode := o.(*corev1.Node); isNode && apierrors.IsForbidden(err) {
		u.miss("nodes")
	}
	return err
}

// List takes bindings of all namespaces that may not be read for none.
func (u *apiReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(opts)
	all, err := u.all(ctx, list, asked.Namespace)
	if _, bindings := list.(*v1beta1.TargetGroupBindingList); bindings && asked.Namespace == "" && apierrors.IsForbidden(err) {
		u.miss("targetgroupbindings of other namespaces")
		return nil
	}
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
	if err := u.Reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	all, err := apimeta.ExtractList(list)
	if err == nil {
		u.lists[key] = all
	}
	return all, err
}

func (u *apiReader) miss(kind string) {
	if !slices.Contains(u.unread, kind) {
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

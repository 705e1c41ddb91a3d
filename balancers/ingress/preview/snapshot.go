// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress/objects"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Snapshot is a client that reads all objects of a kind once, however often they are listed, and writes nothing. It is for one goroutine.
type Snapshot struct {
	client.Client // of dry runs
	namespaces    []string
	proposed      []client.Object
	places        map[place]int // of those that are proposed
	read          map[reflect.Type][]client.Object
	// home is where those are read who may not read the whole cluster; "" is an error then. Unread are the kinds of which not all is read.
	home   string
	unread []string
}

// NewSnapshot is one of the cluster; of these namespaces, or of all when none is given.
func NewSnapshot(c client.Client, namespaces []string) *Snapshot {
	return &Snapshot{Client: client.NewDryRunClient(c), namespaces: namespaces, read: map[reflect.Type][]client.Object{}}
}

// Propose has objects stand in place of the cluster's with their names, as if they had been applied: what the API server and controllers
// have written to those stays. It returns those that are new.
func (s *Snapshot) Propose(ctx context.Context, objects []client.Object) (created []client.Object, err error) {
	for _, object := range objects {
		there := object.DeepCopyObject().(client.Object)
		err := s.Client.Get(ctx, client.ObjectKeyFromObject(object), there)
		switch {
		case apierrors.IsNotFound(err):
			created, there = append(created, object), nil
		case err != nil:
			return nil, fmt.Errorf("getting %T %s: %w", object, client.ObjectKeyFromObject(object), err)
		}
		settle(object, there)
		s.propose(object)
	}
	clear(s.read)
	return created, nil
}

// place is of which type and name an object is.
type place struct {
	of  reflect.Type
	key client.ObjectKey
}

func placeOf(o client.Object) place { return place{reflect.TypeOf(o), client.ObjectKeyFromObject(o)} }

// propose has an object stand in place of the cluster's with its name. Of two of one name the first counts.
func (s *Snapshot) propose(object client.Object) {
	if s.places == nil {
		s.places = map[place]int{}
	}
	if _, known := s.places[placeOf(object)]; !known {
		s.places[placeOf(object)] = len(s.proposed)
	}
	s.proposed = append(s.proposed, object)
}

// Get reads one object. What is proposed counts.
func (s *Snapshot) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	i, isProposed := s.places[place{reflect.TypeOf(into), key}]
	if !isProposed {
		return s.Client.Get(ctx, key, into, opts...)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(s.proposed[i].DeepCopyObject()).Elem())
	return nil
}

// List lists objects by their namespace, their labels, and the fields that have an index. What is proposed counts.
func (s *Snapshot) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	all, err := s.all(ctx, list)
	if err != nil {
		return err
	}
	var out []runtime.Object
	for _, object := range all {
		isIn := o.Namespace == "" || object.GetNamespace() == o.Namespace
		if isIn && (o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(object.GetLabels()))) && hasFields(object, o.FieldSelector) {
			out = append(out, object)
		}
	}
	return apimeta.SetList(list, out)
}

// hasFields reports whether an object has the value of each field.
func hasFields(object client.Object, selector fields.Selector) bool {
	if selector == nil {
		return true
	}
	return !slices.ContainsFunc(selector.Requirements(), func(r fields.Requirement) bool {
		return !slices.Contains(objects.ValuesOf(object, r.Field), r.Value)
	})
}

// all are the objects of a kind. They are not written to.
func (s *Snapshot) all(ctx context.Context, list client.ObjectList) ([]client.Object, error) {
	kind := reflect.TypeOf(list)
	if objects, ok := s.read[kind]; ok {
		return objects, nil
	}
	into := list.DeepCopyObject().(client.ObjectList)
	err := s.Client.List(ctx, into)
	if s.home != "" && apierrors.IsForbidden(err) {
		err = s.readLess(ctx, into)
	}
	if err != nil {
		return nil, err
	}
	var objects []client.Object
	item := itemOf(into)
	err = apimeta.EachListItem(into, func(o runtime.Object) error {
		object := o.(client.Object)
		if _, isProposed := s.places[placeOf(object)]; s.watches(object) && !isProposed {
			objects = append(objects, object)
		}
		return nil
	})
	for _, object := range s.proposed {
		if reflect.TypeOf(object).Elem() == item && s.watches(object) {
			objects = append(objects, object)
		}
	}
	s.read[kind] = objects
	return objects, err
}

// readLess reads objects of a kind in one namespace, and none of a kind that is in no namespace.
func (s *Snapshot) readLess(ctx context.Context, into client.ObjectList) error {
	kind, namespaced := "", false
	switch into.(type) {
	case *networkingv1.IngressClassList:
		kind = ingressClasses
	case *ingressapi.IngressClassParamsList:
		kind = ingressClassParams
	case *corev1.NamespaceList:
		kind = namespaces
	case *networkingv1.IngressList:
		kind, namespaced = otherIngresses, true
	case *v1beta1.TargetGroupBindingList:
		kind, namespaced = "targetgroupbindings of other namespaces", true
	}
	if !slices.Contains(s.unread, kind) {
		s.unread = append(s.unread, kind)
	}
	if !namespaced {
		return nil
	}
	return s.Client.List(ctx, into, client.InNamespace(s.home))
}

// What may not be read, in the words of RBAC.
const (
	ingressClasses     = "ingressclasses"
	ingressClassParams = "ingressclassparams"
	namespaces         = "namespaces"
	otherIngresses     = "ingresses of other namespaces"
)

func (s *Snapshot) watches(o client.Object) bool {
	return len(s.namespaces) == 0 || o.GetNamespace() == "" || slices.Contains(s.namespaces, o.GetNamespace())
}

// itemOf is the type of the items of a list.
func itemOf(list client.ObjectList) reflect.Type {
	items, _ := reflect.TypeOf(list).Elem().FieldByName("Items")
	return items.Type.Elem()
}

func isSame(a, b client.Object) bool {
	return reflect.TypeOf(a) == reflect.TypeOf(b) && client.ObjectKeyFromObject(a) == client.ObjectKeyFromObject(b)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

const (
	// fieldOwner owns, server-side, the fields that Apply sets.
	fieldOwner = "targetgate-e2e"

	// servedTimeout ends the wait for a definition that the API server has accepted but cannot serve.
	servedTimeout = 30 * time.Second

	namespaceKind  = "Namespace"
	definitionKind = "CustomResourceDefinition"
)

// Apply makes the objects of the YAML files exist as they are there, by server-side apply as administrator, and takes
// over fields that others set. A path may be a folder: its YAML files are meant, without those in folders below
// and without kustomization.yaml.
// Namespaces and custom resource definitions go first; the rest keeps the order of paths, file names and documents. An
// object of a namespaced kind that names no namespace goes to the default one. On return every definition is served. It
// stops at the first object that fails.
func (c *Cluster) Apply(ctx context.Context, paths ...string) error {
	objects, err := readManifests(paths...)
	if err != nil {
		return err
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return c.applyObjects(ctx, objects)
}

// rank is lower for what others need in order to exist.
func rank(object *unstructured.Unstructured) int {
	if kind := object.GetKind(); kind == namespaceKind || kind == definitionKind {
		return 0
	}
	return 1
}

func (c *Cluster) applyObjects(ctx context.Context, objects []*unstructured.Unstructured) error {
	a, err := c.newApplier()
	if err != nil {
		return fmt.Errorf("creating a client to apply with: %w", err)
	}
	for _, object := range objects {
		if err := a.apply(ctx, object); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// applier applies objects of any kind. It finds out once which kinds there are, and again after each definition.
type applier struct {
	objects dynamic.Interface
	kinds   meta.ResettableRESTMapper
}

func (c *Cluster) newApplier() (*applier, error) {
	config := c.AdminConfig()
	config.WarningHandler = warnings{c.log}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kinds := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.client.Discovery()))
	return &applier{objects: objects, kinds: kinds}, nil
}

func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	mapping, err := a.kinds.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	resource := a.objects.Resource(mapping.Resource).Namespace(object.GetNamespace())
	options := metav1.ApplyOptions{FieldManager: fieldOwner, Force: true}
	if _, err := resource.Apply(ctx, object.GetName(), object, options); err != nil {
		return err
	}
	if kind.Kind != definitionKind {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	return until(ctx, "the definition to be served", func(ctx context.Context) error {
		definition, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		return a.served(definition)
	})
}

// served returns nil when clients can find the kind that the custom resource definition defines. Being established is
// not enough for that: discovery comes a moment later.
func (a *applier) served(object *unstructured.Unstructured) error {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return err
	}
	if !apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established) {
		return errors.New("not established")
	}
	a.kinds.Reset()
	kind := schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}
	for _, version := range definition.Spec.Versions {
		if !version.Served {
			continue
		}
		if _, err := a.kinds.RESTMapping(kind, version.Name); err != nil {
			return err
		}
	}
	return nil
}

// warnings logs what the API server thinks of an object that it accepts all the same.
type warnings struct {
	log logr.Logger
}

// HandleWarningHeader implements rest.WarningHandler.
func (w warnings) HandleWarningHeader(_ int, _, text string) {
	w.log.Info("The API server warns", "warning", text)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// InstallWebhooks applies the webhook configurations of the manifest (or folder of manifests), with one change: the port
// of the services that they name is that of a server on this machine. A service itself is made one of type ExternalName
// that leads here: the API server follows it by itself, and still demands a certificate for <service>.<namespace>.svc. So
// the rest of what is tested is what is shipped. The namespaces of the services must exist. Whoever serves has to set
// caBundle; applying again leaves it as it is.
//
// The API server acts on a new configuration a moment after it was written: wait for the first effect.
func (c *Cluster) InstallWebhooks(ctx context.Context, manifestPath string, port int) error {
	configurations, err := readManifests(manifestPath)
	if err != nil {
		return err
	}
	services := map[serviceKey]*unstructured.Unstructured{}
	for _, configuration := range configurations {
		keys, err := pointWebhooks(configuration, port)
		if err != nil {
			return fmt.Errorf("pointing %s %s to port %d: %w", configuration.GetKind(), configuration.GetName(), port, err)
		}
		for _, key := range keys {
			services[key] = key.leadingHere()
		}
	}
	for _, service := range services {
		configurations = append(configurations, service)
	}
	return c.applyObjects(ctx, configurations)
}

// serviceKey names a service.
type serviceKey struct{ namespace, name string }

func (k serviceKey) leadingHere() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"namespace": k.namespace, "name": k.name},
		"spec":     map[string]any{"type": "ExternalName", "externalName": "localhost"},
	}}
}

// pointWebhooks changes the port of every webhook's service in a configuration, and nothing else. It returns the services.
func pointWebhooks(configuration *unstructured.Unstructured, port int) ([]serviceKey, error) {
	switch configuration.GetKind() {
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
	default:
		return nil, fmt.Errorf("not a webhook configuration")
	}
	webhooks, found, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("no webhooks in it")
	}
	var keys []serviceKey
	for _, webhook := range webhooks {
		key, err := pointWebhook(webhook, port)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}

func pointWebhook(webhook any, port int) (serviceKey, error) {
	fields, ok := webhook.(map[string]any)
	if !ok {
		return serviceKey{}, fmt.Errorf("a webhook is no object but %T", webhook)
	}
	service, found, err := unstructured.NestedMap(fields, "clientConfig", "service")
	if err != nil {
		return serviceKey{}, err
	}
	if !found {
		return serviceKey{}, fmt.Errorf("webhook %v names no service", fields["name"])
	}
	namespace, _ := service["namespace"].(string)
	name, _ := service["name"].(string)
	if namespace == "" || name == "" {
		return serviceKey{}, fmt.Errorf("webhook %v names no service", fields["name"])
	}
	service["port"] = int64(port)
	return serviceKey{namespace, name}, unstructured.SetNestedMap(fields, service, "clientConfig", "service")
}

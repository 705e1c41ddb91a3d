// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// InstallWebhooks applies the webhook configurations of the manifest (or folder of manifests), with one change: where a
// webhook's client configuration names a service, it gets the URL plus the service's path instead, and the authority
// that the server's certificate is to be checked with. So the rest of what is tested is what is shipped. The URL is one
// that the API server can reach: https, a host that the certificate is for, a port, no path.
//
// The API server acts on a new configuration a moment after it was written: wait for the first effect.
func (c *Cluster) InstallWebhooks(ctx context.Context, manifestPath, url string, caPEM []byte) error {
	objects, err := readManifests(manifestPath)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := pointWebhooks(object, url, caPEM); err != nil {
			return fmt.Errorf("pointing %s %s to %s: %w", object.GetKind(), object.GetName(), url, err)
		}
	}
	return c.applyObjects(ctx, objects)
}

// pointWebhooks changes the client configuration of every webhook of a configuration, and nothing else.
func pointWebhooks(configuration *unstructured.Unstructured, url string, caPEM []byte) error {
	switch configuration.GetKind() {
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
	default:
		return fmt.Errorf("not a webhook configuration")
	}
	webhooks, found, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("no webhooks in it")
	}
	for _, webhook := range webhooks {
		if err := pointWebhook(webhook, url, caPEM); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}

func pointWebhook(webhook any, url string, caPEM []byte) error {
	fields, ok := webhook.(map[string]any)
	if !ok {
		return fmt.Errorf("a webhook is no object but %T", webhook)
	}
	service, found, err := unstructured.NestedMap(fields, "clientConfig", "service")
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("webhook %v names no service", fields["name"])
	}
	path, _, err := unstructured.NestedString(service, "path")
	if err != nil {
		return err
	}
	fields["clientConfig"] = map[string]any{
		"url":      strings.TrimSuffix(url, "/") + path,
		"caBundle": base64.StdEncoding.EncodeToString(caPEM),
	}
	return nil
}

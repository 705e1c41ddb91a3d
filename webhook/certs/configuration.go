// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/readiness"
)

// The informers list and watch by name, so that RBAC can limit them to that name.
//
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=targetgate-webhook,verbs=list;watch;patch

// configuration is the part of a webhook configuration, of either kind, that we read.
type configuration struct {
	kind          schema.GroupVersionKind
	name, version string
	hooks         []hook
}

type hook struct {
	name   string
	bundle []byte
	path   string // of the Service, or empty
}

func newHook(name string, config admissionregistrationv1.WebhookClientConfig) hook {
	h := hook{name: name, bundle: config.CABundle}
	if config.Service != nil {
		h.path = ptr.Deref(config.Service.Path, "")
	}
	return h
}

// configurationKinds are the two kinds of webhook configurations.
var configurationKinds = []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}

// podHook returns the configurations reduced to the pod webhook.
func podHook(configurations []configuration) []configuration {
	var out []configuration
	for _, c := range configurations {
		for _, h := range c.hooks {
			if h.name == readiness.PodWebhook {
				out = append(out, configuration{hooks: []hook{h}})
			}
		}
	}
	return out
}

// readConfigurations returns the mutating and the validating configuration of that name. If one is missing, it returns the
// other and a not-found error.
func readConfigurations(ctx context.Context, reader client.Reader, name string) ([]configuration, error) {
	var out []configuration
	var missing error
	for _, object := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
	} {
		err := reader.Get(ctx, client.ObjectKey{Name: name}, object)
		switch {
		case err == nil:
			out = append(out, newConfiguration(object))
		case client.IgnoreNotFound(err) == nil:
			missing = fmt.Errorf("reading webhook configuration %s: %w", name, err)
		default:
			return nil, fmt.Errorf("reading webhook configuration %s: %w", name, err)
		}
	}
	return out, missing
}

func newConfiguration(object client.Object) configuration {
	c := configuration{name: object.GetName(), version: object.GetResourceVersion()}
	switch o := object.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		c.kind = admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration")
		for _, h := range o.Webhooks {
			c.hooks = append(c.hooks, newHook(h.Name, h.ClientConfig))
		}
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		c.kind = admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration")
		for _, h := range o.Webhooks {
			c.hooks = append(c.hooks, newHook(h.Name, h.ClientConfig))
		}
	}
	return c
}

func (c configuration) upToDate(wanted, mayStay []*x509.Certificate) bool {
	for _, h := range c.hooks {
		if !upToDate(h.bundle, wanted, mayStay) {
			return false
		}
	}
	return true
}

// bundles returns the distinct caBundles of the configurations; usually there is one.
func bundles(configurations []configuration) [][]byte {
	var out [][]byte
	for _, c := range configurations {
		for _, h := range c.hooks {
			if !slices.ContainsFunc(out, func(b []byte) bool { return bytes.Equal(b, h.bundle) }) {
				out = append(out, h.bundle)
			}
		}
	}
	return out
}

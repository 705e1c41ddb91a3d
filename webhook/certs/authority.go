// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	cmtls "github.com/cert-manager/cert-manager/pkg/server/tls"
	"github.com/cert-manager/cert-manager/pkg/server/tls/authority"
	"k8s.io/client-go/rest"
)

// The empty Secret is part of the installation, so no permission to create Secrets is needed.
//
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=targetgate-webhook-ca,verbs=list;watch;update,namespace=targetgate-system

// newSource returns the library's source of certificates. It keeps the CA in the Secret, and signs a new certificate when the
// CA changes or a third of the old one's life is left.
func newSource(options Options, config *rest.Config) *cmtls.DynamicSource {
	return &cmtls.DynamicSource{
		DNSNames: []string{options.host()},
		Authority: &authority.DynamicAuthority{
			SecretNamespace: options.Namespace, SecretName: options.Secret, RESTConfig: config,
			CommonName: commonName, CADuration: options.CADuration, LeafDuration: options.CertDuration,
		},
	}
}

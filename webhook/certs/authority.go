// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	cmtls "github.com/cert-manager/cert-manager/pkg/server/tls"
	"github.com/cert-manager/cert-manager/pkg/server/tls/authority"
	"k8s.io/client-go/rest"
)

// The Secret is installed, empty, with the rest: so no right is needed to create any.
//
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=targetgate-webhook-ca,verbs=list;watch;update,namespace=targetgate-system

// newSource returns the library's source of certificates, which keeps the Secret filled and signs us a new certificate
// when the CA changes or a third of the old one's life is left.
func newSource(options Options, config *rest.Config) *cmtls.DynamicSource {
	return &cmtls.DynamicSource{
		DNSNames: []string{options.host()},
		Authority: &authority.DynamicAuthority{
			SecretNamespace: options.Namespace, SecretName: options.Secret, RESTConfig: config,
			CommonName: commonName, CADuration: options.CADuration, LeafDuration: options.CertDuration,
		},
	}
}

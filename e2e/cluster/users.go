// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	adminUser  = "targetgate-e2e-admin"
	adminGroup = "system:masters" // may do everything, whatever RBAC says
)

// AdminConfig returns the configuration of a client that may do everything. Requests are not limited in their rate.
// Every call returns a configuration of its own.
func (c *Cluster) AdminConfig() *rest.Config {
	return rest.CopyConfig(c.admin)
}

// UserConfig returns the configuration of a client that is the user of that name in those groups, and may do what RBAC
// grants to these: at first, nothing. Requests are not limited in their rate.
func (c *Cluster) UserConfig(name string, groups ...string) (*rest.Config, error) {
	pair, err := c.ca.client(name, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:  c.apiServerURL(),
		QPS:   -1, // no limit
		Burst: -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   c.ca.pem,
			CertData: pair.certificate,
			KeyData:  pair.key,
		},
	}, nil
}

// tokenLifetime outlasts every run. Kubelets renew a pod's token; here nobody does.
const tokenLifetime = 24 * time.Hour

// ServiceAccountConfig returns the configuration of a client that is the existing service account, by a token as its pods
// have one. Requests are not limited in their rate.
func (c *Cluster) ServiceAccountConfig(ctx context.Context, namespace, name string) (*rest.Config, error) {
	seconds := int64(tokenLifetime / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	request, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating token of service account %s/%s: %w", namespace, name, err)
	}
	return &rest.Config{
		Host: c.apiServerURL(), QPS: -1, Burst: -1,
		BearerToken: request.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: c.ca.pem},
	}, nil
}

// CA returns the PEM of the authority that signed the API server's and the users' certificates.
func (c *Cluster) CA() []byte {
	return c.ca.pem
}

// WriteKubeconfig writes a kubeconfig file, readable by its owner only, that connects as the configuration does. All of
// the configuration's certificates, keys and token must be data, not files; they become part of the file. Its request rate
// does not, as kubeconfig files know of none.
func WriteKubeconfig(path string, config *rest.Config) error {
	const name = "targetgate-e2e"
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthorityData: config.CAData,
	}
	kubeconfig.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	return nil
}

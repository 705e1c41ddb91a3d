// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

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

// CA returns the PEM of the authority that signed the API server's and the users' certificates.
func (c *Cluster) CA() []byte {
	return c.ca.pem
}

// WriteKubeconfig writes a kubeconfig file, readable by its owner only, that connects as the configuration does. All of
// the configuration's certificates and keys must be data, not files; they become part of the file. Its request rate does
// not, as kubeconfig files know of none.
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
	}
	kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	kubeconfig.CurrentContext = name
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	return nil
}

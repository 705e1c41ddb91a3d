// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// AnyClient among the names makes ClientCheck accept every name.
const AnyClient = "*"

// ClientCheck accepts only clients with a certificate that a CA in a file signed for one of the names. The names matter because
// a cluster's CA also signs certificates for kubelets and many users. The file is read again at each handshake: these are few,
// because API servers keep their connections.
type ClientCheck struct {
	path  string
	names []string

	mu      sync.Mutex
	content []byte
	pool    *x509.CertPool
}

// NewClientCheck reads the file. It fails if the file contains no certificate.
func NewClientCheck(path string, names []string) (*ClientCheck, error) {
	c := &ClientCheck{path: path, names: names}
	return c, c.read()
}

// Configure makes the server require a client certificate. The configuration must not be changed once it is in use.
func (c *ClientCheck) Configure(config *tls.Config) {
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, c.current()
	config.VerifyConnection = c.checkName
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		changed := config.Clone()
		changed.ClientCAs = c.current()
		return changed, nil
	}
}

// checkName checks the name of a verified certificate.
func (c *ClientCheck) checkName(state tls.ConnectionState) error {
	name := state.PeerCertificates[0].Subject.CommonName
	if slices.Contains(c.names, name) || slices.Contains(c.names, AnyClient) {
		return nil
	}
	return fmt.Errorf("the client certificate is for %q, must be for one of %q", name, c.names)
}

// current returns the CAs in the file, or the previous ones if the file cannot be read.
func (c *ClientCheck) current() *x509.CertPool {
	if err := c.read(); err != nil {
		log.Log.Error(err, "Failed to read the client CA file, using the previous CAs")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pool
}

func (c *ClientCheck) read() error {
	content, err := os.ReadFile(c.path)
	if err != nil {
		return fmt.Errorf("reading client CA file: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Equal(content, c.content) {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return fmt.Errorf("reading client CA file: no certificate in %s", c.path)
	}
	c.content, c.pool = content, pool
	return nil
}

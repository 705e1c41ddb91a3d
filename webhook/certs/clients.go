// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// ClientCheck lets only clients in whose certificate the CAs of a file have signed. The file is read again at each
// handshake: these are few, as API servers keep their connections.
type ClientCheck struct {
	path string

	mu      sync.Mutex
	content []byte
	pool    *x509.CertPool
}

// NewClientCheck reads the file. It fails when there is no certificate in it.
func NewClientCheck(path string) (*ClientCheck, error) {
	c := &ClientCheck{path: path}
	return c, c.read()
}

// Configure has the server demand a certificate of its clients. The configuration must not be changed once it is served.
func (c *ClientCheck) Configure(config *tls.Config) {
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, c.current()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		changed := config.Clone()
		changed.ClientCAs = c.current()
		return changed, nil
	}
}

// current are the CAs of now, or those of before when the file cannot be read.
func (c *ClientCheck) current() *x509.CertPool {
	if err := c.read(); err != nil {
		log.Log.Error(err, "Checking clients by the CAs that were in the file before")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pool
}

func (c *ClientCheck) read() error {
	content, err := os.ReadFile(c.path)
	if err != nil {
		return fmt.Errorf("reading the CA of clients: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Equal(content, c.content) {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return fmt.Errorf("reading the CA of clients: no certificate in %s", c.path)
	}
	c.content, c.pool = content, pool
	return nil
}

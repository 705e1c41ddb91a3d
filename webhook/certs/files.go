// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// Files serves a certificate from files. It reloads them when they change: at once, or within 10 s if the file system does not
// report changes. If they cannot be read, it logs the error and keeps the previous certificate.
type Files struct {
	watcher *certwatcher.CertWatcher
}

// NewFiles reads the files. It fails if they do not contain a certificate with its key.
func NewFiles(certificate, key string) (*Files, error) {
	watcher, err := certwatcher.New(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("reading the serving certificate: %w", err)
	}
	watcher.RegisterCallback(func(c tls.Certificate) { setExpiry(servingCertificate, c.Leaf) })
	return &Files{watcher: watcher}, nil
}

// GetCertificate is for tls.Config.
func (f *Files) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.watcher.GetCertificate(hello)
}

// SetupWithManager adds the watch to the manager.
func (f *Files) SetupWithManager(mgr ctrl.Manager) error { return mgr.Add(f.watcher) }

// Ready checks that the certificate is within its dates. The package comment says why it checks nothing else.
func (f *Files) Ready(*http.Request) error {
	certificate, err := f.watcher.GetCertificate(nil)
	if err != nil {
		return err
	}
	if now := time.Now(); now.After(certificate.Leaf.NotAfter) || now.Before(certificate.Leaf.NotBefore) {
		return fmt.Errorf("the serving certificate is only valid from %s to %s", certificate.Leaf.NotBefore, certificate.Leaf.NotAfter)
	}
	return nil
}

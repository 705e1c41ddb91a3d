// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"path/filepath"
	"testing"
	"time"
)

func TestClientCheck(t *testing.T) {
	ca, other := newCA(t, "API server", 0), newCA(t, "anybody", 0)
	path := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, path, bundleOf(ca))
	check, err := NewClientCheck(path, []string{"client"})
	if err != nil {
		t.Fatal(err)
	}
	server := &tls.Config{Certificates: []tls.Certificate{*ca.sign(t, testHost)}, Time: testTime, MinVersion: tls.VersionTLS12}
	check.Configure(server)
	if shake(t, server, ca, nil) == nil {
		t.Error("a client without a certificate gets in")
	}
	if err := shake(t, server, ca, ca); err != nil {
		t.Errorf("a client of the CA: %v", err)
	}
	if shake(t, server, ca, other) == nil {
		t.Error("a client of another CA gets in")
	}

	writeFile(t, path, []byte("garbage"))
	if err := shake(t, server, ca, ca); err != nil {
		t.Errorf("a client of the CA before the file was damaged: %v", err)
	}
	writeFile(t, path, bundleOf(other))
	if err := shake(t, server, ca, other); err != nil {
		t.Errorf("a client of the CA that is now in the file: %v", err)
	}
	if shake(t, server, ca, ca) == nil {
		t.Error("a client of the CA that is no longer in the file gets in")
	}
}

// The CA of a cluster has signed for its kubelets, too.
func TestClientCheckAsksForTheName(t *testing.T) {
	ca := newCA(t, "cluster", 0)
	path := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, path, bundleOf(ca))
	for name, tc := range map[string]struct {
		names []string
		want  bool
	}{
		"another name": {names: []string{"kube-apiserver"}},
		"one of them":  {names: []string{"kube-apiserver", "client"}, want: true},
		"any":          {names: []string{AnyClient}, want: true},
		"none":         {},
	} {
		t.Run(name, func(t *testing.T) {
			check, err := NewClientCheck(path, tc.names)
			if err != nil {
				t.Fatal(err)
			}
			server := &tls.Config{Certificates: []tls.Certificate{*ca.sign(t, testHost)}, Time: testTime, MinVersion: tls.VersionTLS12}
			check.Configure(server)
			if err := shake(t, server, ca, ca); (err == nil) != tc.want {
				t.Errorf("the client gets in: %v (%v), want %v", err == nil, err, tc.want)
			}
		})
	}
}

func TestNewClientCheckFails(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, empty, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY"}))
	for name, path := range map[string]string{"no file": empty + ".gone", "no certificate": empty} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewClientCheck(path, nil); err == nil {
				t.Error("no error")
			}
		})
	}
}

func testTime() time.Time { return now }

// shake is the server's error when a client comes with a certificate of a CA, or with none.
func shake(t *testing.T, server *tls.Config, serverCA, clientCA *signer) error {
	t.Helper()
	client := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: testHost, Time: testTime, MinVersion: tls.VersionTLS12}
	client.RootCAs.AddCert(serverCA.Certificate)
	if clientCA != nil {
		certificate := clientCA.sign(t, "client")
		client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	serverSide, clientSide := net.Pipe()
	defer serverSide.Close()
	go func() {
		defer clientSide.Close()
		conn := tls.Client(clientSide, client)
		if conn.Handshake() == nil {
			_, _ = conn.Read(make([]byte, 1)) // an alert, or the end
		}
	}()
	return tls.Server(serverSide, server).Handshake()
}

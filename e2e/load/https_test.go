// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

func TestLoadByNameOverTLS(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "example.com" || r.TLS.ServerName != "example.com" {
			w.WriteHeader(http.StatusMisdirectedRequest)
		}
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate()) // is for example.com
	options := Options{
		URL: "https://example.com", Rate: 500, Workers: 1, KeepAlive: true, TLS: &tls.Config{RootCAs: roots},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != "example.com:443" {
				t.Errorf("dials %s, want example.com:443", address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}
	if r := run(t, 20, options); r.Failed != 0 || connections.Load() != 1 {
		t.Errorf("%d of %d failed (%v) on %d connections, want none on one", r.Failed, r.Requests, r.ByStatus, connections.Load())
	}
	options.TLS = nil
	if r := run(t, 3, options); r.ByStatus[Other] != r.Requests {
		t.Errorf("got %v without trust in the server, want failures of kind other", r.ByStatus)
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
)

const balancer = "k8s-shop-1.eu-west-1.elb.amazonaws.com"

func TestAddressesByName(t *testing.T) {
	unknown := errors.New("no such host")
	n := New(func(host string, port int) (string, error) {
		if host != balancer {
			return "", unknown
		}
		return "127.0.0.1:" + strconv.Itoa(port+8000), nil
	})
	n.Alias("shop.example.com", balancer)
	n.Alias("WWW.example.com.", "shop.example.com")
	n.Alias("*.example.com", "other.eu-west-1.elb.amazonaws.com")
	n.Alias("*.example.net", balancer)
	n.Alias("moved.example.com", "other.eu-west-1.elb.amazonaws.com")
	n.Alias("moved.example.com", balancer)
	n.Alias("gone.example.org", balancer)
	n.Alias("gone.example.org", "")
	n.Alias("a.example.org", "b.example.org")
	n.Alias("b.example.org", "a.example.org")
	for address, want := range map[string]string{
		balancer + ":80":           "127.0.0.1:8080",
		"shop.example.com:443":     "127.0.0.1:8443",
		"www.example.com:80":       "127.0.0.1:8080",
		"moved.example.com:80":     "127.0.0.1:8080",
		"Shop.Example.com.:80":     "127.0.0.1:8080",
		"any.example.com:80":       "",
		"any.example.net:80":       "127.0.0.1:8080",
		"a.any.example.net:80":     "",
		"deep.shop.example.com:80": "",
		"gone.example.org:80":      "",
		"a.example.org:80":         "",
		"127.0.0.9:80":             "127.0.0.9:80",
		"[::1]:80":                 "[::1]:80",
		"localhost:80":             "localhost:80",
	} {
		t.Run(address, func(t *testing.T) {
			got, err := n.address(address)
			if got != want || (err != nil) != (want == "") {
				t.Errorf("resolves to %q (%v), want %q", got, err, want)
			}
		})
	}
}

func TestRequestsKeepTheirHostAndServerName(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Host+" "+r.TLS.ServerName)
	}))
	t.Cleanup(server.Close)
	n := New(func(host string, port int) (string, error) {
		if host != balancer || port != 443 {
			return "", fmt.Errorf("asked for %s, port %d", host, port)
		}
		return server.Listener.Addr().String(), nil
	})
	n.Alias("example.com", balancer) // as the certificate of httptest is for
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	client := http.Client{Transport: n.Transport(roots)}
	t.Cleanup(client.CloseIdleConnections)
	response, err := client.Get("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var host, serverName string
	if _, err := fmt.Fscan(response.Body, &host, &serverName); err != nil || host != "example.com" || serverName != "example.com" {
		t.Errorf("the server sees host %q and server name %q (%v), want example.com", host, serverName, err)
	}
}

func TestUnknownHostsAreErrorsOfDialing(t *testing.T) {
	n := New(func(host string, _ int) (string, error) { return "", &net.DNSError{Name: host, IsNotFound: true} })
	_, err := n.DialContext(t.Context(), "tcp", "nowhere.example.com:80")
	var dns *net.DNSError
	if !errors.As(err, &dns) || dns.Name != "nowhere.example.com" {
		t.Errorf("error is %v, want a DNS error for nowhere.example.com", err)
	}
}

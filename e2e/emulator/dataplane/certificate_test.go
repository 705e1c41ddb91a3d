// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// secure gives the bed's load balancer a listener on port 443 with certificates, the first as the default one. It returns its DNS name.
func (b *bed) secure(certificates ...string) (dnsName string) {
	b.t.Helper()
	listener, err := b.machine.CreateListener(state.ListenerSpec{
		LoadBalancer: b.lb, Protocol: state.ProtocolHTTPS, Port: 443, Group: b.group,
		SSLPolicy: "ELBSecurityPolicy-2016-08", Certificates: certificates[:1],
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.machine.AddCertificates(listener.ARN, certificates); err != nil {
		b.t.Fatal(err)
	}
	return b.dnsName()
}

func (b *bed) dnsName() string {
	b.t.Helper()
	balancers, err := b.machine.Balancers("", []string{b.lb}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return balancers[0].DNSName
}

func (b *bed) certificate(key string, domains ...string) string {
	b.t.Helper()
	c, err := b.cloud.ACM.Add("", acm.Spec{Domains: domains, Key: key})
	if err != nil {
		b.t.Fatal(err)
	}
	return c.ARN
}

// presented is the certificate that a client gets for a name, as its key algorithm and domains; "" is a handshake that fails.
func presented(t *testing.T, address, name string, rsaOnly bool) string {
	t.Helper()
	config := &tls.Config{ServerName: name, InsecureSkipVerify: true}
	if rsaOnly {
		config.MaxVersion, config.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
	}
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return ""
	}
	defer conn.Close()
	leaf := conn.ConnectionState().PeerCertificates[0]
	return leaf.PublicKeyAlgorithm.String() + " " + strings.Join(leaf.DNSNames, ",")
}

func TestCertificatesAreChosenByServerName(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	door, err := b.plane.Resolve(b.secure(
		b.certificate(acm.RSA2048, "default.example.org"),
		b.certificate(acm.P256, "*.example.com"),
		b.certificate(acm.RSA2048, "shop.example.com", "www.example.com"),
		b.certificate(acm.P256, "www.example.com"),
	), 443)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		server  string
		rsaOnly bool
		want    string
	}{
		"the exact name comes before a wildcard": {"shop.example.com", false, "RSA shop.example.com,www.example.com"},
		"case does not matter":                   {"SHOP.example.com", false, "RSA shop.example.com,www.example.com"},
		"a wildcard covers one label":            {"any.example.com", false, "ECDSA *.example.com"},
		"a wildcard covers one label only":       {"a.b.example.com", false, "RSA default.example.org"},
		"no name gets the default":               {"", false, "RSA default.example.org"},
		"another name gets the default":          {"example.net", false, "RSA default.example.org"},
		"of two the one with an ECDSA key":       {"www.example.com", false, "ECDSA www.example.com"},
		"of two the one the client understands":  {"www.example.com", true, "RSA shop.example.com,www.example.com"},
		"none that the client understands":       {"any.example.com", true, "RSA default.example.org"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := presented(t, door, tc.server, tc.rsaOnly); got != tc.want {
				t.Errorf("certificate is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCertificateGoneFromACMIsNotSent(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	first, second := b.certificate("", "a.example.com"), b.certificate("", "b.example.com")
	door, err := b.plane.Resolve(b.secure(first, second), 443)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ remove, want string }{{first, "ECDSA b.example.com"}, {second, ""}} {
		if err := b.cloud.ACM.Delete(step.remove); err != nil {
			t.Fatal(err)
		}
		if got := presented(t, door, "a.example.com", false); got != step.want {
			t.Errorf("certificate is %q, want %q", got, step.want)
		}
	}
}

func TestListenersTakeIssuedCertificatesOnly(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	c, err := b.cloud.ACM.Add("", acm.Spec{Domains: []string{"a"}, Status: acm.Pending})
	if err != nil {
		t.Fatal(err)
	}
	spec := state.ListenerSpec{
		LoadBalancer: b.lb, Protocol: state.ProtocolHTTPS, Port: 443, Group: b.group,
		SSLPolicy: "ELBSecurityPolicy-2016-08", Certificates: []string{c.ARN},
	}
	if _, err := b.machine.CreateListener(spec); !refusal.Is(err, "CertificateNotFound") {
		t.Errorf("a pending certificate: error is %v, want CertificateNotFound", err)
	}
	if err := b.cloud.ACM.SetStatus(c.ARN, acm.Issued); err != nil {
		t.Fatal(err)
	}
	if _, err := b.machine.CreateListener(spec); err != nil {
		t.Errorf("an issued certificate: %v", err)
	}
}

func TestResolveNamesOfLoadBalancers(t *testing.T) {
	b := newBed(t, state.Application, Options{})
	name := b.dnsName()
	want := b.plane.FrontDoor(b.group)
	for _, host := range []string{name, strings.ToUpper(name) + ".", "dualstack." + name} {
		if got, err := b.plane.Resolve(host, 80); got != want || err != nil {
			t.Errorf("%s is %q (%v), want %q", host, got, err, want)
		}
	}
	if _, err := b.plane.Resolve(name, 81); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a port without a listener: error is %v, want connection refused", err)
	}
	noSuchHost := func(host string) {
		t.Helper()
		var dns *net.DNSError
		if _, err := b.plane.Resolve(host, 80); !errors.As(err, &dns) || !dns.IsNotFound {
			t.Errorf("%s: error is %v, want no such host", host, err)
		}
	}
	noSuchHost("x" + name)
	if err := b.machine.DeleteBalancer(b.lb); err != nil {
		t.Fatal(err)
	}
	noSuchHost(name)
}

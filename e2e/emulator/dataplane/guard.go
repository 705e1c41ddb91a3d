// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// guarded takes in only the clients that the load balancer's security groups let in. From others nothing is heard: they can connect
// here, as loopback has no firewall, and are never answered.
type guarded struct {
	net.Listener
	door *door
}

func (d *door) guard(socket net.Listener) net.Listener { return guarded{socket, d} }

// Accept waits for the next client that is let in.
func (g guarded) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p := g.door.plane
		if p.machine.Admits(g.door.listener.ARN, p.client(conn.RemoteAddr().String())) {
			return conn, nil
		}
		p.work.Go(func() { g.hold(conn) })
	}
}

// hold keeps a client waiting until it leaves.
func (g guarded) hold(conn net.Conn) {
	unhook := context.AfterFunc(g.door.plane.ctx, func() { _ = conn.Close() })
	defer unhook()
	defer conn.Close()
	_, _ = io.Copy(io.Discard, conn) // ends when the client leaves
}

// verifier checks a client's certificate against the trust store. One that has expired is checked as of its last moment if the listener
// ignores that.
func (d *door) verifier(mutual state.MutualAuth) func(tls.ConnectionState) error {
	return func(conn tls.ConnectionState) error {
		stores, err := d.plane.machine.TrustStores(nil, []string{mutual.TrustStore})
		if err != nil {
			return err
		}
		leaf := conn.PeerCertificates[0]
		opts := x509.VerifyOptions{
			Roots: stores[0].Pool, Intermediates: x509.NewCertPool(), CurrentTime: d.plane.now(),
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		if mutual.IgnoreExpiry && opts.CurrentTime.After(leaf.NotAfter) {
			opts.CurrentTime = leaf.NotAfter
		}
		for _, c := range conn.PeerCertificates[1:] {
			opts.Intermediates.AddCert(c)
		}
		_, err = leaf.Verify(opts)
		return err
	}
}

var errNoCertificate = errors.New("no certificate")

// tlsConfig has Options.Certificate choose among the certificates that the listener has now.
func (d *door) tlsConfig() *tls.Config {
	config := func(mutual state.MutualAuth) *tls.Config {
		config := &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			listeners, err := d.plane.machine.Listeners("", d.listener.ARN)
			if err != nil {
				return nil, err
			}
			return d.plane.opts.Certificate(listeners[0], hello)
		}}
		if mutual.Mode == state.MutualPassthrough {
			config.ClientAuth = tls.RequestClientCert
		}
		if mutual.Mode == state.MutualVerify {
			config.ClientAuth = tls.RequireAnyClientCert
			config.VerifyConnection = d.verifier(mutual)
		}
		return config
	}
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		listeners, err := d.plane.machine.Listeners("", d.listener.ARN)
		if err != nil {
			return nil, err
		}
		return config(listeners[0].MutualAuth), nil
	}}
}

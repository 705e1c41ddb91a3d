// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
)

// Names resolves host names. It is safe for concurrent use.
type Names struct {
	resolve func(host string, port int) (string, error)

	mu      sync.Mutex
	aliases map[string]string
}

// New makes Names without aliases. resolve gives host:port to dial for the DNS name of a load balancer and a port.
func New(resolve func(host string, port int) (string, error)) *Names {
	return &Names{resolve: resolve, aliases: map[string]string{}}
}

// Alias makes a host an alias of a DNS name, or of another alias, in place of what it was; with "" it is none any more. A host may begin
// with *. for all names one label below.
func (n *Names) Alias(host, dnsName string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if dnsName == "" {
		delete(n.aliases, canonical(host))
		return
	}
	n.aliases[canonical(host)] = canonical(dnsName)
}

func canonical(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// mostAliases is how many of them may lead from one to the next.
const mostAliases = 8

// target follows aliases to the end.
func (n *Names) target(host string) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := canonical(host)
	for range mostAliases {
		next, ok := n.aliases[name]
		if _, rest, below := strings.Cut(name, "."); !ok && below {
			next, ok = n.aliases["*."+rest]
		}
		if !ok {
			return name, nil
		}
		name = next
	}
	return "", fmt.Errorf("resolving %s: more than %d aliases lead from one to the next", host, mostAliases)
}

// DialContext connects to the front door of host:port. Addresses and localhost are dialled as they are.
func (n *Names) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	address, err := n.address(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, network, address)
}

func (n *Names) address(address string) (string, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return address, nil
	}
	port, err := strconv.Atoi(service)
	if err != nil {
		return "", fmt.Errorf("reading port of %s: %w", address, err)
	}
	name, err := n.target(host)
	if err != nil {
		return "", err
	}
	return n.resolve(name, port)
}

// Transport is one for http and https that dials by DialContext. roots are the certificate authorities that it trusts, nil are the
// system's.
func (n *Names) Transport(roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext:     n.DialContext,
		TLSClientConfig: &tls.Config{RootCAs: roots},
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"crypto/ecdsa"
	"crypto/tls"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// certificateFor chooses among the certificates of ACM that a listener has, as an ALB does: those for the very name that the client
// asks for, else those with a wildcard for it, else the default one. Of several, the first with an ECDSA key that the client
// understands is sent, else the first that it understands.
func certificateFor(aws *cloud.Cloud) func(state.Listener, *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return func(l state.Listener, hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		var has []acm.Certificate
		for _, arn := range l.Certificates {
			if c, err := aws.ACM.Certificate(arn); err == nil { // one that is gone from ACM is not sent
				has = append(has, c)
			}
		}
		if len(has) == 0 {
			return nil, errNoCertificate
		}
		name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
		for _, wanted := range []string{name, wildcardFor(name)} {
			fitting := slices.DeleteFunc(slices.Clone(has), func(c acm.Certificate) bool { return !named(c, wanted) })
			if pair := preferred(fitting, hello); pair != nil {
				return pair, nil
			}
		}
		return &has[0].Pair, nil
	}
}

// wildcardFor is the wildcard that covers a name; it stands for one label. "" is none.
func wildcardFor(name string) string {
	_, rest, ok := strings.Cut(name, ".")
	if !ok {
		return ""
	}
	return "*." + rest
}

func named(c acm.Certificate, wanted string) bool {
	return wanted != "" && slices.ContainsFunc(c.Domains, func(domain string) bool { return strings.EqualFold(domain, wanted) })
}

// preferred is the certificate that a client gets of several that fit; nil is none that it understands.
func preferred(fitting []acm.Certificate, hello *tls.ClientHelloInfo) *tls.Certificate {
	var first *tls.Certificate
	for i := range fitting {
		pair := &fitting[i].Pair
		if hello.SupportsCertificate(pair) != nil {
			continue
		}
		if _, elliptic := pair.PrivateKey.(*ecdsa.PrivateKey); elliptic {
			return pair
		}
		if first == nil {
			first = pair
		}
	}
	return first
}

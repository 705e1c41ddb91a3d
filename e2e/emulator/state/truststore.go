// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"crypto/x509"
	"slices"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// The modes of mutual authentication.
const (
	MutualOff         = "off"
	MutualPassthrough = "passthrough"
	MutualVerify      = "verify"
)

// MutualAuth says whether clients of an HTTPS listener show a certificate.
type MutualAuth struct {
	Mode, TrustStore             string
	IgnoreExpiry, AdvertiseNames bool
}

// TrustStore has the authorities whose certificates clients may show.
type TrustStore struct {
	ARN, Name string
	Pool      *x509.CertPool
}

// AddTrustStore makes a trust store.
func (m *Machine) AddTrustStore(name string, pool *x509.CertPool) TrustStore {
	m.enter()
	defer m.leave()
	store := TrustStore{
		Name: name, Pool: pool,
		ARN: m.region.ARN("elasticloadbalancing", "", "truststore/"+name+"/"+m.region.ID()),
	}
	m.trustStores = append(m.trustStores, store)
	return store
}

// TrustStores are those with one of the names or ARNs, else all.
func (m *Machine) TrustStores(names, arns []string) ([]TrustStore, error) {
	m.enter()
	defer m.leave()
	var found []TrustStore
	for _, store := range m.trustStores {
		if len(names)+len(arns) == 0 || slices.Contains(names, store.Name) || slices.Contains(arns, store.ARN) {
			found = append(found, store)
		}
	}
	if len(found) < len(names)+len(arns) {
		return nil, trustStoreNotFound()
	}
	return found, nil
}

func trustStoreNotFound() error {
	return refusal.New("TrustStoreNotFound", "The specified trust store was not found")
}

// mostVerifying is how many listeners of a load balancer may verify certificates.
const mostVerifying = 2

func (m *Machine) validateMutual(b *balancer, own string, spec ListenerSpec) error {
	a := spec.MutualAuth
	if a.Mode != "" && spec.Protocol != ProtocolHTTPS {
		return refusal.New("InvalidConfigurationRequest", "Mutual authentication is supported on HTTPS listeners only")
	}
	switch plain := (MutualAuth{Mode: a.Mode}); {
	case a.Mode != MutualVerify && a != plain:
		return refusal.Invalid("A trust store can be specified with mode 'verify' only")
	case a.Mode != MutualVerify:
		return refusal.OneOf("mode", a.Mode, []string{"", MutualOff, MutualPassthrough})
	case !slices.ContainsFunc(m.trustStores, func(s TrustStore) bool { return s.ARN == a.TrustStore }):
		return trustStoreNotFound()
	}
	verifying := 1
	for _, l := range m.listenersOf(b) {
		if l.ARN != own && l.MutualAuth.Mode == MutualVerify {
			verifying++
		}
	}
	if verifying > mostVerifying {
		return refusal.New("TooManyListeners", "The maximum number of listeners that verify client certificates has been reached")
	}
	return nil
}

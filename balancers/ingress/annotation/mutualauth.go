// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"fmt"
	"slices"
)

// MutualAuth says whether clients of an HTTPS listener show a certificate, as an annotation says it.
type MutualAuth struct {
	Port                          int32
	Mode                          string
	TrustStore                    string // ARN or name
	IgnoreClientCertificateExpiry *bool
	AdvertiseTrustStoreCaNames    string
}

// The modes of mutual authentication.
const (
	MutualOff         = "off"
	mutualPassthrough = "passthrough"
	mutualVerify      = "verify"
)

// parseMutualAuth parses entries of ports. Of two with one port the last counts, as with the incumbent.
func parseMutualAuth(value string) ([]MutualAuth, error) {
	entries, err := ParseJSON[[]MutualAuth](value)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, errors.New(`list at least one entry, as [{"port": 443, "mode": "off"}], or no annotation`)
	}
	const most = 50 // listeners of a load balancer
	if n := len(entries); n > most {
		return nil, fmt.Errorf("has %d entries, must be at most %d, one for each listener", n, most)
	}
	for i, entry := range entries {
		if err := entry.check(); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return entries, nil
}

func (m MutualAuth) check() error {
	switch {
	case m.Port < 1 || m.Port > 65535:
		return fmt.Errorf("port %d: must be 1 to 65535", m.Port)
	case !slices.Contains([]string{MutualOff, mutualPassthrough, mutualVerify}, m.Mode):
		return fmt.Errorf("mode %.20q: must be off, passthrough or verify", m.Mode)
	case m.Mode == mutualVerify && m.TrustStore == "":
		return errors.New("mode verify: set a trustStore, too")
	case m.Mode != mutualVerify && (m.TrustStore != "" || m.IgnoreClientCertificateExpiry != nil || m.AdvertiseTrustStoreCaNames != ""):
		return fmt.Errorf("mode %s: trustStore, ignoreClientCertificateExpiry and advertiseTrustStoreCaNames are for mode verify", m.Mode)
	case !slices.Contains([]string{"", "on", "off"}, m.AdvertiseTrustStoreCaNames):
		return fmt.Errorf("advertiseTrustStoreCaNames %.20q: must be on or off", m.AdvertiseTrustStoreCaNames)
	}
	return nil
}

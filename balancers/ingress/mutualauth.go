// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/stack"
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
	mutualOff         = "off"
	mutualPassthrough = "passthrough"
	mutualVerify      = "verify"
)

func parseMutualAuth(value string) ([]MutualAuth, error) {
	entries, err := parseJSON[[]MutualAuth](value)
	if err != nil {
		return nil, err
	}
	for i, entry := range entries {
		if err := entry.check(); err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if slices.ContainsFunc(entries[:i], func(other MutualAuth) bool { return other.Port == entry.Port }) {
			return nil, fmt.Errorf("port %d is there twice: want it once", entry.Port)
		}
	}
	return entries, nil
}

func (m MutualAuth) check() error {
	switch {
	case m.Port < 1 || m.Port > 65535:
		return fmt.Errorf("port %d: want 1 to 65535", m.Port)
	case !slices.Contains([]string{mutualOff, mutualPassthrough, mutualVerify}, m.Mode):
		return fmt.Errorf("mode %.20q: want off, passthrough or verify", m.Mode)
	case m.Mode == mutualVerify && m.TrustStore == "":
		return errors.New("mode verify: want a trustStore, too")
	case m.Mode != mutualVerify && (m.TrustStore != "" || m.IgnoreClientCertificateExpiry != nil || m.AdvertiseTrustStoreCaNames != ""):
		return fmt.Errorf("mode %s: trustStore, ignoreClientCertificateExpiry and advertiseTrustStoreCaNames are for mode verify", m.Mode)
	case !slices.Contains([]string{"", "on", "off"}, m.AdvertiseTrustStoreCaNames):
		return fmt.Errorf("advertiseTrustStoreCaNames %.20q: want on or off", m.AdvertiseTrustStoreCaNames)
	}
	return nil
}

var trustStoreARN = regexp.MustCompile(`^arn:[^:]+:elasticloadbalancing:[^:]*:[^:]*:truststore/.+$`)

// readMutualAuth reads what the member says of its HTTPS listeners. What it says of other ports does not count.
func (r *reading) readMutualAuth() {
	entries, _ := get(r, MutualAuthentication)
	from := Fault{Annotation: Prefix + MutualAuthentication.Name}
	for _, entry := range entries {
		if r.ports[entry.Port] != HTTPS {
			continue
		}
		store, err := r.trustStore(entry.TrustStore)
		if err != nil {
			from.Reason = err.Error()
			r.fail(from)
			return
		}
		r.addText(of(MutualAuthentication.Name, entry.Port), mutualText(stack.MutualAuth{
			Mode: entry.Mode, TrustStore: store, IgnoreExpiry: ptr.Deref(entry.IgnoreClientCertificateExpiry, false),
			AdvertiseNames: entry.AdvertiseTrustStoreCaNames == "on",
		}), from)
	}
}

// trustStore is the ARN of a trust store, "" for none.
func (r *reading) trustStore(text string) (string, error) {
	if text == "" || trustStoreARN.MatchString(text) || r.in.alone {
		return text, nil
	}
	return find("trust store", text, r.in.AWS.TrustStores)
}

// mutualText is the text of a vote.
func mutualText(m stack.MutualAuth) string {
	text, _ := json.Marshal(m) // it always can be
	return string(text)
}

// mutualAuth is that of a listener; nil leaves what there is.
func (d *draft) mutualAuth(l *listener) *stack.MutualAuth {
	vote, said := d.votes[of(MutualAuthentication.Name, l.port)]
	switch {
	case l.protocol != HTTPS:
		return nil
	case said:
		out := &stack.MutualAuth{}
		_ = json.Unmarshal([]byte(vote.text), out) // it is mutualText's
		return out
	case d.in.Options.ResetAttributes && !d.heldOn(l.port):
		return &stack.MutualAuth{Mode: mutualOff}
	}
	return nil
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"regexp"

	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

var trustStoreARN = regexp.MustCompile(`^arn:[^:]+:elasticloadbalancing:[^:]*:[^:]*:truststore/.+$`)

// readMutualAuth reads what the member says of its HTTPS listeners. What it says of other ports does not count.
func (r *reading) readMutualAuth() {
	entries, _ := get(r, annotation.MutualAuthentication)
	from := annotation.Fault{Annotation: annotation.MutualAuthentication.FullName()}
	for _, entry := range entries {
		if r.ports[entry.Port] != annotation.HTTPS {
			continue
		}
		store, err := r.trustStore(entry.TrustStore)
		if err != nil {
			from.Reason = err.Error()
			r.fail(from)
			return
		}
		r.addText(of(annotation.MutualAuthentication.Name, entry.Port), mutualText(stack.MutualAuth{
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
	vote, said := d.votes[of(annotation.MutualAuthentication.Name, l.port)]
	switch {
	case l.protocol != annotation.HTTPS:
		return nil
	case said:
		out := &stack.MutualAuth{}
		_ = json.Unmarshal([]byte(vote.text), out) // it is mutualText's
		return out
	case d.in.Options.ResetAttributes && !d.heldOn(l.port):
		return &stack.MutualAuth{Mode: annotation.MutualOff}
	}
	return nil
}

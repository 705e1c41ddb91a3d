// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// protocolSetting is the shared setting of a port that says its protocol.
const protocolSetting = "protocol of port"

// listenerReader reads listeners and their certificates.
type listenerReader struct{ *Reading }

// readListeners reads the ports that the member listens on, and what it says of their listeners.
func (r listenerReader) readListeners() {
	explicit := r.explicitCertificates()
	ports := r.readPorts(explicit)
	if ports == nil {
		return
	}
	r.Ports = ports
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		protocol := ports[port]
		r.add(stack.OfPort(protocolSetting, port), string(protocol), fault.Fault{Annotation: annotation.ListenPorts.FullName()})
		r.readAttributes(port, protocol)
	}
	r.readInbound()
	if slices.Contains(slices.Collect(maps.Values(ports)), annotation.HTTPS) {
		r.readHTTPS(explicit)
	} else if input.AsksForCertificate(r.Member) {
		r.warnOf(r.issueFault("no listener of this Ingress is for HTTPS: set one in " + annotation.ListenPorts.FullName()))
	}
}

// readPorts are the ports that the member listens on; nil if they cannot be read, which is a fault. Those of a member that names none
// depend on whether it has, or is to have, certificates of its own.
func (r listenerReader) readPorts(explicit []string) map[int32]annotation.Protocol {
	if _, named := r.Annotations()[annotation.ListenPorts.FullName()]; named {
		ports, _ := get(r.Reading, annotation.ListenPorts)
		return ports
	}
	_, _, wrong := annotation.Certificates.In(r.Annotations())
	issues := false
	if r.in.Options.IssueCertificates && wrong == nil {
		issues, _, wrong = annotation.IssueCertificate.In(r.Annotations())
	}
	switch {
	case len(explicit) > 0 || issues:
		return map[int32]annotation.Protocol{443: annotation.HTTPS}
	case wrong != nil:
		r.Fail(wrong)
		return nil
	}
	return map[int32]annotation.Protocol{80: annotation.HTTP}
}

func (r listenerReader) explicitCertificates() []string {
	if ofParams := r.params.CertificateArn; len(ofParams) > 0 {
		if _, err := annotation.ParseCertificates(strings.Join(ofParams, ",")); err != nil || slices.Contains(ofParams, "") {
			r.Fail(r.paramsFault("spec.certificateArn", strings.Join(ofParams, ","), "must be ARNs of certificates of ACM or IAM"))
		}
		return ofParams
	}
	certificates, _ := get(r.Reading, annotation.Certificates)
	return certificates
}

func (r listenerReader) readAttributes(port int32, protocol annotation.Protocol) {
	name := stack.ListenerAttributes(string(protocol), port)
	own, _ := get(r.Reading, annotation.ListenerAttributes.Member(strings.TrimPrefix(name, annotation.ListenerAttributes.Name)))
	r.addKeys(name, own, fault.Fault{Annotation: annotation.Prefix + name})
	if !r.first {
		return
	}
	for _, listener := range r.params.Listeners {
		if annotation.Protocol(listener.Protocol) == protocol && listener.Port == port {
			all := paramsAttributes(r.Reading, annotation.AttributesOfListener, "spec.listeners", listener.ListenerAttributes)
			r.addKeys(name, all, fault.Fault{Object: r.paramsObject(), Field: "spec.listeners"})
		}
	}
}

// readInbound reads who may send to the listeners.
func (r listenerReader) readInbound() {
	p := &r.params
	say(r.Reading, annotation.InboundCIDRs, "spec.inboundCIDRs", strings.Join(p.InboundCIDRs, ","), commas)
	say(r.Reading, annotation.PrefixLists, "spec.prefixListsIDs", strings.Join(p.PrefixLists(), ","), commas)
	r.ofEachPort(annotation.InboundCIDRs.Name, func(annotation.Protocol) bool { return true })
	r.ofEachPort(annotation.PrefixLists.Name, func(annotation.Protocol) bool { return true })
}

// ofEachPort turns a vote into one for each port of the member. An empty one does not count.
func (r listenerReader) ofEachPort(name string, fits func(annotation.Protocol) bool) {
	vote, ok := r.Votes[name]
	delete(r.Votes, name)
	if !ok || vote.Text == "" {
		return
	}
	for port, protocol := range r.Ports {
		if fits(protocol) {
			r.Votes[stack.OfPort(name, port)] = vote
		}
	}
}

// readHTTPS reads what only HTTPS listeners have.
func (r listenerReader) readHTTPS(explicit []string) {
	isHTTPS := func(protocol annotation.Protocol) bool { return protocol == annotation.HTTPS }
	say(r.Reading, annotation.SSLPolicy, "spec.sslPolicy", r.params.SSLPolicy, asIs)
	r.ofEachPort(annotation.SSLPolicy.Name, isHTTPS)
	r.readMutualAuth()
	if r.Certificates = lookup.Unique(explicit); len(explicit) > 0 {
		return
	}
	if wanted, _ := get(r.Reading, annotation.IssueCertificate); wanted && r.in.Options.IssueCertificates {
		r.issueCertificate()
		return
	} else if wanted {
		r.warnOf(r.issueFault("needs the feature gate EnableCertificateManagement: certificates are found by their hosts instead"))
	}
	r.discoverCertificates()
}

// readMutualAuth reads what the member says of its HTTPS listeners. What it says of other ports does not count.
func (r listenerReader) readMutualAuth() {
	entries, _ := get(r.Reading, annotation.MutualAuthentication)
	from := fault.Fault{Annotation: annotation.MutualAuthentication.FullName()}
	last := map[int32]int{} // the place of the last entry, by port
	for i, entry := range entries {
		last[entry.Port] = i
	}
	for i, entry := range entries {
		if last[entry.Port] > i {
			twice := from
			twice.Reason = fmt.Sprintf("port %d is listed twice, and the last one is used: list it once", entry.Port)
			r.warnOf(twice)
			continue
		}
		if r.Ports[entry.Port] != annotation.HTTPS {
			continue
		}
		store, err := r.trustStore(entry.TrustStore)
		if err != nil {
			from.Reason = err.Error()
			r.Fail(from)
			return
		}
		r.addText(stack.OfPort(annotation.MutualAuthentication.Name, entry.Port), mutualText(stack.MutualAuth{
			Mode: entry.Mode, TrustStore: store, IgnoreExpiry: ptr.Deref(entry.IgnoreClientCertificateExpiry, false),
			AdvertiseNames: entry.AdvertiseTrustStoreCaNames == "on",
		}), from)
	}
}

// trustStore is the ARN of a trust store, "" for none.
func (r listenerReader) trustStore(text string) (string, error) {
	if text == "" || input.TrustStoreARN.MatchString(text) || r.in.Alone {
		return text, nil
	}
	return lookup.Find("trust store", text, r.in.AWS.TrustStores)
}

// mutualText is the text of a vote.
func mutualText(m stack.MutualAuth) string {
	text, _ := json.Marshal(m) // it always can be
	return string(text)
}

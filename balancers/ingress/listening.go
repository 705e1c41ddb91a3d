// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// protocolSetting is the shared setting of a port that says its protocol.
const protocolSetting = "protocol of port"

// readListeners reads the ports that the member listens on, and what it says of their listeners.
func (r *reading) readListeners() {
	explicit := r.explicitCertificates()
	ports, set := get(r, ListenPorts)
	switch _, written := r.annotations()[Prefix+ListenPorts.Name]; {
	case written && !set:
		return // a fault
	case !set && len(explicit) > 0:
		ports = map[int32]Protocol{443: HTTPS}
	case !set:
		ports = map[int32]Protocol{80: HTTP}
	}
	r.ports = ports
	for _, port := range slices.Sorted(maps.Keys(ports)) {
		protocol := ports[port]
		r.add(of(protocolSetting, port), string(protocol), Fault{Annotation: Prefix + ListenPorts.Name})
		r.readAttributes(port, protocol)
	}
	r.readInbound()
	if slices.Contains(slices.Collect(maps.Values(ports)), HTTPS) {
		r.readHTTPS(explicit)
	} else if r.member.asksForCertificate() {
		r.warnOf(r.issueFault("no listener of this Ingress is for HTTPS: want one in " + Prefix + ListenPorts.Name))
	}
}

func (r *reading) explicitCertificates() []string {
	if ofParams := r.params.CertificateArn; len(ofParams) > 0 {
		if _, err := parseCertificates(strings.Join(ofParams, ",")); err != nil || slices.Contains(ofParams, "") {
			r.fail(r.paramsFault("spec.certificateArn", strings.Join(ofParams, ","), "want ARNs of certificates of ACM or IAM"))
		}
		return ofParams
	}
	certificates, _ := get(r, Certificates)
	return certificates
}

// attributesOf is the name of the setting that has the attributes of a listener.
func attributesOf(protocol Protocol, port int32) string {
	return fmt.Sprintf("%s%s-%d", ListenerAttributes.Name, protocol, port)
}

func (r *reading) readAttributes(port int32, protocol Protocol) {
	name := attributesOf(protocol, port)
	own, _ := get(r, ListenerAttributes.member(strings.TrimPrefix(name, ListenerAttributes.Name)))
	r.addKeys(name, own, Fault{Annotation: Prefix + name})
	if !r.first {
		return
	}
	for _, listener := range r.params.Listeners {
		if Protocol(listener.Protocol) == protocol && listener.Port == port {
			checkAttributes(r, listenerAttributes, "spec.listeners", listener.ListenerAttributes)
			r.addKeys(name, attributes(listener.ListenerAttributes), Fault{Object: r.paramsObject(), Field: "spec.listeners"})
		}
	}
}

// readInbound reads who may send to the listeners.
func (r *reading) readInbound() {
	p := &r.params
	say(r, InboundCIDRs, "spec.inboundCIDRs", strings.Join(p.InboundCIDRs, ","), commas)
	say(r, PrefixLists, "spec.prefixListsIDs", strings.Join(p.PrefixLists(), ","), commas)
	r.ofEachPort(InboundCIDRs.Name, func(Protocol) bool { return true })
	r.ofEachPort(PrefixLists.Name, func(Protocol) bool { return true })
}

// ofEachPort turns a vote into one for each port of the member. An empty one does not count.
func (r *reading) ofEachPort(name string, fits func(Protocol) bool) {
	vote, ok := r.votes[name]
	delete(r.votes, name)
	if !ok || vote.text == "" {
		return
	}
	for port, protocol := range r.ports {
		if fits(protocol) {
			r.votes[of(name, port)] = vote
		}
	}
}

// readHTTPS reads what only HTTPS listeners have.
func (r *reading) readHTTPS(explicit []string) {
	isHTTPS := func(protocol Protocol) bool { return protocol == HTTPS }
	say(r, SSLPolicy, "spec.sslPolicy", r.params.SSLPolicy, asIs)
	r.ofEachPort(SSLPolicy.Name, isHTTPS)
	r.readMutualAuth()
	if r.certificates = unique(explicit); len(explicit) > 0 {
		return
	}
	if wanted, _ := get(r, IssueCertificate); wanted && r.in.Options.IssueCertificates {
		r.issueCertificate()
		return
	} else if wanted {
		r.warnOf(r.issueFault("needs the feature gate EnableCertificateManagement: certificates are found by their hosts instead"))
	}
	r.discoverCertificates()
}

// unique has each item once, at its first place.
func unique(items []string) []string {
	var out []string
	for _, item := range items {
		if !slices.Contains(out, item) {
			out = append(out, item)
		}
	}
	return out
}

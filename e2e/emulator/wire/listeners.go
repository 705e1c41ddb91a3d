// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type certificateXML struct {
	CertificateArn string
	IsDefault      *bool
}

type listenerXML struct {
	ListenerArn     string
	LoadBalancerArn string
	Port            int
	Protocol        string
	Certificates    *members[certificateXML]
	SslPolicy       string `xml:",omitempty"`
	DefaultActions  members[actionXML]

	MutualAuthentication *mutualXML `xml:",omitempty"`
}

type mutualXML struct {
	Mode                          string
	TrustStoreArn                 string `xml:",omitempty"`
	IgnoreClientCertificateExpiry *bool  `xml:",omitempty"`
	AdvertiseTrustStoreCaNames    string `xml:",omitempty"`
	TrustStoreAssociationStatus   string `xml:",omitempty"`
}

// mutualAnswer is nil for listeners that cannot have it.
func mutualAnswer(l state.Listener) *mutualXML {
	m := l.MutualAuth
	switch {
	case l.Protocol != state.ProtocolHTTPS:
		return nil
	case m.Mode != state.MutualVerify:
		return &mutualXML{Mode: cmp.Or(m.Mode, state.MutualOff)}
	}
	shown := &mutualXML{
		Mode: m.Mode, TrustStoreArn: m.TrustStore, IgnoreClientCertificateExpiry: &m.IgnoreExpiry,
		AdvertiseTrustStoreCaNames: "off", TrustStoreAssociationStatus: "active",
	}
	if m.AdvertiseNames {
		shown.AdvertiseTrustStoreCaNames = "on"
	}
	return shown
}

type trustStoreXML struct {
	Name, TrustStoreArn, Status string
}

func describeTrustStores(s *Server, q *request) (any, error) {
	stores, err := s.machine.TrustStores(q.texts("Names.member"), q.texts("TrustStoreArns.member"))
	if err != nil {
		return nil, err
	}
	stores, next, err := page(q, stores)
	if err != nil {
		return nil, err
	}
	var answer struct {
		TrustStores members[trustStoreXML]
		NextMarker  string `xml:",omitempty"`
	}
	answer.NextMarker = next
	for _, store := range stores {
		answer.TrustStores.Members = append(answer.TrustStores.Members, trustStoreXML{store.Name, store.ARN, "ACTIVE"})
	}
	return answer, nil
}

type listenersXML struct {
	Listeners  members[listenerXML]
	NextMarker string `xml:",omitempty"`
}

func listenersAnswer(listeners []state.Listener, next string) listenersXML {
	answer := listenersXML{NextMarker: next}
	for _, l := range listeners {
		shown := listenerXML{
			ListenerArn:     l.ARN,
			LoadBalancerArn: l.LoadBalancer,
			Port:            l.Port,
			Protocol:        l.Protocol,
			SslPolicy:       l.SSLPolicy,
			DefaultActions:  actionsAnswer(l.Default),

			MutualAuthentication: mutualAnswer(l),
		}
		if len(l.Certificates) > 0 { // the default one alone
			shown.Certificates = &members[certificateXML]{[]certificateXML{{CertificateArn: l.Certificates[0]}}}
		}
		answer.Listeners.Members = append(answer.Listeners.Members, shown)
	}
	return answer
}

func oneListener(l state.Listener, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return listenersAnswer([]state.Listener{l}, ""), nil
}

// listenerParams reads what CreateListener and ModifyListener have in common.
func (q *request) listenerParams() (spec state.ListenerSpec, err error) {
	if spec.Port, err = q.number("Port"); err != nil {
		return spec, err
	}
	spec.Default, err = q.actions("DefaultActions.member")
	spec.Protocol, spec.SSLPolicy = q.text("Protocol"), q.text("SslPolicy")
	spec.Certificates = q.certificates()
	if len(spec.Certificates) > 1 {
		return spec, state.Refuse("TooManyCertificates", "Only one certificate can be specified as the default one")
	}
	mutual := q.at("MutualAuthentication")
	spec.MutualAuth = state.MutualAuth{
		Mode: mutual.text("Mode"), TrustStore: mutual.text("TrustStoreArn"),
		IgnoreExpiry: mutual.text("IgnoreClientCertificateExpiry") == "true", AdvertiseNames: mutual.text("AdvertiseTrustStoreCaNames") == "on",
	}
	return spec, err
}

func (q *request) certificates() []string {
	var arns []string
	for _, c := range q.list("Certificates.member") {
		arns = append(arns, c.text("CertificateArn"))
	}
	return arns
}

func createListener(s *Server, q *request) (any, error) {
	spec, err := q.listenerParams()
	if err != nil {
		return nil, err
	}
	if spec.Tags, err = q.tagParams(); err != nil {
		return nil, err
	}
	spec.LoadBalancer = q.text("LoadBalancerArn")
	return oneListener(s.machine.CreateListener(spec))
}

func modifyListener(s *Server, q *request) (any, error) {
	spec, err := q.listenerParams()
	if err != nil {
		return nil, err
	}
	return oneListener(s.machine.ModifyListener(q.text("ListenerArn"), spec))
}

func deleteListener(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.DeleteListener(q.text("ListenerArn"))
}

func describeListeners(s *Server, q *request) (any, error) {
	balancer, arns := q.text("LoadBalancerArn"), q.texts("ListenerArns.member")
	if balancer == "" && len(arns) == 0 {
		return nil, state.Invalid("Either listener ARNs or a load balancer ARN must be specified")
	}
	listeners, err := s.machine.Listeners(balancer, arns...)
	if err != nil {
		return nil, err
	}
	listeners, next, err := page(q, listeners)
	if err != nil {
		return nil, err
	}
	return listenersAnswer(listeners, next), nil
}

type certificatesXML struct {
	Certificates members[certificateXML]
	NextMarker   string `xml:",omitempty"`
}

func addListenerCertificates(s *Server, q *request) (any, error) {
	added, err := s.machine.AddCertificates(q.text("ListenerArn"), q.certificates())
	if err != nil {
		return nil, err
	}
	return certificatesAnswer(added, 0), nil
}

func removeListenerCertificates(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.RemoveCertificates(q.text("ListenerArn"), q.certificates())
}

// describeListenerCertificates lists the default certificate first, and again where it is in the list for SNI, too.
func describeListenerCertificates(s *Server, q *request) (any, error) {
	listeners, err := s.machine.Listeners("", q.text("ListenerArn"))
	if err != nil {
		return nil, err
	}
	all := certificatesAnswer(listeners[0].Certificates, 1).Certificates.Members
	shown, next, err := page(q, all)
	if err != nil {
		return nil, err
	}
	return certificatesXML{Certificates: members[certificateXML]{shown}, NextMarker: next}, nil
}

// certificatesAnswer marks the first ones as the default.
func certificatesAnswer(arns []string, defaults int) certificatesXML {
	var answer certificatesXML
	for n, arn := range arns {
		isDefault := n < defaults
		answer.Certificates.Members = append(answer.Certificates.Members, certificateXML{arn, &isDefault})
	}
	return answer
}

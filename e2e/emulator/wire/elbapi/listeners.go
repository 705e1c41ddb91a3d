// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"cmp"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
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
	Certificates    *call.Members[certificateXML]
	SslPolicy       string `xml:",omitempty"`
	DefaultActions  call.Members[actionXML]

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

func describeTrustStores(q *call.Request) (any, error) {
	stores, err := q.Cloud.ELB.TrustStores(q.Texts("Names.member"), q.Texts("TrustStoreArns.member"))
	if err != nil {
		return nil, err
	}
	stores, next, err := page(q, stores)
	if err != nil {
		return nil, err
	}
	var answer struct {
		TrustStores call.Members[trustStoreXML]
		NextMarker  string `xml:",omitempty"`
	}
	answer.NextMarker = next
	for _, store := range stores {
		answer.TrustStores.Members = append(answer.TrustStores.Members, trustStoreXML{store.Name, store.ARN, "ACTIVE"})
	}
	return answer, nil
}

type listenersXML struct {
	Listeners  call.Members[listenerXML]
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
			shown.Certificates = &call.Members[certificateXML]{Members: []certificateXML{{CertificateArn: l.Certificates[0]}}}
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
func listenerParams(q *call.Request) (spec state.ListenerSpec, err error) {
	if spec.Port, err = q.Number("Port"); err != nil {
		return spec, err
	}
	spec.Default, err = actions(q, "DefaultActions.member")
	spec.Protocol, spec.SSLPolicy = q.Text("Protocol"), q.Text("SslPolicy")
	spec.Certificates = certificates(q)
	if len(spec.Certificates) > 1 {
		return spec, refusal.New("TooManyCertificates", "Only one certificate can be specified as the default one")
	}
	mutual := q.At("MutualAuthentication")
	spec.MutualAuth = state.MutualAuth{
		Mode: mutual.Text("Mode"), TrustStore: mutual.Text("TrustStoreArn"),
		IgnoreExpiry: mutual.Text("IgnoreClientCertificateExpiry") == "true", AdvertiseNames: mutual.Text("AdvertiseTrustStoreCaNames") == "on",
	}
	return spec, err
}

func certificates(q *call.Request) []string {
	var arns []string
	for _, c := range q.List("Certificates.member") {
		arns = append(arns, c.Text("CertificateArn"))
	}
	return arns
}

func createListener(q *call.Request) (any, error) {
	spec, err := listenerParams(q)
	if err != nil {
		return nil, err
	}
	if spec.Tags, err = call.Tags(q); err != nil {
		return nil, err
	}
	spec.LoadBalancer = q.Text("LoadBalancerArn")
	return oneListener(q.Cloud.ELB.CreateListener(spec))
}

func modifyListener(q *call.Request) (any, error) {
	spec, err := listenerParams(q)
	if err != nil {
		return nil, err
	}
	return oneListener(q.Cloud.ELB.ModifyListener(q.Text("ListenerArn"), spec))
}

func deleteListener(q *call.Request) (any, error) {
	return struct{}{}, q.Cloud.ELB.DeleteListener(q.Text("ListenerArn"))
}

func describeListeners(q *call.Request) (any, error) {
	balancer, arns := q.Text("LoadBalancerArn"), q.Texts("ListenerArns.member")
	if balancer == "" && len(arns) == 0 {
		return nil, refusal.Invalid("Either listener ARNs or a load balancer ARN must be specified")
	}
	listeners, err := q.Cloud.ELB.Listeners(balancer, arns...)
	if err != nil {
		return nil, err
	}
	if listeners, err = listed(q, listeners, func(one state.Listener) string { return one.ARN }); err != nil {
		return nil, err
	}
	listeners, next, err := page(q, listeners)
	if err != nil {
		return nil, err
	}
	return listenersAnswer(listeners, next), nil
}

type certificatesXML struct {
	Certificates call.Members[certificateXML]
	NextMarker   string `xml:",omitempty"`
}

func addListenerCertificates(q *call.Request) (any, error) {
	added, err := q.Cloud.ELB.AddCertificates(q.Text("ListenerArn"), certificates(q))
	if err != nil {
		return nil, err
	}
	return certificatesAnswer(added, 0), nil
}

func removeListenerCertificates(q *call.Request) (any, error) {
	return struct{}{}, q.Cloud.ELB.RemoveCertificates(q.Text("ListenerArn"), certificates(q))
}

// describeListenerCertificates lists the default certificate first, and again where it is in the list for SNI, too.
func describeListenerCertificates(q *call.Request) (any, error) {
	listeners, err := q.Cloud.ELB.Listeners("", q.Text("ListenerArn"))
	if err != nil {
		return nil, err
	}
	all := certificatesAnswer(listeners[0].Certificates, 1).Certificates.Members
	shown, next, err := page(q, all)
	if err != nil {
		return nil, err
	}
	return certificatesXML{Certificates: call.Members[certificateXML]{Members: shown}, NextMarker: next}, nil
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

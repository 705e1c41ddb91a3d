// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// texts are the JSON of the member's Ingress and Service, without what all have.
func (m *member) texts(t testing.TB) (annotations, spec, service string) {
	t.Helper()
	var out [3]string
	for i, value := range []any{m.ingress.Annotations, m.ingress.Spec, m.web} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(text)
	}
	return out[0], out[1], out[2]
}

// Any Ingress with any Service that API servers take.
func FuzzIngress(f *testing.F) {
	for _, q := range specQuirks() {
		m := newMember("b")
		m.add(q)
		annotations, spec, service := m.texts(f)
		f.Add(annotations, spec, service)
	}
	f.Fuzz(func(t *testing.T, annotations, spec, service string) {
		m := newMember("b")
		m.ingress.Annotations, m.ingress.Spec, m.web = nil, networkingv1.IngressSpec{}, &corev1.Service{}
		for text, into := range map[string]any{annotations: &m.ingress.Annotations, spec: &m.ingress.Spec, service: m.web} {
			if json.Unmarshal([]byte(text), into) != nil {
				t.Skip("no JSON")
			}
		}
		m.web.Namespace, m.web.Name, m.quirks = "b", "web", []string{"fuzzed"}
		if !isIngress(&m.ingress.Spec) || !isService(m.web) {
			t.Skip("an API server refuses it")
		}
		check(t, []*member{newMember("a"), m, newMember("c")})
	})
}

// Any IngressClassParams that API servers take, of the first member.
func FuzzParams(f *testing.F) {
	for _, q := range paramsQuirks() {
		m := newMember("a")
		m.add(q)
		text, err := json.Marshal(m.params.Spec)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, spec string) {
		m := newMember("a")
		if json.Unmarshal([]byte(spec), &m.params.Spec) != nil {
			t.Skip("no JSON")
		}
		if m.quirks = []string{"fuzzed"}; !isParams(&m.params.Spec) {
			t.Skip("an API server refuses it")
		}
		check(t, []*member{m, newMember("b"), newMember("c")})
	})
}

// isIngress reports whether API servers take the spec, as far as that matters here.
func isIngress(spec *networkingv1.IngressSpec) bool {
	backends := []networkingv1.IngressBackend{}
	if spec.DefaultBackend != nil {
		backends = append(backends, *spec.DefaultBackend)
	}
	for _, rule := range spec.Rules {
		if rule.Host != "" && !isHost(rule.Host) || rule.HTTP != nil && len(rule.HTTP.Paths) == 0 {
			return false
		}
		if rule.HTTP == nil {
			continue
		}
		for _, path := range rule.HTTP.Paths {
			if !isPath(path) {
				return false
			}
			backends = append(backends, path.Backend)
		}
	}
	for _, tls := range spec.TLS {
		for _, host := range tls.Hosts {
			if !isHost(host) {
				return false
			}
		}
	}
	for _, backend := range backends {
		if !isBackend(backend) {
			return false
		}
	}
	return true
}

func isHost(host string) bool {
	return len(validation.IsDNS1123Subdomain(host)) == 0 || len(validation.IsWildcardDNS1123Subdomain(host)) == 0
}

func isPath(path networkingv1.HTTPIngressPath) bool {
	if path.PathType == nil {
		return false
	}
	switch *path.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		for _, wrong := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(path.Path, wrong) {
				return false
			}
		}
		return strings.HasPrefix(path.Path, "/")
	case networkingv1.PathTypeImplementationSpecific:
		return path.Path == "" || strings.HasPrefix(path.Path, "/")
	}
	return false
}

func isBackend(backend networkingv1.IngressBackend) bool {
	service := backend.Service
	if service == nil {
		return backend.Resource != nil
	}
	port := service.Port
	return backend.Resource == nil && len(validation.IsDNS1035Label(service.Name)) == 0 && (port.Name == "") != (port.Number == 0) &&
		(port.Name == "" || len(validation.IsValidPortName(port.Name)) == 0) &&
		(port.Number == 0 || len(validation.IsValidPortNum(int(port.Number))) == 0)
}

// isService reports whether API servers take the Service, as far as that matters here.
func isService(service *corev1.Service) bool {
	for _, port := range service.Spec.Ports {
		target := port.TargetPort
		if len(validation.IsValidPortNum(int(port.Port))) > 0 || port.NodePort < 0 || port.NodePort > 65535 ||
			port.Name != "" && len(validation.IsDNS1123Label(port.Name)) > 0 ||
			target.Type == intstr.String && len(validation.IsValidPortName(target.StrVal)) > 0 ||
			target.Type == intstr.Int && len(validation.IsValidPortNum(int(target.IntVal))) > 0 && target.IntVal != 0 ||
			target.Type != intstr.String && target.Type != intstr.Int {
			return false
		}
	}
	return true
}

var subnetID = regexp.MustCompile(`subnet-[0-9a-f]+`)

// isParams reports whether the CRD takes the spec.
func isParams(spec *v1beta1.IngressClassParamsSpec) bool {
	oneOf := func(text string, choices ...string) bool {
		for _, choice := range choices {
			if text == choice {
				return true
			}
		}
		return false
	}
	if spec.Scheme != nil && !oneOf(*spec.Scheme, "internal", "internet-facing") ||
		spec.IPAddressType != nil && !oneOf(*spec.IPAddressType, "ipv4", "dualstack", "dualstack-without-public-ipv4") ||
		!oneOf(spec.TargetType, "", "instance", "ip") || len(spec.PrefixListsIDs) > 0 && len(spec.LegacyPrefixListsIDs) > 0 {
		return false
	}
	for _, listener := range spec.Listeners {
		if !oneOf(listener.Protocol, "", string(annotation.HTTP), string(annotation.HTTPS)) {
			return false
		}
	}
	if spec.Subnets != nil {
		for _, id := range spec.Subnets.IDs {
			if !subnetID.MatchString(string(id)) {
				return false
			}
		}
	}
	return true
}

// Any text of any annotation, of the Ingress and of the Service, with any host and path.
func FuzzTexts(f *testing.F) {
	names := slices.Sorted(maps.Keys(values))
	for i, name := range names {
		for _, text := range values[name] {
			f.Add(uint(i), text, "b.example.com", "/", uint(0))
		}
	}
	types := []networkingv1.PathType{networkingv1.PathTypePrefix, networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific}
	f.Fuzz(func(t *testing.T, name uint, text, host, path string, kind uint) {
		m := newMember("b")
		full := annotation.Prefix + names[name%uint(len(names))]
		m.ingress.Annotations[full] = text
		if kind%2 == 0 && annotation.Lookup(full).Scope == annotation.OfTargetGroup {
			m.web.Annotations[full] = text
		}
		m.ingress.Spec.Rules[0].Host = host
		m.path().Path, m.path().PathType = path, &types[kind/2%3]
		if m.quirks = []string{"fuzzed"}; !isIngress(&m.ingress.Spec) {
			t.Skip("an API server refuses it")
		}
		check(t, []*member{newMember("a"), m})
	})
}

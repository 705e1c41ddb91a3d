// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
)

// withPaths has member b have so many paths to a backend with that name and port name, each of its own.
func withPaths(t testing.TB, paths int, name, port string) (input.Input, *networkingv1.Ingress) {
	t.Helper()
	in := three(t)
	b := in.Members[1].Ingress
	http, path := b.Spec.Rules[0].HTTP, b.Spec.Rules[0].HTTP.Paths[0]
	backend := *path.Backend.Service
	if backend.Name = name; port != "" {
		backend.Port = networkingv1.ServiceBackendPort{Name: port}
	}
	path.Backend.Service, http.Paths = &backend, nil
	for i := range paths {
		path.Path = fmt.Sprintf("/%d", i)
		http.Paths = append(http.Paths, path)
	}
	return in, b
}

// All that is done with a stored Ingress takes an annotation as often as it is used, however many paths share it.
func TestSharedAnnotationsAreParsedOnce(t *testing.T) {
	const paths, size = 200, 100 << 10
	long := strings.Repeat("x", size)
	unknown := `"unknown":"` + long + `"`
	for name, tc := range map[string]struct{ backend, port, annotation, value string }{
		"conditions":   {"b", "", "conditions.b", `[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]},` + unknown + `}]`},
		"transforms":   {"b", "", "transforms.b", `[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"a"}]},` + unknown + `}]`},
		"actions":      {"act", input.UseAnnotation, "actions.act", `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"b","servicePort":80}]},` + unknown + `}`},
		"tokens":       {"b", "", "jwt-validation", `{"jwksEndpoint":"https://a.example.com/","issuer":"a",` + unknown + `}`},
		"wrong groups": {"b", "", "target-group-attributes", `a=` + long + `\,,b`},
		"a wrong bool": {"b", "", "use-regex-path-match", long},
	} {
		t.Run(name, func(t *testing.T) {
			bytes := func(paths int) float64 {
				in, b := withPaths(t, paths, tc.backend, tc.port)
				b.Annotations[annotation.Prefix+tc.annotation] = tc.value
				if tc.annotation == annotation.RegexPaths.Name {
					for i := range b.Spec.Rules[0].HTTP.Paths {
						b.Spec.Rules[0].HTTP.Paths[i].PathType = new(networkingv1.PathTypeImplementationSpecific)
					}
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				input.NeedsOf(in)
				_ = CheckConditions(b)
				CheckAlone(stack.Group{Name: "edge"}, in.Members[1], in.Services, in.Options)
				Build(in)
				runtime.ReadMemStats(&after)
				return float64(after.TotalAlloc - before.TotalAlloc)
			}
			bytes(1) // for what is taken once
			if one, many := bytes(1), bytes(paths); many-one > paths/4*size {
				t.Errorf("%d paths take %.0f bytes, one %.0f, and the annotation has %d", paths, many, one, size)
			}
		})
	}
}

// An Ingress with far more paths than rules fit is held before they are read, and others are built without it.
func TestTooManyPaths(t *testing.T) {
	ports := func(n int) string {
		entries := make([]string, n)
		for i := range entries {
			entries[i] = fmt.Sprintf(`{"HTTP": %d}`, 1000+i)
		}
		return `[` + strings.Join(entries, ",") + `]`
	}
	most := input.DefaultOptions("", "").Sizes().MostPaths()
	for name, tc := range map[string]struct {
		paths, listeners int
		want             string
	}{
		"as many as are read":     {most, 1, "with this Ingress the load balancer would have 504 rules, and its quota is 100"},
		"too many":                {most + 1, 1, "spec.rules: 501 paths are not read, as the quota of a load balancer is 100 rules"},
		"many for many listeners": {100, 51, "the group has 5108 rules (paths x listeners) with this Ingress, which has 5100, and at most 1000 are read"},
		"many listeners":          {1, 101, "the group has 103 listeners with this Ingress, which has 101, and at most 100 are read"},
	} {
		t.Run(name, func(t *testing.T) {
			in, b := withPaths(t, tc.paths, "b", "")
			b.Annotations[annotation.ListenPorts.FullName()] = ports(tc.listeners)
			got, faults := Build(in)
			faults = slices.DeleteFunc(faults, func(f fault.Fault) bool { return f.IsWarning() })
			if len(faults) != 1 || !strings.Contains(faults[0].Error(), tc.want) || !got.Members[1].Held || got.Members[0].Held {
				t.Errorf("faults %v, members %v", faults, got.Members)
			}
			checkFuzzed(t, in)
		})
	}
}

// Of an Ingress that is held before its paths are read no Service is looked up, and no Secret is read that those name.
func TestPathsThatAreNotReadNeedNothing(t *testing.T) {
	most := input.DefaultOptions("", "").Sizes().MostPaths()
	for paths, services := range map[int]string{most: "shop/a shop/b shop/c shop/x", most + 1: "shop/a shop/c shop/x"} {
		in, b := withPaths(t, paths, "b", "")
		b.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: "x", Port: networkingv1.ServiceBackendPort{Number: 80},
		}}
		login("mine", nil)(&in, b)
		ofService := map[string]string{annotation.AuthOIDC.FullName(): b.Annotations[annotation.AuthOIDC.FullName()], annotation.AuthType.FullName(): "oidc"}
		delete(b.Annotations, annotation.AuthOIDC.FullName())
		serviceOf(in.Services, "b").Annotations = ofService
		var got []string
		for _, service := range input.NeedsOf(in).Services {
			got = append(got, service.String())
		}
		if secrets := input.SecretsOf(in); strings.Join(got, " ") != services || len(secrets) != most+1-paths {
			t.Errorf("%d paths need Services %v, Secrets %v; want %s", paths, got, secrets, services)
		}
	}
}

// An Ingress that is all empty rules and hosts takes little memory, and is held in any case.
func TestTooManyEntries(t *testing.T) {
	most := input.DefaultOptions("", "").Sizes().MostEntries()
	for name, add := range map[string]func(*networkingv1.IngressSpec){
		"rules": func(spec *networkingv1.IngressSpec) {
			spec.Rules = append(spec.Rules, make([]networkingv1.IngressRule, most)...)
		},
		"paths": func(spec *networkingv1.IngressSpec) {
			http := spec.Rules[0].HTTP
			http.Paths = append(http.Paths, make([]networkingv1.HTTPIngressPath, most)...)
		},
		"entries of spec.tls": func(spec *networkingv1.IngressSpec) { spec.TLS = make([]networkingv1.IngressTLS, most) },
		"hosts": func(spec *networkingv1.IngressSpec) {
			spec.TLS = []networkingv1.IngressTLS{{Hosts: slices.Repeat([]string{"a.example.com"}, most)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in, b := withPaths(t, 1, "b", "")
			add(&b.Spec)
			in.Options.IssueCertificates = true
			annotate(&in, 1, annotation.IssueCertificate.FullName(), "true")
			for range 3 { // as users write it, as it is cached, and cached again
				got, faults := Build(in)
				faults = slices.DeleteFunc(faults, func(f fault.Fault) bool { return f.IsWarning() })
				if want := "more than 5000 rules, paths, entries of tls and hosts"; len(faults) == 0 || !strings.Contains(faults[0].Error(), want) {
					t.Errorf("faults %v", faults)
				}
				isUntrue := func(f fault.Fault) bool { return strings.Contains(f.Reason, "there is no host") }
				if slices.ContainsFunc(faults, isUntrue) {
					t.Errorf("told of hosts that are not read: %v", faults)
				}
				if member := got.Members[1]; !member.Held || member.Hosts != nil || got.Members[0].Held {
					t.Errorf("members %v", got.Members)
				}
				if _, err := input.DefaultOptions("", "").Sizes().Strip()(b); err != nil {
					t.Fatal(err)
				}
			}
			if size := b.Spec.Size(); size > 8*most {
				t.Errorf("%d bytes are kept", size)
			}
		})
	}
	_, b := withPaths(t, 1, "b", "")
	b.Spec.TLS = make([]networkingv1.IngressTLS, most-2) // and a rule with a path
	before := b.DeepCopy()
	if got, err := input.DefaultOptions("", "").Sizes().Strip()(b); err != nil || !equality.Semantic.DeepEqual(before, got) {
		t.Errorf("an Ingress with as many as are read: %v, %v", got, err)
	}
}

// Of very many faults some are told, and that there are more.
func TestManyFaults(t *testing.T) {
	paths, b := withPaths(t, 300, "b", "")
	for i := range b.Spec.Rules[0].HTTP.Paths {
		b.Spec.Rules[0].HTTP.Paths[i].Path += "*"
	}
	hosts, b := withPaths(t, 1, "b", "")
	b.Spec.TLS = []networkingv1.IngressTLS{{}}
	for i := range 300 {
		b.Spec.TLS[0].Hosts = append(b.Spec.TLS[0].Hosts, fmt.Sprintf("%d.example.org", i))
	}
	warnings, b := withPaths(t, 1, "b", "")
	for i := range 2000 {
		b.Annotations[fmt.Sprintf("%sunknown-%d", annotation.Prefix, i)] = ""
	}
	for name, tc := range map[string]struct {
		in   input.Input
		n    int
		last string
	}{
		"of paths": {paths, 101, "spec.rules: 200 more paths are not read: fix the 100 faults of paths before them first"},
		"of hosts": {hosts, 101, "spec: certificates of 200 more hosts are not looked for: fix the 100 hosts before them first"},
		"warnings": {warnings, 1001, "there are more warnings, which are not shown: fix what these are about first"},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := Build(tc.in)
			if n := len(faults); n != tc.n || faults[n-1].Error() != tc.last {
				t.Errorf("%d faults, the last is %v", n, faults[n-1])
			}
		})
	}
}

// One fault of an annotation that many paths share is told once, and is no reason not to read the others.
func TestOneFaultOfManyPaths(t *testing.T) {
	in, b := withPaths(t, 300, "b", "")
	b.Annotations[annotation.Conditions.Member("b").FullName()] = `[{"field":"host-header"}]`
	if _, faults := Build(in); len(faults) != 1 || faults[0].Annotation == "" {
		t.Errorf("faults %v, want one", faults)
	}
}

// What there may be very much of is read in a time that grows with its number: 32 times as many take some 32 times as long, four times that
// where they do not fit into the processor's cache, and if each was compared with each they would take 1,000 times as long. Both are measured
// in turn, so that a busy machine slows down both, and again if it has slowed down one alone.
func TestVeryMany(t *testing.T) {
	const few, times, most, tries = 1250, 32, 256, 10
	ofHosts := func(n int) func() int {
		ingress := &networkingv1.Ingress{}
		for i := range n {
			ingress.Spec.Rules = append(ingress.Spec.Rules, networkingv1.IngressRule{Host: fmt.Sprintf("%d.example.com", i)})
		}
		return func() int { return len(input.HostsOf(ingress)) }
	}
	ofItems := func(n int) func() int {
		items := strings.Split(listed("sg-%06x", n), ",")
		return func() int { return len(lookup.Unique(items)) }
	}
	ofCertificates := func(n int) func() int { // hosts, and certificates of ten times as many others
		in, b := withPaths(t, 1, "b", "")
		in.Options.Limits.Rules = n // of a quota that was raised: so many hosts are read
		b.Spec.TLS = []networkingv1.IngressTLS{{}}
		for i := range n {
			b.Spec.TLS[0].Hosts = append(b.Spec.TLS[0].Hosts, fmt.Sprintf("%d.example.com", i))
		}
		for i := range n / 10 {
			in.AWS.Certificates = append(in.AWS.Certificates, lookup.Certificate{
				ARN: certARN(strconv.Itoa(i)), Domains: strings.Split(listed(fmt.Sprintf("x%d-%%d.example.org", i), 100), ","),
			})
		}
		return func() int {
			if _, faults := Build(in); len(faults) > 0 {
				t.Fatalf("%d faults, the first is %v", len(faults), faults[0])
			}
			return n
		}
	}
	for name, tc := range map[string]struct {
		n  int
		of func(n int) func() int
	}{
		"hosts": {few, ofHosts}, "items, each once": {few, ofItems}, "hosts of many certificates": {few / 5, ofCertificates},
	} {
		t.Run(name, func(t *testing.T) {
			small, large := tc.of(tc.n), tc.of(times*tc.n)
			taken := func(read func() int, want int) time.Duration {
				begin := time.Now()
				if n := read(); n != want {
					t.Fatalf("%d are read, want %d", n, want)
				}
				return time.Since(begin)
			}
			least := [2]time.Duration{time.Hour, time.Hour}
			for try := 0; try < tries && (try == 0 || least[1] > most*least[0]); try++ {
				least[0] = min(least[0], taken(small, tc.n))
				least[1] = min(least[1], taken(large, times*tc.n))
			}
			if least[1] > most*least[0] {
				t.Errorf("%d take %s, %d take %s", tc.n, least[0], times*tc.n, least[1])
			}
		})
	}
}

// For an Ingress no more names of target groups are looked up than a load balancer may have target groups.
func TestTooManyNamesOfTargetGroups(t *testing.T) {
	for n, fault := range map[int]string{
		input.MostTargetGroups: "", input.MostTargetGroups + 1: `target group "named-100" is not looked up, as this Ingress names more than 100`,
	} {
		in, b := withPaths(t, n, "b", input.UseAnnotation)
		in.Options.Limits.TargetGroups, in.Options.Limits.Rules = 300, 300
		for i := range b.Spec.Rules[0].HTTP.Paths {
			name := fmt.Sprintf("act-%d", i)
			b.Spec.Rules[0].HTTP.Paths[i].Backend.Service = &networkingv1.IngressServiceBackend{
				Name: name, Port: networkingv1.ServiceBackendPort{Name: input.UseAnnotation},
			}
			b.Annotations[annotation.Actions.Member(name).FullName()] = fmt.Sprintf(`{"type":"forward","targetGroupName":"named-%d"}`, i)
		}
		needs := input.NeedsOf(in).TargetGroups
		in.AWS.TargetGroups = map[string]lookup.Named{}
		for _, name := range needs {
			in.AWS.TargetGroups[name] = lookup.Named{ARN: name}
		}
		got, faults := Build(in)
		if held := fault != ""; len(needs) != input.MostTargetGroups || got.Members[1].Held != held || held && !strings.Contains(fmt.Sprint(faults), fault) {
			t.Errorf("%d names: %d are looked up, member %+v, faults %v", n, len(needs), got.Members[1], faults)
		}
	}
}

// members has the group have so many copies of its member b, each with the annotations of its index.
func members(t *testing.T, n int, annotations func(int) map[string]string) input.Input {
	t.Helper()
	in := three(t)
	b := in.Members[1]
	for i := range n {
		copied := b
		copied.Ingress = b.Ingress.DeepCopy()
		copied.Ingress.Name = fmt.Sprintf("b-%03d", i)
		for name, value := range annotations(i) {
			copied.Ingress.Annotations[annotation.Prefix+name] = value
		}
		in.Members = append(in.Members, copied)
	}
	return in
}

// Members that name other wrong subnets each are found together: looking at the whole group for each of them would take its size squared.
func TestWrongSubnetsOfManyMembers(t *testing.T) {
	const most = 200
	for name, dualstack := range map[string]bool{"two in a zone": false, "without IPv6, as the first asks for": true} {
		t.Run(name, func(t *testing.T) {
			bytes := func(n int) float64 {
				in := members(t, n, func(i int) map[string]string {
					return map[string]string{"subnets": fmt.Sprintf("subnet-a1,subnet-z%d", i)}
				})
				zone := "eu-west-1a"
				if dualstack {
					zone = "eu-west-1c"
					annotate(&in, 0, annotation.Prefix+"ip-address-type", "dualstack")
				}
				for i := range in.AWS.Subnets {
					in.AWS.Subnets[i].IPv6 = i > 0
				}
				for i := range most {
					in.AWS.Subnets = append(in.AWS.Subnets, lookup.Subnet{ID: fmt.Sprintf("subnet-z%d", i), Zone: zone, Locale: "availability-zone"})
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				got, faults := Build(in)
				runtime.ReadMemStats(&after)
				held := slices.DeleteFunc(slices.Clone(got.Members), func(m stack.Member) bool { return !m.Held })
				if len(held) != n || len(faults) != n {
					t.Fatalf("%d members are held with %d faults, want %d; %v", len(held), len(faults), n, faults[0])
				}
				return float64(after.TotalAlloc - before.TotalAlloc)
			}
			if few, many := bytes(most/4), bytes(most); many > 5*few {
				t.Errorf("%d members take %.0f bytes, %d take %.0f", most/4, few, most, many)
			}
		})
	}
}

// However many wrong values of a setting there are, the rounds are bounded: those that are left disagree with the last that was looked at.
func TestRoundsAreBounded(t *testing.T) {
	in := members(t, mostRounds+20, func(i int) map[string]string {
		return map[string]string{"ipam-ipv4-pool-id": fmt.Sprintf("ipam-pool-%d", i)}
	})
	got, faults := Build(in)
	reasons := map[string]int{}
	for _, fault := range faults {
		reason, _, _ := strings.Cut(fault.Reason, ":")
		reasons[reason]++
	}
	want := map[string]int{
		"the load balancer is internal and has no public addresses": mostRounds,

		`the group has "ipam-pool-99", as alb.ingress.kubernetes.io/ipam-ipv4-pool-id of Ingress shop/b-099 says`: 20,
	}
	if diff := cmp.Diff(want, reasons); diff != "" || got.Members[0].Held {
		t.Errorf("the first is held: %v; reasons (-want +got):\n%s", got.Members[0].Held, diff)
	}
}

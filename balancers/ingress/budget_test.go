// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
)

// each is texts made of numbers, joined.
func each(n int, separator string, text func(int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = text(i)
	}
	return strings.Join(all, separator)
}

func listenOn(protocol string, n int) string {
	return "[" + each(n, ",", func(i int) string { return fmt.Sprintf(`{"%s":%d}`, protocol, 1000+i) }) + "]"
}

func cidrs(n int) string {
	return each(n, ",", func(i int) string { return fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&255, i&255) })
}

// namesOf has the Ingress name so many target groups, none of which there is, in annotations of actions that share some paths.
func namesOf(ingress *networkingv1.Ingress, prefix string, n int) {
	http := ingress.Spec.Rules[0].HTTP
	for i := range (n + 4) / 5 {
		name := fmt.Sprintf("act-%s-%d", prefix, i)
		groups := each(min(5, n-5*i), ",", func(j int) string {
			return fmt.Sprintf(`{"targetGroupName":"%s-%d","weight":1}`, prefix, 5*i+j)
		})
		ingress.Annotations[annotation.Actions.FullName()+name] = `{"type":"forward","forwardConfig":{"targetGroups":[` + groups + `]}}`
		path := http.Paths[0]
		path.Path, path.Backend.Service = fmt.Sprintf("/%s%d", prefix, i), &networkingv1.IngressServiceBackend{
			Name: name, Port: networkingv1.ServiceBackendPort{Name: input.UseAnnotation},
		}
		http.Paths = append(http.Paths, path)
	}
}

// hostile are the ways to ask for much, each n times as much, in the second member of three, or in as many more.
var hostile = map[string]func(t testing.TB, n int) input.Input{
	"paths": func(t testing.TB, n int) input.Input {
		in, _ := withPaths(t, n, "b", "")
		return in
	},
	"paths of many members": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 20, "b", "")
		return copies(in, b, max(0, n/20-1), func(*networkingv1.Ingress, int) {})
	},
	"sources": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 1, "b", "")
		b.Annotations[annotation.InboundCIDRs.FullName()] = cidrs(n)
		b.Annotations[annotation.ListenPorts.FullName()] = listenOn("HTTP", 8)
		return in
	},
	"redirects to themselves": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, n, "here", input.UseAnnotation)
		b.Annotations[annotation.Actions.FullName()+"here"] = `{"type":"redirect","redirectConfig":{"protocol":"HTTPS","port":"443","statusCode":"HTTP_301"}}`
		b.Annotations[annotation.ListenPorts.FullName()] = `[{"HTTPS":443}]`
		return in
	},
	"redirects": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, n, "away", input.UseAnnotation)
		b.Annotations[annotation.Actions.FullName()+"away"] = `{"type":"redirect","redirectConfig":{"path":"/away","statusCode":"HTTP_301"}}`
		return in
	},
	"conditions": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, min(n, 100), "b", "")
		b.Annotations[annotation.Conditions.FullName()+"b"] = `[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}}]`
		for i := range n {
			b.Annotations[fmt.Sprintf("%sb-%d", annotation.Conditions.FullName(), i)] = `[{"field":"path-pattern","pathPatternConfig":{"values":["*a*b","*c*d"]}}]`
		}
		return in
	},
	"ports": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 1, "b", "")
		b.Annotations[annotation.ListenPorts.FullName()] = listenOn("HTTP", n)
		return in
	},
	"ports in front": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 1, "b", "")
		b.Annotations[annotation.EnableFront.FullName()] = "true"
		b.Annotations[annotation.FrontPorts.FullName()] = each(n, ",", func(i int) string { return fmt.Sprintf("%d=80", 1+i%65535) })
		return in
	},
	"names": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 1, "b", "")
		return copies(in, b, n/50, func(copied *networkingv1.Ingress, i int) { namesOf(copied, fmt.Sprintf("n%d", i), 50) })
	},
	"trust stores": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 1, "b", "")
		return copies(in, b, n/50, func(copied *networkingv1.Ingress, i int) {
			copied.Annotations[annotation.MutualAuthentication.FullName()] = "[" + each(50, ",", func(j int) string {
				return fmt.Sprintf(`{"port":%d,"mode":"verify","trustStore":"store-%d-%d"}`, 1+j, i, j)
			}) + "]"
		})
	},
	"tags": func(t testing.TB, n int) input.Input {
		in, b := withGroups(t, 400)
		b.Annotations[annotation.Tags.FullName()] = each(n, ",", func(i int) string { return fmt.Sprintf("k%d=v", i) })
		return in
	},
	"attributes": func(t testing.TB, n int) input.Input {
		in, b := withGroups(t, 400)
		for _, name := range []string{annotation.TargetGroupAttributes.FullName(), annotation.LoadBalancerAttributes.FullName()} {
			b.Annotations[name] = each(n, ",", func(i int) string { return fmt.Sprintf("k%d=v", i) })
		}
		return in
	},
	"certificates": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 1, "b", "")
		b.Annotations[annotation.Certificates.FullName()] = each(n, ",", func(i int) string { return certARN(fmt.Sprint(i)) })
		b.Annotations[annotation.ListenPorts.FullName()] = listenOn("HTTPS", 40)
		return in
	},
	"subnets": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 1, "b", "")
		b.Annotations[annotation.Subnets.FullName()] = each(n, ",", func(i int) string { return fmt.Sprintf("name-%d", i) })
		return in
	},
	"paths x ports of many members": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 100, "b", "")
		b.Annotations[annotation.ListenPorts.FullName()] = listenOn("HTTP", 50)
		return copies(in, b, n/100, func(*networkingv1.Ingress, int) {})
	},
	"members": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 1, "b", "")
		return copies(in, b, n, func(*networkingv1.Ingress, int) {})
	},
	"members without rules": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 0, "b", "")
		return copies(in, b, n, func(*networkingv1.Ingress, int) {})
	},
	"members that are held": func(t testing.TB, n int) input.Input {
		in, b := withPaths(t, 1, "b", "")
		return copies(in, b, n, func(copied *networkingv1.Ingress, _ int) { copied.Annotations[annotation.Scheme.FullName()] = "none" })
	},
}

// withGroups has member b send to so many ports of its Service, each of which has a target group.
func withGroups(t testing.TB, n int) (input.Input, *networkingv1.Ingress) {
	t.Helper()
	in, b := withPaths(t, n, "b", "")
	service, paths := serviceOf(in.Services, "b"), b.Spec.Rules[0].HTTP.Paths
	for i := range paths {
		backend := *paths[i].Backend.Service
		backend.Port = networkingv1.ServiceBackendPort{Number: int32(1000 + i)}
		paths[i].Backend.Service = &backend
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Port: int32(1000 + i)})
	}
	return in, b
}

// copies adds so many copies of an Ingress to the group.
func copies(in input.Input, of *networkingv1.Ingress, n int, change func(*networkingv1.Ingress, int)) input.Input {
	for i := range n {
		copied := of.DeepCopy()
		copied.Name = fmt.Sprintf("b-%06d", i)
		change(copied, i)
		in.Members = append(in.Members, membership.Member{Ingress: copied})
	}
	return in
}

// Whatever the members of a group ask for very much of, what is allocated for it is linear in its bytes, from where it has room to far
// beyond that. Memory that is allocated stands for time, too, but for comparisons: those the next test counts.
func TestCostIsLinear(t *testing.T) {
	for name, make := range hostile {
		t.Run(name, func(t *testing.T) {
			cost := func(n int) (perByte, total float64) {
				in := make(t, n)
				size := 0
				for _, m := range in.Members {
					size += m.Ingress.Size()
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				asked := in
				asked.Bound()
				input.NeedsOf(asked)
				CheckAlone(in.Group, in.Members[1], in.Services, in.Options)
				Build(in)
				runtime.ReadMemStats(&after)
				total = float64(after.TotalAlloc - before.TotalAlloc)
				return total / float64(size), total
			}
			cost(10) // for what is taken once
			for _, n := range []int{100, 500, 2000, 8000} {
				perByte, total := cost(n)
				if perByte > 1000 || total > 200<<20 {
					t.Errorf("%d take %.0f bytes, %.0f a byte", n, total, perByte)
				}
			}
		})
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"cmp"
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
)

// readRules reads the rules that all listeners of the member get, in order, and its default backend.
func (r ruleReader) readRules() {
	paths, sizes := input.PathsOf(r.Member.Ingress), r.in.Options.Sizes()
	if sizes.HasTooMany(r.Member.Ingress) {
		r.Fail(fault.Fault{Field: "spec", Reason: fmt.Sprintf("more than %d rules, paths, entries of tls and hosts there in all are not "+
			"read: use fewer, as in several Ingresses", sizes.MostEntries())})
	} else if most := sizes.MostPaths(); paths > most {
		r.Fail(fault.Fault{Field: "spec.rules", Reason: fmt.Sprintf("%d paths are not read, as the quota of a load balancer is %d rules: "+
			"use fewer, as in several Ingresses with a group each, or a higher quota", paths, sizes.Rules)})
	} else {
		r.readPaths(paths)
	}
	r.readFallback()
}

// mostWrong is how many faults of paths are told, and how many of hosts without a certificate. What follows is not read: the member is held
// anyway, and there is an event for each fault.
const mostWrong = 100

// readPaths reads so many paths.
func (r ruleReader) readPaths(unread int) {
	before := len(r.Faults)
	for i, rule := range r.Member.Ingress.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, path := range inOrder(rule.HTTP.Paths) {
			if wrong := len(r.Faults) - before; wrong >= mostWrong {
				r.Fail(fault.Fault{Field: "spec.rules", Reason: fmt.Sprintf("%d more paths are not read: fix the %d faults of paths "+
					"before them first", unread, wrong)})
				return
			}
			unread--
			field := fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, path.index)
			built, err := r.rule(rule.Host, path.HTTPIngressPath, field)
			if err != nil {
				r.Fail(fault.At(field, err))
				continue
			}
			r.Rules = append(r.Rules, built)
		}
	}
}

// readFallback reads the default backend.
func (r ruleReader) readFallback() {
	const field = "spec.defaultBackend"
	backend := r.Member.Ingress.Spec.DefaultBackend
	if backend == nil {
		return
	}
	action, err := r.actionOf(*backend, field)
	if err == nil && stays(action) {
		err = errStays
	}
	r.Fail(fault.At(field, err))
	r.Fallback = &Rule{Rule: stack.Rule{Owner: r.Name, Action: action}, Field: field}
	if backend.Service != nil {
		r.Fallback.Backend = backend.Service.Name
	}
}

// indexed is a path with its index in the Ingress.
type indexed struct {
	networkingv1.HTTPIngressPath
	index int
}

// inOrder has paths of type Exact first, then those of Prefix, the longest first, then the others.
func inOrder(paths []networkingv1.HTTPIngressPath) []indexed {
	rank := func(p networkingv1.HTTPIngressPath) int {
		switch typeOf(p) {
		case networkingv1.PathTypeExact:
			return 0
		case networkingv1.PathTypePrefix:
			return 1
		default:
			return 2
		}
	}
	out := make([]indexed, len(paths))
	for i, path := range paths {
		out[i] = indexed{path, i}
	}
	slices.SortStableFunc(out, func(a, b indexed) int {
		by := cmp.Compare(rank(a.HTTPIngressPath), rank(b.HTTPIngressPath))
		if by == 0 && typeOf(a.HTTPIngressPath) == networkingv1.PathTypePrefix {
			return cmp.Compare(len(b.Path), len(a.Path))
		}
		return by
	})
	return out
}

func typeOf(path networkingv1.HTTPIngressPath) networkingv1.PathType {
	if path.PathType == nil {
		return networkingv1.PathTypeImplementationSpecific
	}
	return *path.PathType
}

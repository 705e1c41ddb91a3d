// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// AnyPath is a pattern of all paths.
const AnyPath = "/*"

// ruleReader reads rules, and what they lead to.
type ruleReader struct{ *Reading }

// readRules reads the rules that all listeners of the member get, in order, and its default backend.
func (r ruleReader) readRules() {
	spec := r.Member.Ingress.Spec
	for i, rule := range spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for _, path := range inOrder(rule.HTTP.Paths) {
			field := fmt.Sprintf("spec.rules[%d].http.paths[%d]", i, path.index)
			built, err := r.rule(rule.Host, path.HTTPIngressPath, field)
			if err != nil {
				r.Fail(annotation.At(field, err))
				continue
			}
			r.Rules = append(r.Rules, built)
		}
	}
	if spec.DefaultBackend != nil {
		action, err := r.actionOf(*spec.DefaultBackend, "spec.defaultBackend")
		if err == nil && stays(action) {
			err = errStays
		}
		r.Fail(annotation.At("spec.defaultBackend", err))
		r.Fallback = &Rule{Rule: stack.Rule{Owner: r.Name, Action: action}, Field: "spec.defaultBackend"}
		for port := range r.Ports {
			r.addText(OfPort(fallbackSetting, port), r.Name, annotation.Fault{Field: "spec.defaultBackend"})
		}
	}
}

// fallbackSetting is the shared setting of a port that says whose default backend its listener has.
const fallbackSetting = "default backend of port"

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

// rule is that of one path.
func (r ruleReader) rule(host string, path networkingv1.HTTPIngressPath, field string) (Rule, error) {
	name := ""
	if path.Backend.Service != nil {
		name = path.Backend.Service.Name
	}
	transforms, err := r.transforms(name)
	if err != nil {
		return Rule{}, err
	}
	conditions, err := r.conditions(host, path, name)
	if err != nil {
		return Rule{}, err
	}
	action, err := r.actionOf(path.Backend, field+".backend")
	if err != nil {
		return Rule{}, err
	}
	built := Rule{Rule: stack.Rule{Owner: r.Name, Conditions: conditions, Action: action, Transforms: transforms, Tags: r.Tags}, Field: field}
	if stays(action) && !LeadsToItself(built.Rule, annotation.HTTP, 0) { // else no listener has it
		return Rule{}, errStays
	}
	return built, nil
}

// ownConditions are those of host and path, without values where the Ingress has none.
func (r ruleReader) ownConditions(host string, path networkingv1.HTTPIngressPath) (hosts, paths stack.Condition, err error) {
	hosts, paths = stack.Condition{Field: annotation.HostHeader}, stack.Condition{Field: annotation.PathPattern}
	if host != "" {
		hosts.Values = []string{host}
	}
	if err := r.setPatterns(&paths, path); err != nil {
		return hosts, paths, err
	}
	return hosts, paths, checkPatterns([]stack.Condition{hosts, paths})
}

// conditions are those of the annotation of that name, then host and path, to which the annotation may add values.
func (r ruleReader) conditions(host string, path networkingv1.HTTPIngressPath, name string) ([]stack.Condition, error) {
	key := annotation.Conditions.Member(name)
	annotated, _, err := key.In(r.Annotations())
	if err != nil {
		return nil, err
	}
	hosts, paths, err := r.ownConditions(host, path)
	if err != nil {
		return nil, err
	}
	fault := annotation.Fault{Annotation: key.FullName(), Value: r.Annotations()[key.FullName()]}
	conditions := distribute(annotated, &hosts, &paths)
	for _, condition := range []stack.Condition{hosts, paths} {
		if len(condition.Values) > 0 && len(condition.Regex) > 0 {
			fault.Reason = condition.Field + " has values and regular expressions: want one kind, as the Ingress's own has"
			return nil, fault
		}
		if len(condition.Values)+len(condition.Regex) > 0 {
			conditions = append(conditions, condition)
		}
	}
	if len(conditions) == 0 {
		conditions = []stack.Condition{{Field: annotation.PathPattern, Values: []string{AnyPath}}}
	}
	if err := checkCounts(&r.in.Options, conditions); err != nil {
		return nil, err
	}
	if err := checkPatterns(conditions); err != nil {
		fault.Reason = err.Error()
		return nil, fault
	}
	return conditions, nil
}

// distribute adds values to hosts and paths, and returns the other conditions.
func distribute(annotated []annotation.Condition, hosts, paths *stack.Condition) (others []stack.Condition) {
	for _, condition := range annotated {
		switch condition.Field {
		case annotation.HostHeader:
			appendTexts(hosts, *condition.HostHeaderConfig)
		case annotation.PathPattern:
			appendTexts(paths, *condition.PathPatternConfig)
		default:
			others = append(others, conditionOf(condition))
		}
	}
	return others
}

// setPatterns sets the patterns of a path.
func (r ruleReader) setPatterns(paths *stack.Condition, path networkingv1.HTTPIngressPath) error {
	if path.Path == "" {
		return nil
	}
	kind := typeOf(path)
	if kind == networkingv1.PathTypeImplementationSpecific {
		if regex, _ := get(r.Reading, annotation.RegexPaths); regex {
			paths.Regex = []string{strings.TrimPrefix(path.Path, "/")}
		} else {
			paths.Values = []string{path.Path}
		}
		return nil
	}
	if strings.ContainsAny(path.Path, "*?") {
		return annotation.Fault{Value: path.Path, Reason: "wildcards are for pathType ImplementationSpecific: want a path without * and ?"}
	}
	switch kind {
	case networkingv1.PathTypeExact:
		paths.Values = []string{path.Path}
	case networkingv1.PathTypePrefix:
		paths.Values = []string{AnyPath}
		if prefix := strings.TrimSuffix(path.Path, "/"); prefix != "" {
			paths.Values = []string{prefix, prefix + AnyPath}
		}
	default:
		return errors.New("pathType " + string(kind) + ": want Exact, Prefix or ImplementationSpecific")
	}
	return nil
}

func appendTexts(condition *stack.Condition, texts annotation.Texts) {
	condition.Values = append(condition.Values, texts.Values...)
	condition.Regex = append(condition.Regex, texts.RegexValues...)
}

// conditionOf is the condition as a noun of stacks, for fields other than host and path.
func conditionOf(c annotation.Condition) stack.Condition {
	out := stack.Condition{Field: c.Field}
	switch {
	case c.HTTPHeaderConfig != nil && c.Field == "http-header":
		out.Header = c.HTTPHeaderConfig.HTTPHeaderName
		appendTexts(&out, c.HTTPHeaderConfig.Texts)
	case c.Field == annotation.RequestMethod:
		out.Values = c.HTTPRequestMethodConfig.Values
	case c.Field == annotation.SourceIP:
		out.Values = c.SourceIPConfig.Values
	case c.Field == "query-string":
		for _, parameter := range c.QueryStringConfig.Values {
			key := ""
			if parameter.Key != nil {
				key = *parameter.Key
			}
			out.Query = append(out.Query, stack.Parameter{Key: key, Value: parameter.Value})
		}
	}
	return out
}

// transforms are those of paths whose backend has that name.
func (r ruleReader) transforms(name string) (out []stack.Transform, err error) {
	annotated, _, err := annotation.Transforms.Member(name).In(r.Annotations())
	for _, transform := range annotated {
		transformed := stack.Transform{Type: transform.Type}
		for _, rewrite := range cmp.Or(transform.HostHeaderRewriteConfig, transform.URLRewriteConfig).Rewrites {
			transformed.Rewrites = append(transformed.Rewrites, stack.Rewrite(rewrite))
		}
		out = append(out, transformed)
	}
	slices.SortFunc(out, func(a, b stack.Transform) int { return cmp.Compare(a.Type, b.Type) })
	return out, err
}

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
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// AnyPath is a pattern of all paths.
const AnyPath = "/*"

// ruleReader reads rules, and what they lead to.
type ruleReader struct {
	*Reading
	memo memo
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
	built := Rule{
		Rule:  stack.Rule{Owner: r.Name, Conditions: conditions, Action: action, Transforms: transforms, Tags: r.Tags},
		Field: field, Backend: name,
	}
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
	added, err := r.added(name)
	if err != nil {
		return nil, err
	}
	hosts, paths, err := r.ownConditions(host, path)
	if err != nil {
		return nil, err
	}
	if n := countValues(added); n > r.in.Options.Limits.ConditionValues { // at once, as there may be thousands
		return nil, tooManyValues(n+len(hosts.Values)+len(paths.Values)+len(paths.Regex), &r.in.Options)
	}
	conditions := distribute(added, &hosts, &paths)
	for _, condition := range []stack.Condition{hosts, paths} {
		if len(condition.Values) > 0 && len(condition.Regex) > 0 {
			return nil, r.conditionsFault(name, condition.Field+" has values and regular expressions: set one kind, as the Ingress's own has")
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
		return nil, r.conditionsFault(name, err.Error())
	}
	return conditions, nil
}

// addedBy is the name of an annotation of conditions, as a key of what was read before.
type addedBy string

// added are the conditions of the annotation of that name. Those on fields that are not known are left out, as by the incumbent.
func (r ruleReader) added(name string) ([]annotation.Condition, error) {
	return once(r.memo, addedBy(name), func() (known []annotation.Condition, err error) {
		all, _, err := annotated(r, annotation.Conditions, name)
		for i, condition := range all {
			switch {
			case condition.IsKnown():
				known = append(known, condition)
			case len(known) == i: // the first that is not
				r.warnOf(r.conditionsFault(name, fmt.Sprintf("[%d], field %.30q: this field is not known, so the condition is ignored: must be %s",
					i, condition.Field, strings.Join(annotation.ConditionFields(), ", "))))
			}
		}
		return known, err
	})
}

func (r ruleReader) conditionsFault(name, reason string) fault.Fault {
	key := annotation.Conditions.FullName() + name
	return fault.Fault{Annotation: key, Value: r.Annotations()[key], Reason: reason}
}

// distribute adds values to hosts and paths, and returns the other conditions.
func distribute(added []annotation.Condition, hosts, paths *stack.Condition) (others []stack.Condition) {
	for _, condition := range added {
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
		regex, _, err := annotated(r, annotation.RegexPaths, "")
		if r.Fail(err); regex {
			paths.Regex = []string{strings.TrimPrefix(path.Path, "/")}
		} else {
			paths.Values = []string{path.Path}
		}
		return nil
	}
	if strings.ContainsAny(path.Path, "*?") {
		return fault.Fault{Value: path.Path, Reason: "wildcards are for pathType ImplementationSpecific: set a path without * and ?"}
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
		return errors.New("pathType " + string(kind) + ": must be Exact, Prefix or ImplementationSpecific")
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
	switch c.Field {
	case annotation.HTTPHeader:
		out.Header = c.HTTPHeaderConfig.HTTPHeaderName
		appendTexts(&out, c.HTTPHeaderConfig.Texts)
	case annotation.RequestMethod:
		out.Values = c.HTTPRequestMethodConfig.Values
	case annotation.SourceIP:
		out.Values = c.SourceIPConfig.Values
	case annotation.QueryString:
		for _, parameter := range c.QueryStringConfig.Values {
			out.Query = append(out.Query, stack.Parameter{Key: ptr.Deref(parameter.Key, ""), Value: parameter.Value})
		}
	}
	return out
}

// transforms are those of paths whose backend has that name.
func (r ruleReader) transforms(name string) (out []stack.Transform, err error) {
	wanted, _, err := annotated(r, annotation.Transforms, name)
	for _, transform := range wanted {
		transformed := stack.Transform{Type: transform.Type}
		for _, rewrite := range cmp.Or(transform.HostHeaderRewriteConfig, transform.URLRewriteConfig).Rewrites {
			transformed.Rewrites = append(transformed.Rewrites, stack.Rewrite(rewrite))
		}
		out = append(out, transformed)
	}
	slices.SortFunc(out, func(a, b stack.Transform) int { return cmp.Compare(a.Type, b.Type) })
	return out, err
}

// memo has what was read before, by what it was read of. Many paths share annotations and Services, so each of these is read once: an
// annotation may have 256 KiB.
type memo map[any]any

// result is what was read, or why it could not be.
type result[T any] struct {
	value T
	err   error
}

// once is what read returns, which is called once for each key.
func once[T any](m memo, key any, read func() (T, error)) (T, error) {
	known, ok := m[key].(result[T])
	if !ok {
		known.value, known.err = read()
		m[key] = known
	}
	return known.value, known.err
}

// member is an annotation of a family, which goes on with that name; the name of any other is "".
type member struct {
	family *annotation.Annotation
	name   string
}

// meaning is what an annotation says.
type meaning[T any] struct {
	value T
	set   bool
}

// annotated is what one of the Ingress's annotations says, as of annotation.Key.In.
func annotated[T any](r ruleReader, family annotation.Key[T], name string) (value T, set bool, err error) {
	said, err := once(r.memo, member{family.Annotation, name}, func() (out meaning[T], err error) {
		out.value, out.set, err = family.Member(name).In(r.Annotations())
		return out, err
	})
	return said.value, said.set, err
}

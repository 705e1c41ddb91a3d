// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// Reading is what one member asks for, by itself.
type Reading struct {
	voter
	in     *input.Input
	Member membership.Member
	params v1beta1.IngressClassParamsSpec

	Faults   []fault.Fault // that hold the member, but for those of what is set aside
	Warnings []fault.Fault
	noted    map[fault.Fault]bool // both

	Ports        map[int32]annotation.Protocol // of its listeners; nil if they cannot be read
	Certificates []string                      // of its HTTPS listeners
	Issue        *stack.Certificate            // that ACM is to issue
	Rules        []Rule                        // of each of its listeners, in order
	Fallback     *Rule                         // the action of its default backend
	Groups       []stack.TargetGroup
	Bindings     []stack.Binding
	Tags         map[string]string // of the user, for all but target groups
	FrontPorts   []int32           // on which what stands in front is to listen

	// aside is what the member says of what stands in front if it does not ask for that, nil if it does. It counts if counts is set.
	aside  *Reading
	counts bool
}

// Rule is one of a member's. Its Tags are those of the user.
type Rule struct {
	stack.Rule
	Field string // the path of the field that asks for it
	// Backend is the name of the backend there, which goes on the names of annotations that say more of the rule.
	Backend string
}

// Read reads a member. Whatever cannot be read is a fault of its own, and the rest is read all the same.
func Read(in *input.Input, i int, forced map[string]bool) *Reading {
	member := in.Members[i]
	v := voter{Name: membership.NameOf(member.Ingress), Votes: map[string]Vote{}, first: i == 0, forced: forced}
	r := &Reading{voter: v, in: in, Member: member, params: member.Settings()}
	if member.Fault != nil {
		r.Fail(*member.Fault)
	}
	if member.Over != nil {
		r.Fail(*member.Over)
		r.Ports = r.unreadPorts()
		return r
	}
	r.checkName()
	r.readTags()
	listenerReader{r}.readListeners()
	settingsReader{r}.readSettings()
	settingsReader{r}.readAccess()
	ruleReader{r, memo{}}.readRules()
	r.warn()
	return r
}

// unreadPorts are the ports of a member that is not read; nil if they are too many, or others than the annotation says.
func (r *Reading) unreadPorts() map[int32]annotation.Protocol {
	ports, _, err := annotation.ListenPorts.In(r.Annotations())
	if err != nil || len(ports) > r.in.Options.Sizes().Budget().Ports {
		return nil
	}
	return ports
}

// IsUnread reports whether nothing of the member was read but its ports.
func (r *Reading) IsUnread() bool { return r.Member.Over != nil }

// checkName finds names of Ingresses that are too long for the labels of their bindings.
func (r *Reading) checkName() {
	const longest = 63
	if name := r.in.Group.Name; !r.in.Group.IsExplicit() && len(name) > longest {
		r.Fail(fault.Fault{Field: "metadata.name", Value: name, Reason: fmt.Sprintf(
			"has %d characters, and an Ingress without a group may have %d, as a label of its TargetGroupBindings has its name: "+
				"choose a shorter one, or %s", len(name), longest, annotation.GroupName.FullName())})
	}
}

// Annotations are those of the Ingress.
func (r *Reading) Annotations() map[string]string { return r.Member.Ingress.Annotations }

// Fail notes a fault that holds the member.
func (r *Reading) Fail(err error) {
	if err == nil {
		return
	}
	wrong := fault.As(err)
	if wrong.Member = r.Name; wrong.IsWarning() {
		wrong.Kind = fault.Wrong
	}
	if r.isNew(wrong) {
		r.Faults = append(r.Faults, wrong)
	}
}

// mostWarnings is how many warnings of a member are kept. So many annotations are read in a review.
const mostWarnings = 1000

// warnOf notes a warning. In the place of those beyond mostWarnings stands one.
func (r *Reading) warnOf(wrong fault.Fault) {
	switch n := len(r.Warnings); {
	case n > mostWarnings:
		return
	case n == mostWarnings:
		wrong = fault.Fault{Reason: "there are more warnings, which are not shown: fix what these are about first"}
	}
	wrong.Member, wrong.Kind = r.Name, fault.Warning
	if r.isNew(wrong) {
		r.Warnings = append(r.Warnings, wrong)
	}
}

// isNew reports whether the fault is noted for the first time. Of its value counts what is shown, as paths may share a long one.
func (r *Reading) isNew(wrong fault.Fault) bool {
	if r.noted == nil {
		r.noted = map[fault.Fault]bool{}
	}
	wrong.Value = wrong.ShownValue()
	before := r.noted[wrong]
	r.noted[wrong] = true
	return !before
}

// get is the value of one of the member's annotations; a wrong one is a fault.
func get[T any](r *Reading, key annotation.Key[T]) (value T, set bool) {
	value, set, err := key.In(r.Annotations())
	r.Fail(err)
	return value, set
}

// paramsObject names the member's params.
func (r *Reading) paramsObject() string { return "IngressClassParams " + r.Member.Params.Name }

// paramsFault is what is wrong with a field of the member's params.
func (r *Reading) paramsFault(field, value, reason string) fault.Fault {
	return fault.Fault{Object: r.paramsObject(), Field: field, Value: value, Reason: reason}
}

// readTags reads the tags of the user.
func (r *Reading) readTags() {
	r.Tags = r.tagsIn(annotation.Tags)
	if params := r.paramsTags(); len(params) > 0 {
		r.Fail(r.in.Options.CheckTags(r.tagsOfParams(), params))
		maps.Copy(r.Tags, params)
	}
}

// tagsIn are those of an annotation that users may set.
func (r *Reading) tagsIn(key annotation.Key[map[string]string]) map[string]string {
	said, _ := get(r, key)
	fault := fault.Fault{Annotation: key.FullName(), Value: r.Annotations()[key.FullName()]}
	tags := parts.AllowedTags(fault, said, r.warnOf)
	r.Fail(r.in.Options.CheckTags(fault, tags))
	return tags
}

// paramsTags are those of the member's params that users may set.
func (r *Reading) paramsTags() map[string]string {
	if len(r.params.Tags) == 0 {
		return nil
	}
	tags := make(map[string]string, len(r.params.Tags))
	for _, tag := range r.params.Tags {
		tags[tag.Key] = tag.Value
	}
	return parts.AllowedTags(r.tagsOfParams(), tags, r.warnOf)
}

func (r *Reading) tagsOfParams() fault.Fault {
	return fault.Fault{Object: r.paramsObject(), Field: "spec.tags"}
}

// Listens reports whether the member has, or may have, a listener on the port.
func (r *Reading) Listens(port int32) bool {
	_, ok := r.Ports[port]
	return ok || r.Ports == nil
}

// Hosts are those that the member's rules are for, "" for any; none if annotations may name more, or if the rules are not read.
func (r *Reading) Hosts() []string {
	if r.IsUnread() || r.in.Options.Sizes().HasTooMany(r.Member.Ingress) {
		return nil
	}
	for name := range r.Annotations() {
		if strings.HasPrefix(name, annotation.Conditions.FullName()) {
			return nil
		}
	}
	hosts := map[string]bool{}
	for _, rule := range r.Member.Ingress.Spec.Rules {
		hosts[rule.Host] = true
	}
	return slices.Sorted(maps.Keys(hosts))
}

// warn notes what the user should know and does not hold the member: annotations that are not known, not supported or wrong where nothing
// needs them, and settings of params that are not supported.
func (r *Reading) warn() {
	isFaulty := map[string]bool{} // by annotation
	for _, fault := range slices.Concat(r.Faults, r.asideFaults()) {
		if fault.Object == "" {
			isFaulty[fault.Annotation] = true
		}
	}
	for _, fault := range annotation.Check(r.Annotations()) {
		if !isFaulty[fault.Annotation] {
			r.warnOf(fault)
		}
	}
	if value, ok := r.Annotations()[annotation.ListenPorts.FullName()]; ok {
		r.warnOfPortTwice(value)
	}
	r.warnOfTLS()
}

// warnOfTLS finds hosts with TLS that are served without it.
func (r *Reading) warnOfTLS() {
	isSecure := slices.Contains(slices.Collect(maps.Values(r.Ports)), annotation.HTTPS)
	if len(r.Member.Ingress.Spec.TLS) > 0 && r.Ports != nil && !isSecure {
		r.warnOf(fault.Fault{
			Field:  "spec.tls",
			Reason: "all listeners of this Ingress are for HTTP: set one for HTTPS in " + annotation.ListenPorts.FullName(),
		})
	}
}

func (r *Reading) warnOfPortTwice(value string) {
	entries, err := annotation.ParseJSON[[]map[annotation.Protocol]int32](value)
	if err != nil {
		return
	}
	seen := map[int32]bool{}
	for _, entry := range entries {
		for _, port := range entry {
			if seen[port] {
				r.warnOf(fault.Fault{
					Annotation: annotation.ListenPorts.FullName(), Value: value,
					Reason: fmt.Sprintf("port %d is listed twice, and its protocol is %s: list it once", port, r.Ports[port]),
				})
			}
			seen[port] = true
		}
	}
}

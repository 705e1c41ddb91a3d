// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"maps"
	"slices"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// reading is what one member asks for, by itself.
type reading struct {
	in     *input.Input
	member membership.Member
	name   string
	params v1beta1.IngressClassParamsSpec
	// first says that the member is the first of its group: some settings of params count from there alone.
	first bool
	// forced are the keys of settings that the params of the first member say.
	forced map[string]bool

	faults   []annotation.Fault // that hold the member
	warnings []annotation.Fault
	noted    map[annotation.Fault]bool // both

	ports        map[int32]annotation.Protocol // of its listeners; nil if they cannot be read
	votes        map[string]vote               // what it says of settings that members share, by setting
	certificates []string                      // of its HTTPS listeners
	issue        *stack.Certificate            // that ACM is to issue
	rules        []rule                        // of each of its listeners, in order
	fallback     *rule                         // the action of its default backend
	groups       []stack.TargetGroup
	bindings     []stack.Binding
	tags         map[string]string // of the user, for all but target groups
	mapsPorts    bool              // it says which ports what stands in front has
}

// rule is one of a member's. Its Tags are those of the user.
type rule struct {
	stack.Rule
	field string // the path of the field that asks for it
}

// read reads a member. Whatever cannot be read is a fault of its own, and the rest is read all the same.
func read(in *input.Input, i int, forced map[string]bool) *reading {
	member := in.Members[i]
	r := &reading{in: in, member: member, name: membership.NameOf(member.Ingress), first: i == 0, forced: forced, votes: map[string]vote{}}
	r.params = member.Settings()
	if member.Fault != nil {
		r.fail(*member.Fault)
	}
	r.checkName()
	r.readTags()
	r.readListeners()
	r.readSettings()
	r.readAccess()
	r.readRules()
	r.warn()
	return r
}

// checkName finds names of Ingresses that are too long for the labels of their bindings.
func (r *reading) checkName() {
	const longest = 63
	if name := r.in.Group.Name; !r.in.Group.IsExplicit() && len(name) > longest {
		r.fail(annotation.Fault{Field: "metadata.name", Value: name, Reason: fmt.Sprintf(
			"has %d characters, and an Ingress without a group may have %d, as a label of its TargetGroupBindings has its name: "+
				"want a shorter one, or %s", len(name), longest, annotation.GroupName.FullName())})
	}
}

func (r *reading) annotations() map[string]string { return r.member.Ingress.Annotations }

// fail notes a fault that holds the member.
func (r *reading) fail(err error) {
	if err == nil {
		return
	}
	fault := annotation.AsFault(err)
	fault.Member, fault.Warning = r.name, false
	if r.isNew(fault) {
		r.faults = append(r.faults, fault)
	}
}

func (r *reading) warnOf(fault annotation.Fault) {
	fault.Member, fault.Warning = r.name, true
	if r.isNew(fault) {
		r.warnings = append(r.warnings, fault)
	}
}

// isNew reports whether the fault is noted for the first time.
func (r *reading) isNew(fault annotation.Fault) bool {
	if r.noted == nil {
		r.noted = map[annotation.Fault]bool{}
	}
	before := r.noted[fault]
	r.noted[fault] = true
	return !before
}

// get is the value of one of the member's annotations; a wrong one is a fault.
func get[T any](r *reading, key annotation.Key[T]) (value T, set bool) {
	value, set, err := key.In(r.annotations())
	r.fail(err)
	return value, set
}

// paramsObject names the member's params.
func (r *reading) paramsObject() string { return "IngressClassParams " + r.member.Params.Name }

// paramsFault is what is wrong with a field of the member's params.
func (r *reading) paramsFault(field, value, reason string) annotation.Fault {
	return annotation.Fault{Object: r.paramsObject(), Field: field, Value: value, Reason: reason}
}

// readTags reads the tags of the user.
func (r *reading) readTags() {
	own, _ := get(r, annotation.Tags)
	r.fail(r.in.Options.CheckTags(annotation.Fault{
		Annotation: annotation.Tags.FullName(), Value: r.annotations()[annotation.Tags.FullName()],
	}, own))
	r.tags = map[string]string{}
	maps.Copy(r.tags, own)
	params := r.paramsTags()
	if len(params) > 0 {
		r.fail(r.in.Options.CheckTags(annotation.Fault{Object: r.paramsObject(), Field: "spec.tags"}, params))
	}
	maps.Copy(r.tags, params)
}

func (r *reading) paramsTags() map[string]string {
	tags := make(map[string]string, len(r.params.Tags))
	for _, tag := range r.params.Tags {
		tags[tag.Key] = tag.Value
	}
	return tags
}

// listens reports whether the member has, or may have, a listener on the port.
func (r *reading) listens(port int32) bool {
	_, ok := r.ports[port]
	return ok || r.ports == nil
}

// warn notes what the user should know and does not hold the member: annotations that are not known, not supported or wrong where nothing
// needs them, and settings of params that are not supported.
func (r *reading) warn() {
	for _, fault := range annotation.Check(r.annotations()) {
		isFault := func(other annotation.Fault) bool { return other.Annotation == fault.Annotation && other.Object == "" }
		if !slices.ContainsFunc(r.faults, isFault) {
			r.warnOf(fault)
		}
	}
	if value, ok := r.annotations()[annotation.ListenPorts.FullName()]; ok {
		r.warnOfPortTwice(value)
	}
	r.warnOfTLS()
}

// warnOfTLS finds hosts with TLS that are served without it.
func (r *reading) warnOfTLS() {
	isSecure := slices.Contains(slices.Collect(maps.Values(r.ports)), annotation.HTTPS)
	if len(r.member.Ingress.Spec.TLS) > 0 && r.ports != nil && !isSecure {
		r.warnOf(annotation.Fault{
			Field:  "spec.tls",
			Reason: "all listeners of this Ingress are for HTTP: want one for HTTPS in " + annotation.ListenPorts.FullName(),
		})
	}
}

func (r *reading) warnOfPortTwice(value string) {
	entries, err := annotation.ParseJSON[[]map[annotation.Protocol]int32](value)
	if err != nil {
		return
	}
	seen := map[int32]bool{}
	for _, entry := range entries {
		for _, port := range entry {
			if seen[port] {
				r.warnOf(annotation.Fault{
					Annotation: annotation.ListenPorts.FullName(), Value: value,
					Reason: fmt.Sprintf("port %d is there twice, and its protocol is %s: want it once", port, r.ports[port]),
				})
			}
			seen[port] = true
		}
	}
}

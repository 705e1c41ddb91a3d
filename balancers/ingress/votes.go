// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
)

// vote is what a member says of a setting that its group, or those that listen on a port, have once.
type vote struct {
	text string
	// same is equal for votes that mean the same.
	same string
	from annotation.Fault // what says it, without a Reason
}

// of is the name of a shared setting of a port.
func of(name string, port int32) string { return name + " " + strconv.Itoa(int(port)) }

// keyed is the name of a shared setting that is one key of several.
func keyed(name, key string) string { return name + "[" + key + "]" }

// add adds a vote. A list is the same in any order.
func (r *reading) add(setting, text string, from annotation.Fault) {
	same := text
	if strings.Contains(text, ",") {
		items := strings.Split(text, ",")
		slices.Sort(items)
		same = strings.Join(items, ",")
	}
	from.Member, from.Value = r.name, text
	r.votes[setting] = vote{text: text, same: same, from: from}
}

// addKeys adds a vote for each key of a setting. What the first member's params say of a key holds for all.
func (r *reading) addKeys(name string, values map[string]string, from annotation.Fault) {
	for key, value := range values {
		setting := keyed(name, key)
		if r.forced[setting] && (!r.first || from.Object == "") {
			continue
		}
		from.Member, from.Value = r.name, value
		r.votes[setting] = vote{text: value, same: value, from: from}
	}
}

// say has the member vote for a value of its params, else for that of its annotation, and returns it. One without text does not count.
func say[T any](r *reading, key annotation.Key[T], field, ofParams string, text func(T) string) (string, bool) {
	from := annotation.Fault{Annotation: key.FullName()}
	var value T
	var set bool
	if ofParams != "" {
		from = annotation.Fault{Object: r.paramsObject(), Field: field}
		parsed, err := key.Parse(ofParams)
		if err != nil {
			r.fail(r.paramsFault(field, ofParams, err.Error()))
			return "", false
		}
		value, set = parsed, true
	} else {
		value, set = get(r, key)
	}
	if !set || text(value) == "" {
		return "", false
	}
	r.add(key.Name, text(value), from)
	return text(value), true
}

func asIs(text string) string      { return text }
func commas(items []string) string { return strings.Join(items, ",") }
func decimal(n int64) string       { return strconv.FormatInt(n, 10) }
func yesNo(b bool) string          { return strconv.FormatBool(b) }

// agreed is what holds for the group.
type agreed struct {
	votes map[string]vote
}

func (a agreed) get(setting, otherwise string) string {
	if vote, ok := a.votes[setting]; ok {
		return vote.text
	}
	return otherwise
}

func (a agreed) list(setting string) []string {
	items, _ := annotation.ParseList(a.get(setting, "")) // ParseList has no errors
	return items
}

// keys are the values of a setting that has several keys.
func (a agreed) keys(name string) map[string]string {
	values := map[string]string{}
	for setting, vote := range a.votes {
		if key, ok := strings.CutPrefix(setting, name+"["); ok {
			values[strings.TrimSuffix(key, "]")] = vote.text
		}
	}
	return values
}

// pinned are the votes of what is seen that a member shares, even one that is held: they count before all others.
func pinned(readings []*reading, seen map[string]vote) map[string]vote {
	pins := map[string]vote{}
	for setting, vote := range seen {
		if slices.ContainsFunc(readings, func(r *reading) bool { return r.says(setting) && r.votes[setting].same == vote.same }) {
			pins[setting] = vote
		}
	}
	return pins
}

// agree finds what holds for the group. A member joins if it contradicts neither the pins nor those before it; else a fault says with whom
// it disagrees.
func agree(readings []*reading, pins map[string]vote) (agreed, map[*reading]annotation.Fault) {
	a, faults := agreed{votes: maps.Clone(pins)}, map[*reading]annotation.Fault{}
	for _, r := range readings {
		if fault, ok := r.contradicts(a); ok {
			faults[r] = fault
			continue
		}
		for setting, vote := range r.votes {
			if _, ok := a.votes[setting]; !ok {
				a.votes[setting] = vote
			}
		}
	}
	return a, faults
}

func (r *reading) says(setting string) bool {
	_, ok := r.votes[setting]
	return ok
}

// contradicts is the fault of a member that says something else than what is agreed on, if it does.
func (r *reading) contradicts(a agreed) (annotation.Fault, bool) {
	for _, setting := range slices.Sorted(maps.Keys(r.votes)) {
		mine := r.votes[setting]
		if other, ok := a.votes[setting]; ok && other.same != mine.same {
			fault := mine.from
			fault.Reason = "the group has " + strconv.Quote(other.text) + ", as " + other.who() + ": want the same, or nothing"
			return fault, true
		}
	}
	return annotation.Fault{}, false
}

func (v vote) who() string {
	if v.from.Member == "" {
		return "the load balancer has it"
	}
	name := v.from.Annotation
	if name == "" {
		name = v.from.Object + ", " + v.from.Field + ","
	}
	return name + " of Ingress " + v.from.Member + " says"
}

// maySay reports whether a held member says something of the setting, as far as can be read.
func (r *reading) maySay(setting string) bool {
	if r.says(setting) || r.member.Fault != nil {
		return true
	}
	name, _, ofKey := strings.Cut(setting, "[")
	name, _, ofPort := strings.Cut(name, " ")
	ofListener := ofPort && !ofKey || strings.HasPrefix(name, annotation.ListenerAttributes.Name)
	return ofListener && r.ports == nil ||
		slices.ContainsFunc(r.faults, func(fault annotation.Fault) bool {
			return fault.Annotation == annotation.Prefix+name && fault.Object == ""
		})
}

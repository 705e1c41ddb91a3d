// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Vote is what a member says of a setting that its group, or those that listen on a port, have once.
type Vote struct {
	Text string
	// same is equal for votes that mean the same.
	same   string
	yields bool        // to one that does not, unless it is pinned
	From   fault.Fault // what says it, without a Reason
}

// voter is who votes: a member, or what is seen.
type voter struct {
	Name  string          // of the member, "" of what is seen
	Votes map[string]Vote // by setting
	// first says that the member is the first of its group: some settings of params count from there alone.
	first bool
	// forced are the keys of settings that the params of the first member say.
	forced map[string]bool
}

// add adds a vote. A list is the same in any order.
func (v *voter) add(setting, text string, from fault.Fault) {
	same := text
	if strings.Contains(text, ",") {
		items := strings.Split(text, ",")
		slices.Sort(items)
		same = strings.Join(items, ",")
	}
	from.Member, from.Value = v.Name, text
	v.Votes[setting] = Vote{Text: text, same: same, From: from}
}

// addText adds a vote whose text is no list.
func (v *voter) addText(setting, text string, from fault.Fault) {
	from.Member, from.Value = v.Name, text
	v.Votes[setting] = Vote{Text: text, same: text, From: from}
}

// addKeys adds a vote for each key of a setting. What the first member's params say of a key holds for all.
func (v *voter) addKeys(name string, values map[string]string, from fault.Fault) {
	for key, value := range values {
		if setting := stack.OfKey(name, key); !v.forced[setting] || v.first && from.Object != "" {
			v.addText(setting, value, from)
		}
	}
}

// say has the member vote for a value of its params, else for that of its annotation, and returns it. One without text does not count.
func say[T any](r *Reading, key annotation.Key[T], field, ofParams string, text func(T) string) (string, bool) {
	from := fault.Fault{Annotation: key.FullName()}
	var value T
	var set bool
	if ofParams != "" {
		from = fault.Fault{Object: r.paramsObject(), Field: field}
		parsed, err := key.Parse(ofParams)
		if err != nil {
			r.Fail(r.paramsFault(field, ofParams, err.Error()))
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

// YesNo is the text of a vote for a switch.
func YesNo(b bool) string { return strconv.FormatBool(b) }

func asIs(text string) string      { return text }
func commas(items []string) string { return strings.Join(items, ",") }
func decimal(n int64) string       { return strconv.FormatInt(n, 10) }

// Agreed is what holds for the group.
type Agreed struct {
	Votes map[string]Vote
}

// Get is what holds for a setting, or otherwise if nobody says one.
func (a Agreed) Get(setting, otherwise string) string {
	if vote, ok := a.Votes[setting]; ok {
		return vote.Text
	}
	return otherwise
}

// Members are the names of those whose votes count, by setting.
func (a Agreed) Members() map[string]string {
	names := map[string]string{}
	for setting, vote := range a.Votes {
		if vote.From.Member != "" {
			names[setting] = vote.From.Member
		}
	}
	return names
}

// List is what holds for a setting that is a list.
func (a Agreed) List(setting string) []string {
	items, _ := annotation.ParseList(a.Get(setting, "")) // ParseList has no errors
	return items
}

// Keys are the values of all settings that have several keys, by the name of the setting and the key.
func (a Agreed) Keys() map[string]map[string]string {
	values := map[string]map[string]string{}
	for setting, vote := range a.Votes {
		name, key, ok := strings.Cut(setting, "[")
		if !ok {
			continue
		}
		if values[name] == nil {
			values[name] = map[string]string{}
		}
		values[name][strings.TrimSuffix(key, "]")] = vote.Text
	}
	return values
}

// Pinned are the votes of what is seen that a member shares, even one that is held: they count before all others.
func Pinned(readings []*Reading, seen map[string]Vote) map[string]Vote {
	pins := map[string]Vote{}
	for _, r := range readings {
		for setting, mine := range r.Votes {
			vote, isSeen := seen[setting]
			if pin, pinned := pins[setting]; isSeen && mine.same == vote.same && (!pinned || pin.yields) {
				vote.yields = mine.yields
				pins[setting] = vote
			}
		}
	}
	return pins
}

// Agree finds what holds for the group. A member joins if it contradicts neither the pins nor those before it; else a fault says with whom
// it disagrees.
func Agree(readings []*Reading, pins map[string]Vote) (Agreed, map[*Reading]fault.Fault) {
	a, faults := Agreed{Votes: maps.Clone(pins)}, map[*Reading]fault.Fault{}
	for _, r := range readings {
		if fault, ok := r.contradicts(a, pins); ok {
			faults[r] = fault
			continue
		}
		for setting, vote := range r.Votes {
			if other, ok := a.Votes[setting]; !ok || other.yields && !vote.yields {
				a.Votes[setting] = vote
			}
		}
	}
	return a, faults
}

// Says reports whether the member says something of the setting.
func (v *voter) Says(setting string) bool {
	_, ok := v.Votes[setting]
	return ok
}

// List is what the member says of a setting that is a list, as it has written it.
func (v *voter) List(setting string) []string { return Agreed{Votes: v.Votes}.List(setting) }

// contradicts is the fault of a member that says something else than what is agreed on, if it does. Nothing that is pinned yields.
func (v *voter) contradicts(a Agreed, pins map[string]Vote) (fault.Fault, bool) {
	for _, setting := range slices.Sorted(maps.Keys(v.Votes)) {
		mine := v.Votes[setting]
		other, ok := a.Votes[setting]
		if _, pinned := pins[setting]; ok && other.same != mine.same && (other.yields == mine.yields || pinned && !mine.yields) {
			fault := mine.From
			fault.Reason = "the group has " + strconv.Quote(other.Text) + ", as " + other.Who() + subjectOf(setting) + ": set " + insteadOf(setting)
			return fault, true
		}
	}
	return fault.Fault{}, false
}

// subjectOf says which of several keys or ports the setting is for, as a part of a sentence.
func subjectOf(setting string) string {
	if _, key, ok := strings.Cut(setting, "["); ok {
		return " for the key " + strings.TrimSuffix(key, "]")
	}
	if i := strings.LastIndexByte(setting, ' '); i >= 0 {
		return " on port " + setting[i+1:]
	}
	return ""
}

// insteadOf says what would be right in the place of another value than the group has.
func insteadOf(setting string) string {
	switch name, _, _ := strings.Cut(setting, " "); {
	case strings.HasPrefix(setting, protocolSetting): // nothing is a protocol, too
		return "the same, or another port; the default is " + annotation.ListenPorts.Default
	case name == annotation.FrontPorts.Name:
		return "the same, or another port in front; without a mapping each port leads to itself"
	}
	return "the same, or nothing"
}

// Who says who has the vote, as a part of a sentence.
func (v Vote) Who() string {
	if v.From.Member == "" {
		return "the load balancer has it"
	}
	name := v.From.Annotation
	if name == "" {
		name = v.From.Object + ", " + v.From.Field + ","
	}
	return name + " of Ingress " + v.From.Member + " says"
}

// MaySay reports whether a held member says something of the setting, as far as can be read.
func (r *Reading) MaySay(setting string) bool {
	if r.Says(setting) || r.Member.Fault != nil || r.IsUnread() {
		return true
	}
	name, _, ofKey := strings.Cut(setting, "[")
	name, _, ofPort := strings.Cut(name, " ")
	ofListener := ofPort && !ofKey || strings.HasPrefix(name, annotation.ListenerAttributes.Name)
	return ofListener && r.Ports == nil ||
		slices.ContainsFunc(r.Holding(), func(fault fault.Fault) bool {
			return fault.Annotation == annotation.Prefix+name && fault.Object == ""
		})
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/targetgate/targetgate/balancers"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/steps"
)

// Report is what passes would do. In JSON it is an object with these fields, to which others may be added.
type Report struct {
	// Changes says whether anything would change, in AWS or in the cluster.
	Changes bool `json:"changes"`
	// Failed is how many groups could not be planned: whether anything would change in them is not known.
	Failed int     `json:"failed"`
	Groups []Group `json:"groups"`
	// Faults are those of Ingresses that belong to no group because of them.
	Faults []Fault `json:"faults,omitempty"`
	// Notes are what the report does not know.
	Notes []string `json:"notes,omitempty"`
}

// Group is what a pass over one would do.
type Group struct {
	Name    string   `json:"group"`   // "name", or "namespace/name" of an Ingress that is alone in its own
	Members []string `json:"members"` // "namespace/name" each, in the order of their rules
	// Leaving are Ingresses that belong to another group, and stay until that one serves them.
	Leaving []string `json:"leaving,omitempty"`
	// Steps are for AWS and TargetGroupBindings, in their order. Ingresses are what is written to Ingresses.
	Steps     []Step            `json:"steps"`
	Ingresses []balancers.Write `json:"ingresses,omitempty"`
	Faults    []Fault           `json:"faults,omitempty"`
	Notes     []string          `json:"notes,omitempty"`
	// Error is why the rest is not known.
	Error string `json:"error,omitempty"`
}

// Step is one change, or one wait.
type Step struct {
	Change string `json:"change"` // its name, such as CreateRule; Nothing for a wait alone
	Text   string `json:"text"`   // what is done, and what has to hold before
	Why    string `json:"why"`
	Wait   string `json:"wait,omitempty"` // what has to hold before
	Late   bool   `json:"late,omitempty"` // it is done when calls are to spare: no request depends on it
}

// Fault is what is wrong with an Ingress.
type Fault struct {
	Ingress string `json:"ingress"` // "namespace/name"
	Text    string `json:"text"`
	// Warning says that the Ingress is served as it asks all the same. Otherwise it stays as it was.
	Warning bool `json:"warning,omitempty"`
}

// IsFaulty reports whether something could not be found out, or an Ingress would not be served as it asks.
func (r Report) IsFaulty() bool {
	isFault := func(f Fault) bool { return !f.Warning }
	return len(r.Faults) > 0 || slices.ContainsFunc(r.Groups, func(g Group) bool {
		return g.Error != "" || slices.ContainsFunc(g.Faults, isFault)
	})
}

func (r *Report) add(group Group) {
	r.Groups = append(r.Groups, group)
	r.Changes = r.Changes || group.changes()
	if group.Error != "" {
		r.Failed++
	}
}

func (g *Group) changes() bool { return len(g.Steps)+len(g.Ingresses) > 0 }

func groupOf(p balancers.Proposal) Group {
	out := Group{Name: p.Group.String(), Members: p.Members, Leaving: p.Leaving, Steps: stepsOf(p.Plan), Ingresses: p.Writes}
	if out.Members == nil {
		out.Members = []string{}
	}
	for _, fault := range p.Faults {
		out.Faults = append(out.Faults, Fault{Ingress: fault.Member, Text: fault.Error(), Warning: fault.IsWarning()})
	}
	out.Faults = append(out.Faults, overflows(p.Overflow)...)
	if p.Orphaned {
		out.Notes = append(out.Notes, "the group has a load balancer but no Ingress: targetgate leaves the load balancer alone")
	}
	return out
}

func stepsOf(planned steps.Plan) []Step {
	out := make([]Step, 0, len(planned))
	for _, step := range planned {
		s := Step{Change: reflect.TypeOf(step.Change).Name(), Text: step.String(), Why: step.Why, Late: step.Late}
		if step.Wait != nil {
			s.Wait = step.Wait.String()
		}
		out = append(out, s)
	}
	return out
}

// overflows says of each Ingress how many of its rules have no room.
func overflows(overflow []plan.Overflow) (out []Fault) {
	missing := map[string]int{}
	for _, over := range overflow {
		missing[over.Rule.Owner]++
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		out = append(out, Fault{Ingress: name, Text: fmt.Sprintf(
			"%d rules do not fit into the quota of rules of a load balancer: remove rules from the group, or raise the quota in AWS and "+
				"--load-balancer-rule-quota", missing[name])})
	}
	return out
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/balancers"
)

// Orphans are the load balancers to which no Ingress belongs. In JSON it is an object with these fields, to which others may be added.
type Orphans struct {
	Orphans []Orphan `json:"orphans"`
}

// Orphan is what was made for a group without Ingresses.
type Orphan struct {
	Group         string   `json:"group"` // "name", or "namespace/name" of the Ingress that was alone in its own
	LoadBalancers []string `json:"loadBalancers"`
	// Since is when it lost its Ingresses, as far as a controller has seen. DeletedAfter is when the controller deletes it at the earliest,
	// one at a time.
	Since        *time.Time `json:"since,omitempty"`
	DeletedAfter *time.Time `json:"deletedAfter,omitempty"`
	// Kept is why the controller does not delete it. Refused says that it cannot be deleted on request either.
	Kept    string `json:"kept,omitempty"`
	Refused bool   `json:"refused,omitempty"`
	Steps   []Step `json:"steps"` // what goes with it
}

// OrphansOf is the report on these. Never is why the controller deletes none at all, "" if it does.
func OrphansOf(list []balancers.Orphan, never string) Orphans {
	out := Orphans{Orphans: []Orphan{}}
	for _, o := range list {
		orphan := Orphan{
			Group: o.Group.String(), LoadBalancers: o.LoadBalancers, Since: timeOf(o.Since), DeletedAfter: timeOf(o.Due),
			Kept: o.Kept, Refused: o.Refused != "", Steps: stepsOf(o.Plan),
		}
		if never != "" && orphan.Kept == "" {
			orphan.Kept, orphan.DeletedAfter = never, nil
		}
		out.Orphans = append(out.Orphans, orphan)
	}
	return out
}

func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Find is the orphan with that group, or with a load balancer of that name.
func (o Orphans) Find(name string) (Orphan, bool) {
	i := slices.IndexFunc(o.Orphans, func(o Orphan) bool { return o.Group == name || slices.Contains(o.LoadBalancers, name) })
	if i < 0 {
		return Orphan{}, false
	}
	return o.Orphans[i], true
}

// Text writes the report for people.
func (o Orphans) Text(w io.Writer) error {
	p := &printer{}
	for i := range o.Orphans {
		p.orphan(&o.Orphans[i])
	}
	if len(o.Orphans) == 0 {
		p.line("Every load balancer has an Ingress.")
	} else {
		p.line("%s without Ingress. To keep one, create an Ingress of its group; to delete one now, name it with --delete.",
			count(len(o.Orphans), "group"))
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

func (p *printer) orphan(o *Orphan) {
	since := "not known since when"
	if o.Since != nil {
		since = "since " + o.Since.Format(time.RFC3339)
	}
	p.line("Group %s: load balancer %s, without Ingress, %s", o.Group, strings.Join(o.LoadBalancers, " and "), since)
	switch {
	case o.Refused:
		p.line("  is not deleted, and cannot be with --delete: %s", o.Kept)
	case o.Kept != "":
		p.line("  is not deleted by itself: %s", o.Kept)
	case o.DeletedAfter != nil:
		p.line("  is deleted by itself after %s", o.DeletedAfter.Format(time.RFC3339))
	default:
		p.line("  is deleted by itself once it has had no Ingress for --orphan-grace")
	}
	for i, step := range o.Steps {
		p.line("  %d. %s (%s)", i+1, step.Text, step.Why)
	}
}

// Removal writes for people what a pass has done.
func Removal(w io.Writer, done []string) error {
	p := &printer{}
	for _, step := range done {
		p.line("  %s", step)
	}
	_, err := fmt.Fprint(w, p.out.String())
	return err
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Text writes the report for people: the groups in which something changes or is wrong, each step with its reason, and a sum.
func (r Report) Text(w io.Writer) error {
	p := &printer{}
	quiet, steps, writes := 0, 0, 0
	p.faults("", r.Faults)
	for i := range r.Groups {
		g := &r.Groups[i]
		steps, writes = steps+len(g.Steps), writes+len(g.Ingresses)
		if !g.changes() && g.Error == "" && len(g.Faults)+len(g.Notes) == 0 {
			quiet++
			continue
		}
		p.group(g)
	}
	for _, note := range r.Notes {
		p.line("Note: %s.", note)
	}
	switch others := len(r.Groups) - r.Failed; {
	case r.Changes:
		p.line("%s, and %s. Nothing to report for %s.", count(steps, "step"), count(writes, "write to Ingresses", "writes to Ingresses"),
			count(quiet, "other group"))
	case r.Failed == 0:
		p.line("Nothing would change, in %s.", count(others, "group"))
	case others > 0:
		p.line("Nothing would change in %s.", count(others, "other group"))
	}
	if r.Failed > 0 {
		p.line("%s could not be planned.", count(r.Failed, "group"))
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

type printer struct{ out strings.Builder }

// line writes one. What a terminal would act on is left out of what comes from the cluster.
func (p *printer) line(format string, args ...any) {
	for _, r := range fmt.Sprintf(format, args...) {
		if !unicode.IsPrint(r) {
			r = unicode.ReplacementChar
		}
		p.out.WriteRune(r)
	}
	p.out.WriteByte('\n')
}

func (p *printer) group(g *Group) {
	p.line("Group %s: %s", g.Name, strings.Join(g.Members, ", "))
	if g.Error != "" {
		p.line("  could not be planned: %s", g.Error)
	}
	for _, note := range g.Notes {
		p.line("  %s", note)
	}
	p.faults("  ", g.Faults)
	for _, name := range g.Leaving {
		p.line("  Ingress %s belongs to another group, and stays until that one serves it", name)
	}
	for i, step := range g.Steps {
		p.line("  %d. %s (%s)", i+1, step.Text, step.Why)
	}
	for _, write := range g.Ingresses {
		p.line("  Ingress %s: %s", write.Ingress, write.Text)
	}
	if !g.changes() && g.Error == "" {
		p.line("  nothing would change")
	}
}

func (p *printer) faults(indent string, faults []Fault) {
	for _, fault := range faults {
		kind := "is not served as it asks"
		if fault.Warning {
			kind = "has a warning"
		}
		p.line("%sIngress %s %s: %s", indent, fault.Ingress, kind, fault.Text)
	}
}

func count(n int, names ...string) string {
	if n == 1 {
		return "1 " + names[0]
	}
	return fmt.Sprintf("%d %s", n, append(names, names[0]+"s")[1])
}

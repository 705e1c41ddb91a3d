// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// colours are the terminal's, by state.
var colours = map[State]string{OK: "\x1b[32m", Waiting: "\x1b[33m", Broken: "\x1b[1;31m", Unknown: "\x1b[36m"}

const plain = "\x1b[0m"

// Text writes the report for people, with a terminal's colours if asked for. Whole is with every link of every endpoint;
// otherwise endpoints in which all is well are counted only, and of the first others the links that are not well are named.
func (r Report) Text(w io.Writer, whole, coloured bool) error {
	p := &printer{whole: whole, coloured: coloured}
	for i := range r.Chains {
		if i > 0 {
			p.line("")
		}
		p.chain(&r.Chains[i])
	}
	for _, note := range r.Notes {
		p.line("Note: %s.", note)
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

type printer struct {
	out             strings.Builder
	whole, coloured bool
	advised         string // what was said last, and need not be said of the next pod again
}

// line writes one. What comes from the cluster is escaped where a terminal would act on it.
func (p *printer) line(format string, args ...any) {
	for i, arg := range args {
		if text, isText := arg.(string); isText {
			args[i] = harmless(text)
		}
	}
	p.out.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

func (p *printer) chain(c *Chain) {
	if c.Binding != "" {
		p.line("TargetGroupBinding %s/%s", c.Namespace, c.Binding)
	}
	if c.Ingress != "" {
		p.line("Ingress %s/%s", c.Namespace, c.Ingress)
	}
	p.links("  ", c.Links)
	p.endpoints(c.Endpoints)
	p.cause(c)
}

// shown is how many endpoints that are not well are printed of one chain; all are in JSON.
const shown = 20

// endpoints prints first those that need someone. Of those in which something is only unknown it prints one.
func (p *printer) endpoints(all []Endpoint) {
	if p.whole {
		p.each(all)
		return
	}
	by := map[State][]Endpoint{}
	for _, ep := range all {
		by[worst(ep.Links)] = append(by[worst(ep.Links)], ep)
	}
	sick := append(by[Broken], by[Waiting]...)
	p.each(sick[:min(shown, len(sick))])
	if more := len(sick) - shown; more > 0 {
		p.line("  and %d more endpoints with problems: -o json lists all", more)
	}
	if unknown := by[Unknown]; len(unknown) > 0 {
		p.line("  %s", p.colour(Unknown, fmt.Sprintf("%d of %d endpoints have unknown links, for example", len(unknown), len(all))))
		p.each(unknown[:1])
	}
	if well := len(by[OK]); well > 0 {
		p.line("  %s", p.colour(OK, fmt.Sprintf("%d of %d endpoints: every link is ok", well, len(all))))
	}
}

func (p *printer) each(endpoints []Endpoint) {
	for _, ep := range endpoints {
		links := ep.Links
		if !p.whole {
			links = unwell(links)
		}
		p.line("  %s %s  %s", ep.Kind, ep.Name, ep.Target)
		p.links("    ", links)
	}
}

func unwell(links []Link) []Link {
	var out []Link
	for _, l := range links {
		if l.State != OK {
			out = append(out, l)
		}
	}
	return out
}

func (p *printer) links(indent string, links []Link) {
	for _, l := range links {
		p.line("%s%s  %-12s  %s", indent, p.colour(l.State, fmt.Sprintf("%-7s", l.State)), l.Name, l.Seen)
		if l.Advice != "" && l.Advice != p.advised {
			p.line("%s%23s%s %s", indent, "", "->", l.Advice)
			p.advised = l.Advice
		}
	}
}

// cause says where to begin. What is unknown may be broken.
func (p *printer) cause(c *Chain) {
	n, names := c.unknown()
	nothing := "Nothing is broken."
	if n > 0 {
		nothing = "Nothing is known to be broken."
	}
	switch {
	case c.Cause == nil && n > 0:
		p.line("%s Unknown links: %d (%s)", nothing, n, strings.Join(names, ", "))
		return
	case c.Cause == nil:
		p.line("%s", nothing)
		return
	}
	what := "First broken link"
	if c.Cause.State == Waiting {
		what = nothing + " First waiting link"
	}
	where := c.Cause.Name
	if c.Cause.Endpoint != "" {
		where += " of " + c.Cause.Endpoint
	}
	p.line("%s: %s", p.colour(c.Cause.State, what), where)
}

// painted is text of our own, with a terminal's colours.
type painted string

func (p *printer) colour(state State, text string) painted {
	if !p.coloured {
		return painted(text)
	}
	return painted(colours[state] + text + plain)
}

// harmless is text from any source without what a terminal would act on: control characters, and marks that turn the direction
// of writing, are shown as their code.
func harmless(text string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return out.String()
}

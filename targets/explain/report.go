// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
)

// State is how a link is.
type State string

// The states. What is Waiting goes on by itself; what is Broken needs someone.
const (
	OK      State = "ok"
	Waiting State = "waiting"
	Broken  State = "broken"
	Unknown State = "unknown"
)

// Link is one thing that has to be right before a pod gets traffic.
type Link struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Seen   string `json:"seen"`             // what was found
	Advice string `json:"advice,omitempty"` // what to do, where there is something to do
}

func link(name string, state State, format string, args ...any) Link {
	return Link{Name: name, State: state, Seen: fmt.Sprintf(format, args...)}
}

func (l Link) advise(format string, args ...any) Link {
	l.Advice = fmt.Sprintf(format, args...)
	return l
}

// Endpoint is one pod behind a binding, or one node.
type Endpoint struct {
	Kind   string `json:"kind"` // Pod or Node
	Name   string `json:"name"` // of a node its instance ID
	Target string `json:"target,omitempty"`
	Links  []Link `json:"links"`
}

// Chain is what was found of one binding.
type Chain struct {
	Namespace string     `json:"namespace"`
	Binding   string     `json:"binding,omitempty"` // empty when none has to do with the pod
	Ingress   string     `json:"ingress,omitempty"` // of a chain that is about an Ingress, and no binding
	Links     []Link     `json:"links"`             // of the binding, or the Ingress
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// Cause is the first broken link, or the first one that waits when none is broken; nil when there is neither.
	Cause *Cause `json:"cause,omitempty"`
}

// OfIngress is the chain of an Ingress.
func OfIngress(namespace, name string, links []Link) Chain {
	return concluded(Chain{Namespace: namespace, Ingress: name, Links: links})
}

// Cause is a link, and whose.
type Cause struct {
	Endpoint string `json:"endpoint,omitempty"` // Pod or Node and its name, empty for the binding's own links
	Link
}

// Report is what was found. In JSON it is an object with these fields, to which others may be added.
type Report struct {
	Chains []Chain `json:"bindings"`
	// Notes are what could not be checked.
	Notes []string `json:"notes,omitempty"`
}

// IsBroken reports whether any link is.
func (r Report) IsBroken() bool {
	for i := range r.Chains {
		if cause := r.Chains[i].Cause; cause != nil && cause.State == Broken {
			return true
		}
	}
	return false
}

// conclude finds the chain's cause.
func (c *Chain) conclude() {
	for _, state := range []State{Broken, Waiting} {
		if c.Cause = c.first(state); c.Cause != nil {
			return
		}
	}
}

// unknown counts the links that are, and names them, each once.
func (c *Chain) unknown() (n int, names []string) {
	count := func(links []Link) {
		for _, l := range links {
			if l.State != Unknown {
				continue
			}
			n++
			if !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
	}
	count(c.Links)
	for _, ep := range c.Endpoints {
		count(ep.Links)
	}
	return n, names
}

// worst is the state of the link that is least well.
func worst(links []Link) State {
	for _, state := range []State{Broken, Waiting, Unknown} {
		if first(links, state) != nil {
			return state
		}
	}
	return OK
}

func (c *Chain) first(state State) *Cause {
	if l := first(c.Links, state); l != nil {
		return &Cause{Link: *l}
	}
	var cause *Cause
	for _, ep := range c.Endpoints {
		l := first(ep.Links, state)
		if l != nil && (cause == nil || slices.Index(endpointLinks, l.Name) < slices.Index(endpointLinks, cause.Name)) {
			cause = &Cause{Endpoint: ep.Kind + " " + ep.Name, Link: *l}
		}
	}
	return cause
}

// endpointLinks are the links of endpoints in the order of the chain: of two endpoints the one is the cause that stops sooner in it.
var endpointLinks = []string{"slice", "node", "pod", "target", "health", "gate"}

func first(links []Link, state State) *Link {
	for i := range links {
		if links[i].State == state {
			return &links[i]
		}
	}
	return nil
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Policy is a policy document. The zero value allows nothing.
type Policy struct{ statements []statement }

type statement struct {
	name       string // its Sid, or its place
	deny       bool
	actions    []pattern
	resources  []pattern
	conditions []condition
}

// Grant is one action of a statement that allows, as the document spells it. Statement is its Sid, or its place (#1).
type Grant struct{ Statement, Action string }

// String gives statement and action.
func (g Grant) String() string { return g.Statement + " " + g.Action }

// Grants are all that the policy has, in its order.
func (p Policy) Grants() []Grant {
	var grants []Grant
	for _, s := range p.statements {
		for _, action := range s.actions {
			if !s.deny {
				grants = append(grants, Grant{s.name, action.text})
			}
		}
	}
	return grants
}

const version = "2012-10-17"

// document and entry are the JSON of a policy and of a statement.
type document struct {
	Version   string
	ID        string `json:"Id"`
	Statement list[entry]
}

type entry struct {
	Sid       string
	Effect    string
	Action    list[string]
	Resource  list[string]
	Condition map[string]map[string]list[string]
}

// list is JSON that may leave out the brackets around a single value.
type list[T any] []T

// UnmarshalJSON reads one value or several.
func (l *list[T]) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		var several []T
		err := strict(data, &several)
		*l = several
		return err
	}
	var one T
	err := strict(data, &one)
	*l = list[T]{one}
	return err
}

// strict reads JSON and refuses fields that are not known.
func strict(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if decoder.More() {
		return errors.New("there is text after the end")
	}
	return nil
}

// Parse reads a policy document.
func Parse(text []byte) (Policy, error) {
	var d document
	if err := strict(text, &d); err != nil {
		return Policy{}, fmt.Errorf("reading policy: %w", err)
	}
	if d.Version != version {
		return Policy{}, fmt.Errorf("reading policy: version is %q, want %q", d.Version, version)
	}
	if len(d.Statement) == 0 {
		return Policy{}, errors.New("reading policy: it has no statement")
	}
	var p Policy
	for n, e := range d.Statement {
		s, err := e.statement(n + 1)
		if err != nil {
			return Policy{}, fmt.Errorf("reading policy: statement %s: %w", s.name, err)
		}
		if slices.ContainsFunc(p.statements, func(other statement) bool { return other.name == s.name }) {
			return Policy{}, fmt.Errorf("reading policy: there are two statements %s", s.name)
		}
		p.statements = append(p.statements, s)
	}
	return p, nil
}

var (
	sidText    = regexp.MustCompile(`^[a-zA-Z0-9]*$`)
	actionText = regexp.MustCompile(`^(\*|[a-z0-9-]+:[a-zA-Z0-9*?]+)$`)
)

func (e entry) validate() error {
	switch {
	case !sidText.MatchString(e.Sid):
		return errors.New("its Sid has other characters than letters and digits")
	case e.Effect != "Allow" && e.Effect != "Deny":
		return fmt.Errorf("effect is %q, want Allow or Deny", e.Effect)
	case len(e.Action) == 0:
		return errors.New("it has no Action")
	case len(e.Resource) == 0:
		return errors.New("it has no Resource")
	}
	return nil
}

// statement is the entry as the statement of that number.
func (e entry) statement(number int) (s statement, err error) {
	s.name = cmp.Or(e.Sid, fmt.Sprintf("#%d", number))
	s.deny = e.Effect == "Deny"
	if err := e.validate(); err != nil {
		return s, err
	}
	for _, action := range e.Action {
		if !actionText.MatchString(action) {
			return s, fmt.Errorf("action %q is not SERVICE:OPERATION", action)
		}
		s.actions = append(s.actions, newPattern(action, true))
	}
	for _, resource := range e.Resource {
		if resource != "*" && !strings.HasPrefix(resource, "arn:") || strings.Contains(resource, "${") {
			return s, fmt.Errorf("resource %q is neither * nor an ARN without variables", resource)
		}
		s.resources = append(s.resources, newPattern(resource, false))
	}
	s.conditions, err = conditions(e.Condition)
	return s, err
}

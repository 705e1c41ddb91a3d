// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// Action is what a listener or a rule does with a request: exactly one field besides Auth is set.
type Action struct {
	Auth     *Auth // who may pass, nil is everybody
	Forward  *Forward
	Redirect *Redirect
	Fixed    *FixedResponse
}

// Forward sends a request to one of several target groups, by their weights.
type Forward struct {
	Groups []Weighted
	// Sticky is how many seconds a client stays with its group, 0 for not at all. It is kept and shown, not acted upon.
	Sticky int
	// StickyOff are the seconds of a stickiness that is given and not enabled, 0 for none. They are kept and shown, too.
	StickyOff int
}

// Weighted is a target group with its weight.
type Weighted struct {
	Group  string
	Weight int
}

// Redirect sends the client elsewhere. Parts that are empty get their placeholder, which stands for that part of the request; an empty
// query is none.
type Redirect struct {
	Protocol, Host, Port, Path, Query string
	Status                            string // HTTP_301, HTTP_302
}

// FixedResponse answers with a page of the load balancer's own.
type FixedResponse struct {
	Status, ContentType, Body string
}

// ForwardTo is the action of most listeners: all to one group.
func ForwardTo(group string) Action {
	return Action{Forward: &Forward{Groups: []Weighted{{Group: group, Weight: 1}}}}
}

// TargetGroups are the target groups that the action names, whatever their weights.
func (a Action) TargetGroups() []string {
	if a.Forward == nil {
		return nil
	}
	var arns []string
	for _, w := range a.Forward.Groups {
		arns = append(arns, w.Group)
	}
	return arns
}

// WithDefaults fills in the placeholders of a redirect, and what is not said of a login.
func (a Action) WithDefaults() Action {
	a.Auth = a.Auth.WithDefaults()
	if a.Redirect == nil {
		return a
	}
	full := *a.Redirect
	full.Protocol = cmp.Or(full.Protocol, "#{protocol}")
	full.Host = cmp.Or(full.Host, "#{host}")
	full.Port = cmp.Or(full.Port, "#{port}")
	full.Path = cmp.Or(full.Path, "/#{path}")
	a.Redirect = &full
	return a
}

func invalidAction(format string, args ...any) error {
	return refusal.New("InvalidLoadBalancerAction", format, args...)
}

// Validate checks an action by itself.
func (a Action) Validate(mostGroups int) error {
	set := 0
	for _, given := range []bool{a.Forward != nil, a.Redirect != nil, a.Fixed != nil} {
		if given {
			set++
		}
	}
	switch {
	case set != 1:
		return invalidAction("An action list must have exactly one 'forward', 'redirect' or 'fixed-response' action")
	case a.Forward != nil:
		return a.Forward.validate(mostGroups)
	case a.Redirect != nil:
		return a.Redirect.validate()
	}
	return a.Fixed.validate()
}

// ValidateOver checks an action of a listener of that protocol: over HTTPS alone one can log in, and nothing is redirected to HTTP (so says
// the API reference of RedirectActionConfig).
func (a Action) ValidateOver(protocol string) error {
	const https = "HTTPS"
	if a.Redirect != nil && protocol == https && a.Redirect.Protocol == "HTTP" {
		return invalidAction("Redirecting HTTPS to HTTP is not supported")
	}
	return a.Auth.Validate(protocol == https)
}

// The bounds of a forward action.
const (
	largestWeight = 999
	longestSticky = 604800
)

func (f *Forward) validate(mostGroups int) error {
	if len(f.Groups) == 0 {
		return invalidAction("A forward action must name a target group")
	}
	if len(f.Groups) > mostGroups {
		return invalidAction("A forward action can have at most %d target groups", mostGroups)
	}
	for n, w := range f.Groups {
		if slices.ContainsFunc(f.Groups[:n], func(other Weighted) bool { return other.Group == w.Group }) {
			return invalidAction("Target group '%s' is given twice in one forward action", w.Group)
		}
		if err := refusal.Within("weight", w.Weight, 0, largestWeight); err != nil {
			return err
		}
	}
	return refusal.Within("durationSeconds", max(f.Sticky, f.StickyOff), 0, longestSticky)
}

// longestPart is the length of a redirect's host, path and query, in the API's model.
const longestPart = 128

func (r *Redirect) validate() error {
	if err := refusal.OneOf("statusCode", r.Status, []string{"HTTP_301", "HTTP_302"}); err != nil {
		return err
	}
	if err := refusal.OneOf("protocol", r.Protocol, []string{"HTTP", "HTTPS", "#{protocol}"}); err != nil {
		return err
	}
	if err := r.validateLengths(); err != nil {
		return err
	}
	switch {
	case r.Port != "#{port}" && !isPort(r.Port):
		return refusal.Invalid("Redirect port '%s' must be '#{port}' or a number from 1 to 65535", r.Port)
	case !strings.HasPrefix(r.Path, "/"):
		return refusal.Invalid("Redirect path '%s' must begin with '/'", r.Path)
	case r.Protocol == "#{protocol}" && r.Host == "#{host}" && r.Port == "#{port}" && r.Path == "/#{path}":
		return invalidAction("A redirect must change at least one of protocol, host, port and path")
	}
	return nil
}

func (r *Redirect) validateLengths() error {
	for name, part := range map[string]string{"host": r.Host, "path": r.Path, "query": r.Query} {
		if utf8.RuneCountInString(part) > longestPart {
			return refusal.Unfit(name, part, "have length less than or equal to 128")
		}
	}
	return nil
}

func isPort(text string) bool {
	port, err := strconv.Atoi(text)
	return err == nil && port >= 1 && port <= 65535
}

var (
	fixedStatus  = regexp.MustCompile(`^[245][0-9][0-9]$`)
	contentTypes = []string{"", "text/plain", "text/css", "text/html", "application/javascript", "application/json"}
)

const longestBody = 1024

func (f *FixedResponse) validate() error {
	if !fixedStatus.MatchString(f.Status) {
		return refusal.Unfit("statusCode", f.Status, "satisfy regular expression pattern: "+fixedStatus.String())
	}
	if utf8.RuneCountInString(f.Body) > longestBody {
		return refusal.Unfit("messageBody", f.Body, "have length less than or equal to 1024")
	}
	return refusal.OneOf("contentType", f.ContentType, contentTypes)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type actionXML struct {
	Type                string
	TargetGroupArn      string       `xml:",omitempty"`
	ForwardConfig       *forwardXML  `xml:",omitempty"`
	RedirectConfig      *redirectXML `xml:",omitempty"`
	FixedResponseConfig *fixedXML    `xml:",omitempty"`
	Order               int          `xml:",omitempty"`

	AuthenticateCognitoConfig *cognitoXML `xml:",omitempty"`
	AuthenticateOidcConfig    *oidcXML    `xml:",omitempty"`
	JwtValidationConfig       *jwtXML     `xml:",omitempty"`
}

type weightedXML struct {
	TargetGroupArn string
	Weight         int
}

type stickinessXML struct {
	Enabled         bool
	DurationSeconds int `xml:",omitempty"`
}

type forwardXML struct {
	TargetGroups                members[weightedXML]
	TargetGroupStickinessConfig stickinessXML
}

type redirectXML struct {
	Protocol, Port, Host, Path, Query, StatusCode string
}

type fixedXML struct {
	MessageBody string `xml:",omitempty"`
	StatusCode  string
	ContentType string `xml:",omitempty"`
}

// actionsAnswer shows an action with what was filled in.
func actionsAnswer(a state.Action) members[actionXML] {
	shown := actionXML{Order: 1}
	switch {
	case a.Forward != nil:
		shown.Type = "forward"
		config := forwardXML{TargetGroupStickinessConfig: stickinessXML{a.Forward.Sticky > 0, a.Forward.Sticky}}
		for _, w := range a.Forward.Groups {
			config.TargetGroups.Members = append(config.TargetGroups.Members, weightedXML{w.Group, w.Weight})
		}
		if len(a.Forward.Groups) == 1 {
			shown.TargetGroupArn = a.Forward.Groups[0].Group
		}
		shown.ForwardConfig = &config
	case a.Redirect != nil:
		shown.Type = "redirect"
		r := a.Redirect
		shown.RedirectConfig = &redirectXML{r.Protocol, r.Port, r.Host, r.Path, r.Query, r.Status}
	case a.Fixed != nil:
		shown.Type = "fixed-response"
		shown.FixedResponseConfig = &fixedXML{a.Fixed.Body, a.Fixed.Status, a.Fixed.ContentType}
	}
	if a.Auth == nil {
		return members[actionXML]{[]actionXML{shown}}
	}
	shown.Order = 2
	return members[actionXML]{[]actionXML{authAnswer(a.Auth), shown}}
}

// actions reads a list of actions; the zero Action is none.
func (q *request) actions(path string) (state.Action, error) {
	list := q.list(path)
	order := func(p *params) int {
		n, _ := p.number("Order") // 0 where it is not given
		return n
	}
	slices.SortStableFunc(list, func(a, b *params) int { return cmp.Compare(order(a), order(b)) })
	switch len(list) {
	case 0:
		return state.Action{}, nil
	case 1:
		return list[0].action()
	case 2:
		auth, err := list[0].auth()
		if err != nil {
			return state.Action{}, err
		}
		action, err := list[1].action()
		action.Auth = auth
		return action, err
	}
	return state.Action{}, state.Refuse("TooManyActions", "A rule can have two actions, there are %d", len(list))
}

func (p *params) action() (state.Action, error) {
	switch kind := p.text("Type"); kind {
	case "forward":
		forward, err := p.forward()
		return state.Action{Forward: forward}, err
	case "redirect":
		c := p.at("RedirectConfig")
		return state.Action{Redirect: &state.Redirect{
			Protocol: c.text("Protocol"), Host: c.text("Host"), Port: c.text("Port"), Path: c.text("Path"), Query: c.query(),
			Status: c.text("StatusCode"),
		}}, nil
	case "fixed-response":
		c := p.at("FixedResponseConfig")
		return state.Action{Fixed: &state.FixedResponse{
			Status: c.text("StatusCode"), ContentType: c.text("ContentType"), Body: c.text("MessageBody"),
		}}, nil
	default:
		return state.Action{}, state.Refuse("InvalidLoadBalancerAction", "The action type '%s' is not emulated", kind)
	}
}

// query is that of a redirect: one that is given and empty drops the client's.
func (p *params) query() string {
	if p.at("Query") == nil {
		return "#{query}"
	}
	return p.text("Query")
}

func (p *params) forward() (*state.Forward, error) {
	forward := &state.Forward{}
	for _, g := range p.list("ForwardConfig.TargetGroups.member") {
		weight, err := strconv.Atoi(g.text("Weight"))
		if err != nil { // not given
			weight = 1
		}
		forward.Groups = append(forward.Groups, state.Weighted{Group: g.text("TargetGroupArn"), Weight: weight})
	}
	alone := p.text("TargetGroupArn")
	switch {
	case len(forward.Groups) == 0 && alone != "":
		forward.Groups = []state.Weighted{{Group: alone, Weight: 1}}
	case alone != "" && (len(forward.Groups) != 1 || forward.Groups[0].Group != alone):
		return nil, state.Refuse("InvalidLoadBalancerAction", "Target group '%s' is not the one of the forward configuration", alone)
	}
	sticky := p.at("ForwardConfig.TargetGroupStickinessConfig")
	if sticky.text("Enabled") != "true" {
		return forward, nil
	}
	duration, err := sticky.number("DurationSeconds")
	if err == nil && duration == 0 {
		err = state.Invalid("A duration must be specified for target group stickiness")
	}
	forward.Sticky = duration
	return forward, err
}

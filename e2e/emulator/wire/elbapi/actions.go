// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package elbapi

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/wire/call"
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
	TargetGroups                call.Members[weightedXML]
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
func actionsAnswer(a routing.Action) call.Members[actionXML] {
	shown := actionXML{Order: 1}
	switch {
	case a.Forward != nil:
		shown.Type = "forward"
		config := forwardXML{TargetGroupStickinessConfig: stickinessXML{
			a.Forward.Sticky > 0, max(a.Forward.Sticky, a.Forward.StickyOff),
		}}
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
		return call.Members[actionXML]{Members: []actionXML{shown}}
	}
	shown.Order = 2
	return call.Members[actionXML]{Members: []actionXML{authAnswer(a.Auth), shown}}
}

// actions reads a list of actions; the zero Action is none.
func actions(q *call.Request, path string) (routing.Action, error) {
	list := q.List(path)
	order := func(p *call.Tree) int {
		n, _ := p.Number("Order") // 0 where it is not given
		return n
	}
	slices.SortStableFunc(list, func(a, b *call.Tree) int { return cmp.Compare(order(a), order(b)) })
	switch len(list) {
	case 0:
		return routing.Action{}, nil
	case 1:
		return action(list[0])
	case 2:
		auth, err := auth(list[0])
		if err != nil {
			return routing.Action{}, err
		}
		action, err := action(list[1])
		action.Auth = auth
		return action, err
	}
	return routing.Action{}, refusal.New("TooManyActions", "A rule can have two actions, there are %d", len(list))
}

func action(p *call.Tree) (routing.Action, error) {
	switch kind := p.Text("Type"); kind {
	case "forward":
		forward, err := forward(p)
		return routing.Action{Forward: forward}, err
	case "redirect":
		c := p.At("RedirectConfig")
		return routing.Action{Redirect: &routing.Redirect{
			Protocol: c.Text("Protocol"), Host: c.Text("Host"), Port: c.Text("Port"), Path: c.Text("Path"), Query: query(c),
			Status: c.Text("StatusCode"),
		}}, nil
	case "fixed-response":
		c := p.At("FixedResponseConfig")
		return routing.Action{Fixed: &routing.FixedResponse{
			Status: c.Text("StatusCode"), ContentType: c.Text("ContentType"), Body: c.Text("MessageBody"),
		}}, nil
	default:
		return routing.Action{}, refusal.New("InvalidLoadBalancerAction", "The action type '%s' is not emulated", kind)
	}
}

// query is that of a redirect: one that is given and empty drops the client's.
func query(p *call.Tree) string {
	if p.At("Query") == nil {
		return "#{query}"
	}
	return p.Text("Query")
}

func forward(p *call.Tree) (*routing.Forward, error) {
	forward := &routing.Forward{}
	for _, g := range p.List("ForwardConfig.TargetGroups.member") {
		weight, err := strconv.Atoi(g.Text("Weight"))
		if err != nil { // not given
			weight = 1
		}
		forward.Groups = append(forward.Groups, routing.Weighted{Group: g.Text("TargetGroupArn"), Weight: weight})
	}
	alone := p.Text("TargetGroupArn")
	switch {
	case len(forward.Groups) == 0 && alone != "":
		forward.Groups = []routing.Weighted{{Group: alone, Weight: 1}}
	case alone != "" && (len(forward.Groups) != 1 || forward.Groups[0].Group != alone):
		return nil, refusal.New("InvalidLoadBalancerAction", "Target group '%s' is not the one of the forward configuration", alone)
	}
	sticky := p.At("ForwardConfig.TargetGroupStickinessConfig")
	duration, err := sticky.Number("DurationSeconds")
	if sticky.Text("Enabled") != "true" {
		forward.StickyOff = duration
		return forward, err
	}
	if err == nil && duration == 0 {
		err = refusal.Invalid("A duration must be specified for target group stickiness")
	}
	forward.Sticky = duration
	return forward, err
}

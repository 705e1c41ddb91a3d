// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Action is what is done with a request, as an annotation says it. Exactly the config of its Type is set.
type Action struct {
	Type                string
	FixedResponseConfig *FixedResponse
	RedirectConfig      *Redirect
	ForwardConfig       *Forward

	// The short form of a forward to one target group that others have made; parseAction turns it into a ForwardConfig.
	TargetGroupARN, TargetGroupName string
}

// FixedResponse answers with a page of the load balancer's own.
type FixedResponse struct {
	ContentType, MessageBody string
	StatusCode               string
}

// Redirect sends the client elsewhere. Parts that are nil or empty stay as the client has asked for them, but for an empty query, which is
// none.
type Redirect struct {
	Host, Path, Port, Protocol, Query *string
	StatusCode                        string
}

// Forward sends the request to one of several target groups, by their weights.
type Forward struct {
	TargetGroups                []Target
	TargetGroupStickinessConfig *Stickiness
}

// Target is one target group of a Forward: that of a Service, or one that others have made.
type Target struct {
	TargetGroupARN, TargetGroupName, ServiceName string
	ServicePort                                  *intstr.IntOrString
	Weight                                       *int32
}

// Stickiness keeps a client at the target group it was sent to.
type Stickiness struct {
	Enabled         *bool
	DurationSeconds *int32
}

// The types of actions.
const (
	FixedResponseAction = "fixed-response"
	RedirectAction      = "redirect"
	ForwardAction       = "forward"
)

func parseAction(value string) (Action, error) {
	action, err := ParseJSON[Action](value)
	if err != nil {
		return Action{}, err
	}
	switch action.Type {
	case FixedResponseAction:
		if action.FixedResponseConfig == nil || action.FixedResponseConfig.StatusCode == "" {
			return Action{}, errors.New("an action of type fixed-response needs fixedResponseConfig with a statusCode")
		}
		return action, action.FixedResponseConfig.check()
	case RedirectAction:
		if action.RedirectConfig == nil || action.RedirectConfig.StatusCode == "" {
			return Action{}, errors.New("an action of type redirect needs redirectConfig with a statusCode")
		}
		return action, action.RedirectConfig.check()
	case ForwardAction:
		return action.forward()
	default:
		return Action{}, fmt.Errorf("type %.30q: must be fixed-response, redirect or forward", action.Type)
	}
}

var fixedStatus = regexp.MustCompile(`^[245]\d\d$`)

// check is what AWS takes.
func (f *FixedResponse) check() error {
	const longest = 1024
	types := []string{"text/plain", "text/css", "text/html", "application/javascript", "application/json"}
	switch n := utf8.RuneCountInString(f.MessageBody); {
	case !fixedStatus.MatchString(f.StatusCode):
		return fmt.Errorf("fixedResponseConfig.statusCode %.10q: must be 2xx, 4xx or 5xx", f.StatusCode)
	case f.ContentType != "" && !slices.Contains(types, f.ContentType):
		return fmt.Errorf("fixedResponseConfig.contentType %.50q: must be one of %s", f.ContentType, strings.Join(types, ", "))
	case n > longest:
		return fmt.Errorf("fixedResponseConfig.messageBody has %d characters, must be at most %d", n, longest)
	}
	return nil
}

// check is what AWS takes.
func (r *Redirect) check() error {
	const longest = 128
	for i, text := range []*string{r.Host, r.Path, r.Query} {
		if n := utf8.RuneCountInString(ptr.Deref(text, "")); n > longest {
			name := []string{"host", "path", "query"}[i]
			return fmt.Errorf("redirectConfig.%s has %d characters, must be at most %d", name, n, longest)
		}
	}
	port := RedirectPart(r.Port, SamePort)
	switch protocol := RedirectPart(r.Protocol, SameProtocol); {
	case r.StatusCode != "HTTP_301" && r.StatusCode != "HTTP_302":
		return fmt.Errorf("redirectConfig.statusCode %.10q: must be HTTP_301 or HTTP_302", r.StatusCode)
	case !slices.Contains([]string{SameProtocol, string(HTTP), string(HTTPS)}, protocol):
		return fmt.Errorf("redirectConfig.protocol %.20q: must be HTTP, HTTPS or %s", protocol, SameProtocol)
	case !strings.HasPrefix(RedirectPart(r.Path, SamePath), "/"):
		return fmt.Errorf("redirectConfig.path %.50q: must begin with a slash", *r.Path)
	case port == SamePort:
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("redirectConfig.port %.10q: must be 1 to 65535, or %s", port, SamePort)
	}
	return nil
}

// RedirectPart is that of a redirect; what is empty counts as not given, as AWS takes nothing empty but a query.
func RedirectPart(text *string, same string) string { return cmp.Or(ptr.Deref(text, ""), same) }

// forward checks a forward, and turns the short form into the long one.
func (a Action) forward() (Action, error) {
	if short := a.TargetGroupARN != "" || a.TargetGroupName != ""; short {
		if a.ForwardConfig != nil {
			return Action{}, errors.New("set forwardConfig, or targetGroupARN or targetGroupName, not both")
		}
		a.ForwardConfig = &Forward{TargetGroups: []Target{{TargetGroupARN: a.TargetGroupARN, TargetGroupName: a.TargetGroupName}}}
		a.TargetGroupARN, a.TargetGroupName = "", ""
	}
	const most = 5 // that AWS takes
	if n := a.ForwardConfig.Len(); n == 0 || n > most {
		return Action{}, fmt.Errorf("a forward to %d target groups: must be 1 to %d in forwardConfig.targetGroups", n, most)
	}
	for i, target := range a.ForwardConfig.TargetGroups {
		if port := target.ServicePort; port != nil && port.Type == intstr.String {
			*port = intstr.Parse(port.StrVal) // "80" is the number
		}
		if err := target.check(len(a.ForwardConfig.TargetGroups) > 1); err != nil {
			return Action{}, fmt.Errorf("forwardConfig.targetGroups[%d]: %w", i, err)
		}
	}
	return a, nil
}

// Len is how many target groups there are; of nil none.
func (f *Forward) Len() int {
	if f == nil {
		return 0
	}
	return len(f.TargetGroups)
}

func (t Target) check(weighted bool) error {
	foreign, service := t.TargetGroupARN != "" || t.TargetGroupName != "", t.ServiceName != ""
	switch {
	case foreign == service:
		return errors.New("set serviceName with servicePort, or targetGroupARN or targetGroupName")
	case service && t.ServicePort == nil:
		return fmt.Errorf("service %.63q: set its servicePort, too", t.ServiceName)
	case weighted && t.Weight == nil:
		return errors.New("set a weight, as there are several target groups")
	}
	return nil
}

// What parts of a redirect have that stay as the client has asked for them.
const (
	SameProtocol = "#{protocol}"
	SameHost     = "#{host}"
	SamePort     = "#{port}"
	SamePath     = "/#{path}"
	SameQuery    = "#{query}"
)

// WeightOf is the weight of the target group, 1 without one; single says that it is the only one, whose weight does not count: one that AWS
// does not take is 1.
func (t Target) WeightOf(single bool) (int32, error) {
	weight := ptr.Deref(t.Weight, 1)
	switch fits := weight >= 0 && weight <= 999; {
	case !fits && single:
		return 1, nil
	case !fits:
		return 0, fmt.Errorf("weight %d: must be 0 to 999", weight)
	}
	return weight, nil
}

// Seconds is for how long a client is kept, 0 for not at all; off are the seconds that are written when clients are not kept, 0 where AWS
// does not take them.
func (s *Stickiness) Seconds() (on, off int32, err error) {
	if s == nil {
		return 0, 0, nil
	}
	const longest = 7 * 24 * 60 * 60
	seconds := ptr.Deref(s.DurationSeconds, 0)
	switch fits := seconds >= 1 && seconds <= longest; {
	case ptr.Deref(s.Enabled, false) && !fits:
		return 0, 0, fmt.Errorf("targetGroupStickinessConfig: durationSeconds %d: must be 1 to %d", seconds, longest)
	case ptr.Deref(s.Enabled, false):
		return seconds, 0, nil
	case !fits:
		return 0, 0, nil
	}
	return 0, seconds, nil
}

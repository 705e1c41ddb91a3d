// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"fmt"
	"slices"

	"github.com/targetgate/targetgate/balancers/stack"
)

// The Part of a listener that is not made yet is its port.

// CreateListener makes one with its default certificate and its tags, without rules.
type CreateListener struct {
	LoadBalancer stack.Ref
	Listener     stack.Listener
}

func (c CreateListener) Text() string {
	return fmt.Sprintf("create listener %d: %s, by default %s", c.Listener.Port, c.Listener.Protocol, actionText(c.Listener.Default))
}
func (CreateListener) Effect() Effect         { return Makes }
func (c CreateListener) action() stack.Action { return c.Listener.Default }

func (c CreateListener) created() (string, map[string]string) {
	return c.Listener.Part(), nil
}

func (c CreateListener) On(seen *stack.Stack, made Made) {
	onBalancer(seen, c.LoadBalancer, func(b *stack.LoadBalancer) {
		l := stack.Copy(c.Listener)
		l.ARN, l.Rules, l.Attributes = made.ID, nil, map[string]string{}
		l.Certificates, l.Default = l.Certificates[:min(1, len(l.Certificates))], seenAction(l.Default)
		b.Listeners = append(slices.Clip(b.Listeners), l)
	})
}

// onListener does something to a listener that is seen.
func onListener(seen *stack.Stack, ref stack.Ref, do func(*stack.Listener)) {
	if l := seen.Listener(ref.ID); l != nil {
		do(l)
	}
}

// ModifyListener replaces protocol, default certificate, SSL policy, default action and, if it is not nil, mutual authentication.
type ModifyListener struct {
	Listener stack.Ref
	To       stack.Listener
}

func (c ModifyListener) Text() string {
	return fmt.Sprintf("change listener %d: %s, by default %s", c.To.Port, c.To.Protocol, actionText(c.To.Default))
}
func (ModifyListener) Effect() Effect         { return Moves }
func (c ModifyListener) listener() string     { return c.Listener.ID }
func (c ModifyListener) action() stack.Action { return c.To.Default }
func (ModifyListener) reroutes()              {}

func (c ModifyListener) On(seen *stack.Stack, _ Made) {
	onListener(seen, c.Listener, func(l *stack.Listener) {
		to := stack.Copy(c.To)
		l.Protocol, l.SSLPolicy, l.Default = to.Protocol, to.SSLPolicy, seenAction(to.Default)
		if to.MutualAuth != nil {
			l.MutualAuth = to.MutualAuth
		}
		if l.Certificates = slices.Concat(to.Certificates[:min(1, len(to.Certificates))], l.SNI()); l.Protocol == "HTTP" {
			l.Certificates = nil
		}
	})
}

// SetListenerAttributes sets these and leaves others.
type SetListenerAttributes struct {
	Listener   stack.Ref
	Attributes map[string]string
}

func (c SetListenerAttributes) Text() string {
	return "set " + mapText(c.Attributes) + " of listener " + c.Listener.Part
}
func (SetListenerAttributes) Effect() Effect { return Sets }

func (c SetListenerAttributes) On(seen *stack.Stack, _ Made) {
	onListener(seen, c.Listener, func(l *stack.Listener) { merge(l.Attributes, c.Attributes) })
}

// AddCertificate adds one for SNI.
type AddCertificate struct {
	Listener    stack.Ref
	Certificate string
}

func (c AddCertificate) Text() string {
	return "add certificate " + c.Certificate + " to listener " + c.Listener.Part
}
func (AddCertificate) Effect() Effect     { return Makes }
func (c AddCertificate) listener() string { return c.Listener.ID }

func (c AddCertificate) On(seen *stack.Stack, _ Made) {
	onListener(seen, c.Listener, func(l *stack.Listener) {
		if !slices.Contains(l.SNI(), c.Certificate) {
			l.Certificates = append(slices.Clip(l.Certificates), c.Certificate)
		}
	})
}

// RemoveCertificate removes one for SNI.
type RemoveCertificate struct {
	Listener    stack.Ref
	Certificate string
}

func (c RemoveCertificate) Text() string {
	return "remove certificate " + c.Certificate + " from listener " + c.Listener.Part
}
func (RemoveCertificate) Effect() Effect     { return Removes }
func (c RemoveCertificate) listener() string { return c.Listener.ID }

func (c RemoveCertificate) On(seen *stack.Stack, _ Made) {
	onListener(seen, c.Listener, func(l *stack.Listener) {
		if i := slices.Index(l.SNI(), c.Certificate); i >= 0 {
			l.Certificates = slices.Delete(slices.Clone(l.Certificates), i+1, i+2)
		}
	})
}

// DeleteListener deletes one with its rules.
type DeleteListener struct{ Listener stack.Ref }

func (c DeleteListener) Text() string    { return "delete listener " + c.Listener.Part }
func (DeleteListener) Effect() Effect    { return Removes }
func (c DeleteListener) deleted() string { return c.Listener.ID }
func (DeleteListener) reroutes()         {}

func (c DeleteListener) On(seen *stack.Stack, _ Made) {
	is := func(l stack.Listener) bool { return l.ARN == c.Listener.ID }
	for _, s := range seen.All() {
		for i := range s.LoadBalancers {
			b := &s.LoadBalancers[i]
			b.Listeners = slices.DeleteFunc(slices.Clone(b.Listeners), is)
		}
	}
}

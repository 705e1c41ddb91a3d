// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/tag"
)

// ListenerSpec asks for a listener.
type ListenerSpec struct {
	LoadBalancer string
	Protocol     string
	Port         int
	// Group is short for a Default that forwards to it.
	Group string
	// Default is what is done with requests that no rule matches.
	Default routing.Action
	// SSLPolicy and Certificates are for HTTPS; the first certificate is the default.
	SSLPolicy    string
	Certificates []string
	// MutualAuth is for HTTPS; without a mode it is off, or stays.
	MutualAuth MutualAuth
	Tags       map[string]string
}

// Listener is where a load balancer takes traffic in. Its target groups, and those of its rules, are in use as long as it exists.
// Group is the first of its default action.
type Listener struct {
	ListenerSpec
	ARN string
}

type listener struct {
	Listener
	balancer *balancer
	// rules are in order of priority, the default one last. Its action is Listener.Default.
	rules []ListenerRule
	// force are the rules that the data plane follows.
	force      []ListenerRule
	attributes map[string]string
}

func (l *listener) public() Listener {
	shown := l.Listener
	shown.Certificates = slices.Clone(l.Certificates)
	return shown
}

func (m *Machine) listener(arn string) *listener {
	i := slices.IndexFunc(m.listeners, func(l *listener) bool { return l.ARN == arn })
	if i < 0 {
		return nil
	}
	return m.listeners[i]
}

func (s ListenerSpec) withDefaults() ListenerSpec {
	if s.Default == (routing.Action{}) && s.Group != "" {
		s.Default = routing.ForwardTo(s.Group)
	}
	s.Default = s.Default.WithDefaults()
	s.Group = ""
	if groups := s.Default.TargetGroups(); len(groups) > 0 {
		s.Group = groups[0]
	}
	if s.Protocol == ProtocolHTTPS {
		s.SSLPolicy = cmp.Or(s.SSLPolicy, "ELBSecurityPolicy-2016-08")
	}
	s.Certificates, s.Tags = slices.Clone(s.Certificates), maps.Clone(s.Tags)
	return s
}

// CreateListener makes a listener, which serves at once by its default action; the targets of that begin to be registered.
// Protocols are HTTP and HTTPS for an ALB, TCP (and UDP, TCP_UDP without any traffic) for an NLB.
func (m *Machine) CreateListener(spec ListenerSpec) (Listener, error) {
	now := m.enter()
	defer m.leave()
	b, ok := m.balancers[spec.LoadBalancer]
	if !ok {
		return Listener{}, loadBalancerNotFound()
	}
	spec = spec.withDefaults()
	if err := cmp.Or(m.validateListener(b, "", spec), m.listenerQuota(b)); err != nil {
		return Listener{}, err
	}
	l := &listener{balancer: b, Listener: Listener{
		ListenerSpec: spec,
		ARN:          strings.Replace(b.ARN, ":loadbalancer/", ":listener/", 1) + "/" + m.region.ID(),
	}}
	l.attributes = presets(l.knownAttributes())
	l.rules = []ListenerRule{{Listener: l.ARN, ARN: ruleARN(l.ARN, m.region.ID()), Action: spec.Default}}
	l.force = slices.Clone(l.rules)
	m.listeners = append(m.listeners, l)
	m.begin(l.ARN, spec.Tags, now)
	m.use(b, now)
	m.nudge()
	return l.public(), nil
}

func (m *Machine) listenerQuota(b *balancer) error {
	if len(m.listenersOf(b)) >= m.opts.Quotas.ListenersPerBalancer {
		return refusal.New("TooManyListeners", "The maximum number of listeners has been reached on load balancer '%s'", b.ARN)
	}
	return nil
}

func (m *Machine) listenersOf(b *balancer) []*listener {
	var found []*listener
	for _, l := range m.listeners {
		if l.balancer == b {
			found = append(found, l)
		}
	}
	return found
}

// validateListener checks what is asked of a listener; own is its ARN if it is there already.
func (m *Machine) validateListener(b *balancer, own string, spec ListenerSpec) error {
	taken := func(l *listener) bool { return l.balancer == b && l.Port == spec.Port && l.ARN != own }
	if slices.ContainsFunc(m.listeners, taken) {
		return refusal.New("DuplicateListener", "A listener already exists on this port for this load balancer '%s'", b.ARN)
	}
	protocols := []string{ProtocolHTTP, ProtocolHTTPS}
	if b.Type == Network {
		protocols = []string{ProtocolTCP, "UDP", "TCP_UDP"}
	}
	if !slices.Contains(protocols, spec.Protocol) {
		return refusal.New("UnsupportedProtocol", "Protocol '%s' is not supported for listeners of this load balancer; use %s",
			spec.Protocol, strings.Join(protocols, ", "))
	}
	return cmp.Or(
		refusal.Within("port", spec.Port, 1, highestPort),
		m.validateTLS(spec),
		m.validateMutual(b, own, spec),
		tag.Check(spec.Tags),
		m.validateAction(b, spec.Protocol, spec.Default),
	)
}

// validateAction checks an action of a listener with that protocol, with the groups that it names.
func (m *Machine) validateAction(b *balancer, protocol string, a routing.Action) error {
	if err := cmp.Or(a.Validate(m.opts.Quotas.GroupsPerAction), a.ValidateOver(protocol)); err != nil {
		return err
	}
	var groups []*group
	for _, arn := range a.TargetGroups() {
		g, err := m.group(arn)
		if err != nil {
			return err
		}
		if err := cmp.Or(b.compatible(g), g.behind(protocol)); err != nil {
			return err
		}
		groups = append(groups, g)
	}
	return m.attachable(b, groups)
}

func (b *balancer) compatible(g *group) error {
	if g.network() != (b.Type == Network) {
		return refusal.New("IncompatibleProtocols", "The protocol '%s' of target group '%s' is not compatible with the load balancer",
			g.Protocol, g.ARN)
	}
	if g.VPC != "" && g.VPC != b.VPC {
		return refusal.New("InvalidConfigurationRequest", "The target group '%s' is in a different VPC '%s'", g.ARN, g.VPC)
	}
	return nil
}

// Listeners lists listeners in order of creation: those with one of the ARNs, else those of a load balancer, else all.
func (m *Machine) Listeners(loadBalancer string, arns ...string) ([]Listener, error) {
	m.enter()
	defer m.leave()
	if loadBalancer != "" && m.balancers[loadBalancer] == nil {
		return nil, loadBalancerNotFound()
	}
	var found []Listener
	for _, l := range m.listeners {
		if (loadBalancer == "" || l.LoadBalancer == loadBalancer) && (len(arns) == 0 || slices.Contains(arns, l.ARN)) {
			found = append(found, l.public())
		}
	}
	if len(found) < len(arns) {
		return nil, listenerNotFound()
	}
	return found, nil
}

// ActiveListeners are those of load balancers that are active.
func (m *Machine) ActiveListeners() []Listener {
	m.enter()
	defer m.leave()
	var found []Listener
	for _, l := range m.listeners {
		if l.balancer.Active {
			found = append(found, l.public())
		}
	}
	return found
}

// ModifyListener changes what is given: protocol, port, default action, policy, default certificate. The action reaches the data plane with
// the next batch.
func (m *Machine) ModifyListener(arn string, change ListenerSpec) (Listener, error) {
	now := m.enter()
	defer m.leave()
	l := m.listener(arn)
	if l == nil {
		return Listener{}, listenerNotFound()
	}
	spec := l.merge(change.withDefaults())
	if err := cmp.Or(m.validateListener(l.balancer, arn, spec), l.validateRulesFor(spec.Protocol)); err != nil {
		return Listener{}, err
	}
	if spec.Port != l.Port {
		if err := m.releasable(l); err != nil {
			return Listener{}, err
		}
	}
	l.ListenerSpec = spec
	l.rules[len(l.rules)-1].Action = spec.Default
	m.changedRules(l.balancer, now)
	m.nudge()
	return l.public(), nil
}

// validateRulesFor refuses a protocol over which rules cannot do what they do.
func (l *listener) validateRulesFor(protocol string) error {
	for _, r := range l.rules {
		if err := r.Action.ValidateOver(protocol); err != nil && !r.IsDefault() {
			return err
		}
	}
	return nil
}

// merge takes the fields of change that are given.
func (l *listener) merge(change ListenerSpec) ListenerSpec {
	spec := l.ListenerSpec
	spec.Protocol = cmp.Or(change.Protocol, spec.Protocol)
	spec.Port = cmp.Or(change.Port, spec.Port)
	if change.Default != (routing.Action{}) {
		spec.Default = change.Default.KeepSecret(spec.Default)
	}
	spec.SSLPolicy = cmp.Or(change.SSLPolicy, spec.SSLPolicy)
	if len(change.Certificates) > 0 {
		rest := spec.Certificates[min(1, len(spec.Certificates)):]
		spec.Certificates = append(change.Certificates[:1:1], rest...)
	}
	if spec.Protocol != ProtocolHTTPS {
		spec.SSLPolicy, spec.Certificates, spec.MutualAuth = "", nil, MutualAuth{}
	}
	if change.MutualAuth.Mode != "" {
		spec.MutualAuth = change.MutualAuth
	}
	return spec.withDefaults()
}

// DeleteListener removes a listener with its rules. A group that is not named any more is detached: its targets are unused. A listener at
// whose port its load balancer is a target of another one stays.
func (m *Machine) DeleteListener(arn string) error {
	now := m.enter()
	defer m.leave()
	l := m.listener(arn)
	if l == nil {
		return listenerNotFound()
	}
	if err := m.releasable(l); err != nil {
		return err
	}
	m.removeListener(l)
	m.use(l.balancer, now)
	return nil
}

func (m *Machine) removeListener(l *listener) {
	m.listeners = slices.DeleteFunc(m.listeners, func(other *listener) bool { return other == l })
	for _, r := range l.rules {
		m.dropTags(r.ARN)
	}
	m.dropTags(l.ARN)
	m.nudge()
}

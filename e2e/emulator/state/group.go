// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/tag"
)

// Protocols of groups, health checks and listeners that matter here.
const (
	ProtocolHTTP  = "HTTP"
	ProtocolHTTPS = "HTTPS"
	ProtocolTCP   = "TCP"
)

// Target types.
const (
	TypeInstance = "instance"
	TypeIP       = "ip"
	TypeLambda   = "lambda"
	TypeALB      = "alb"
)

// VersionGRPC is the protocol version of groups whose health checks match gRPC codes. Their targets cannot be healthy here.
const VersionGRPC = "GRPC"

// Address types of groups and load balancers.
const (
	IPv4 = "ipv4"
	IPv6 = "ipv6"
)

// GroupSpec asks for a target group; what is left empty gets AWS's default. TargetType defaults to instance.
type GroupSpec struct {
	Name            string
	Protocol        string
	ProtocolVersion string
	Port            int
	VPC             string
	TargetType      string
	AddressType     string
	HealthCheck     HealthCheck
	// ControlPort is where the agents of the targets take in how much traffic they want; 0 for none. It is kept and shown.
	ControlPort int
}

// Group is a target group as DescribeTargetGroups shows it.
type Group struct {
	GroupSpec
	ARN           string
	LoadBalancers []string
}

type group struct {
	GroupSpec
	ARN        string
	account    string
	attributes map[string]string
	// owner is the load balancer whose listeners and rules name the group; balancer is the one that checks its targets and sends to
	// them, the owner and, until the next batch, the one before.
	owner, balancer *balancer
	targets         map[Key]*target
	members         []*target
	routes          []Target
	echoes          map[Key]echo
	quotas          GroupQuotas
	visible         *region.Range // instead of its timing's, nil when that holds
}

// GroupFilter picks target groups of an account; empty lists pick all.
type GroupFilter struct {
	Account      string
	ARNs, Names  []string
	LoadBalancer string
}

// network reports whether the group belongs to Network Load Balancers.
func (g *group) network() bool {
	return g.TargetType != TypeLambda && !g.application()
}

func (m *Machine) timing(g *group) Timing {
	if g.network() {
		return m.opts.Timings.NLB
	}
	return m.opts.Timings.ALB
}

func (g *group) public() Group {
	shown := Group{GroupSpec: g.GroupSpec, ARN: g.ARN}
	if g.owner != nil {
		shown.LoadBalancers = []string{g.owner.ARN}
	}
	return shown
}

// group finds a group by ARN; the machine must be locked.
func (m *Machine) group(arn string) (*group, error) {
	if !strings.HasPrefix(arn, "arn:") || !strings.Contains(arn, ":targetgroup/") {
		return nil, refusal.Invalid("'%s' is not a valid target group ARN", arn)
	}
	g, ok := m.groups[arn]
	if !ok {
		return nil, groupNotFound()
	}
	return g, nil
}

// CreateGroup makes a target group for an account ("" is the default one), attached to nothing. The same request again
// returns the group that is there.
func (m *Machine) CreateGroup(account string, spec GroupSpec) (Group, error) {
	return m.CreateTaggedGroup(account, spec, nil)
}

// CreateTaggedGroup is CreateGroup with tags. A group that is there keeps its own.
func (m *Machine) CreateTaggedGroup(account string, spec GroupSpec, tags map[string]string) (Group, error) {
	now := m.enter()
	defer m.leave()
	spec = spec.withDefaults()
	if err := cmp.Or(m.validateGroup(spec), tag.Check(tags)); err != nil {
		return Group{}, err
	}
	account = m.region.Account(account)
	if same, err := m.duplicate(account, spec); same != nil || err != nil {
		return same.orEmpty(), err
	}
	if len(m.groups) >= m.opts.Quotas.Groups {
		return Group{}, refusal.New("TooManyTargetGroups", "The maximum number of target groups has been reached")
	}
	g := &group{
		GroupSpec: spec,
		ARN:       m.region.ARN("elasticloadbalancing", account, "targetgroup/"+spec.Name+"/"+m.region.ID()),
		account:   account,
		targets:   map[Key]*target{},
		echoes:    map[Key]echo{},
	}
	g.attributes = g.defaultAttributes()
	m.groups[g.ARN] = g
	m.begin(g.ARN, tags, now)
	m.order = append(m.order, g)
	return g.public(), nil
}

func (m *Machine) duplicate(account string, spec GroupSpec) (*group, error) {
	i := slices.IndexFunc(m.order, func(g *group) bool { return g.account == account && g.Name == spec.Name })
	switch {
	case i < 0:
		return nil, nil
	case m.order[i].GroupSpec == spec:
		return m.order[i], nil
	}
	return nil, refusal.New("DuplicateTargetGroupName",
		"A target group with the same name '%s' exists, but with different settings", spec.Name)
}

func (g *group) orEmpty() Group {
	if g == nil {
		return Group{}
	}
	return g.public()
}

// DeleteGroup removes a group that no listener uses; deleting what is not there succeeds.
func (m *Machine) DeleteGroup(arn string) error {
	m.enter()
	defer m.leave()
	g, err := m.group(arn)
	if refusal.Is(err, "TargetGroupNotFound") {
		return nil
	}
	if err != nil {
		return err
	}
	if g.owner != nil {
		return refusal.New("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule", arn)
	}
	for _, t := range g.members {
		t.life++
	}
	delete(m.groups, arn)
	m.dropTags(arn)
	m.order = slices.DeleteFunc(m.order, func(other *group) bool { return other == g })
	return nil
}

// Groups lists target groups in order of creation. An ARN or name that is not there is an error.
func (m *Machine) Groups(f GroupFilter) ([]Group, error) {
	m.enter()
	defer m.leave()
	if err := m.missing(f); err != nil {
		return nil, err
	}
	var found []Group
	for _, g := range m.order {
		if m.picks(f, g) {
			found = append(found, g.public())
		}
	}
	return found, nil
}

func (m *Machine) picks(f GroupFilter, g *group) bool {
	return g.account == m.region.Account(f.Account) &&
		(len(f.ARNs) == 0 || slices.Contains(f.ARNs, g.ARN)) &&
		(len(f.Names) == 0 || slices.Contains(f.Names, g.Name)) &&
		(f.LoadBalancer == "" || g.owner != nil && g.owner.ARN == f.LoadBalancer)
}

// missing is the error for the first thing that a filter names and that is not there.
func (m *Machine) missing(f GroupFilter) error {
	for _, arn := range f.ARNs {
		g, err := m.group(arn)
		if err != nil {
			return err
		}
		if g.account != m.region.Account(f.Account) {
			return groupNotFound()
		}
	}
	for _, name := range f.Names {
		if !slices.ContainsFunc(m.order, func(g *group) bool { return m.picks(GroupFilter{Account: f.Account, Names: []string{name}}, g) }) {
			return groupNotFound()
		}
	}
	if f.LoadBalancer != "" && m.balancers[f.LoadBalancer] == nil {
		return loadBalancerNotFound()
	}
	return nil
}

// ModifyGroup changes the health check settings that are given; they count from each target's next check on.
func (m *Machine) ModifyGroup(arn string, change HealthCheck) (Group, error) {
	m.enter()
	defer m.leave()
	g, err := m.group(arn)
	if err != nil {
		return Group{}, err
	}
	spec := g.GroupSpec
	spec.HealthCheck = spec.HealthCheck.merge(change)
	if err := spec.validateHealthCheck(); err != nil {
		return Group{}, err
	}
	g.GroupSpec = spec
	return g.public(), nil
}

func (g *group) deregistrationDelay() time.Duration {
	return g.secondsAttribute(attrDelay)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type zoneXML struct {
	ZoneName string
	SubnetID string `xml:"SubnetId"`
}

type balancerStateXML struct {
	Code string
}

type balancerXML struct {
	LoadBalancerArn   string
	DNSName           string
	CreatedTime       string
	LoadBalancerName  string
	Scheme            string
	VpcID             string `xml:"VpcId"`
	State             balancerStateXML
	Type              string
	AvailabilityZones members[zoneXML]
	SecurityGroups    members[string]
	IPAddressType     string `xml:"IpAddressType"`
}

type balancersXML struct {
	LoadBalancers members[balancerXML]
	NextMarker    string `xml:",omitempty"`
}

func balancerAnswer(b state.Balancer, code string) balancerXML {
	answer := balancerXML{
		LoadBalancerArn:  b.ARN,
		DNSName:          b.DNSName,
		CreatedTime:      b.Created.UTC().Format(time.RFC3339),
		LoadBalancerName: b.Name,
		Scheme:           b.Scheme,
		VpcID:            b.VPC,
		State:            balancerStateXML{code},
		Type:             b.Type,
		IPAddressType:    b.AddressType,
		SecurityGroups:   members[string]{b.SecurityGroups},
	}
	for _, zone := range b.Zones {
		answer.AvailabilityZones.Members = append(answer.AvailabilityZones.Members, zoneXML{zone.Zone, zone.ID})
	}
	return answer
}

func createLoadBalancer(s *Server, q *request) (any, error) {
	subnets := q.texts("Subnets.member")
	for _, mapping := range q.list("SubnetMappings.member") {
		subnets = append(subnets, mapping.text("SubnetId"))
	}
	b, err := s.machine.CreateBalancer(q.caller.account, state.BalancerSpec{
		Name:        q.text("Name"),
		Type:        q.text("Type"),
		Scheme:      q.text("Scheme"),
		AddressType: q.text("IpAddressType"),
		Subnets:     subnets,

		SecurityGroups: q.texts("SecurityGroups.member"),
	})
	if err != nil {
		return nil, err
	}
	return balancersXML{LoadBalancers: members[balancerXML]{[]balancerXML{balancerAnswer(b, "provisioning")}}}, nil
}

func deleteLoadBalancer(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.DeleteBalancer(q.text("LoadBalancerArn"))
}

func describeLoadBalancers(s *Server, q *request) (any, error) {
	balancers, err := s.machine.Balancers(q.caller.account, q.texts("LoadBalancerArns.member"), q.texts("Names.member"))
	if err != nil {
		return nil, err
	}
	balancers, next, err := page(q, balancers)
	if err != nil {
		return nil, err
	}
	answer := balancersXML{NextMarker: next}
	for _, b := range balancers {
		answer.LoadBalancers.Members = append(answer.LoadBalancers.Members, balancerAnswer(b, "active"))
	}
	return answer, nil
}

type actionXML struct {
	Type           string
	TargetGroupArn string
}

type listenerXML struct {
	ListenerArn     string
	LoadBalancerArn string
	Port            int
	Protocol        string
	DefaultActions  members[actionXML]
}

type listenersXML struct {
	Listeners  members[listenerXML]
	NextMarker string `xml:",omitempty"`
}

func listenersAnswer(listeners []state.Listener, next string) listenersXML {
	answer := listenersXML{NextMarker: next}
	for _, l := range listeners {
		answer.Listeners.Members = append(answer.Listeners.Members, listenerXML{
			ListenerArn:     l.ARN,
			LoadBalancerArn: l.LoadBalancer,
			Port:            l.Port,
			Protocol:        l.Protocol,
			DefaultActions:  members[actionXML]{[]actionXML{{"forward", l.Group}}},
		})
	}
	return answer
}

func createListener(s *Server, q *request) (any, error) {
	port, err := q.number("Port")
	if err != nil {
		return nil, err
	}
	group, err := q.forwardTarget()
	if err != nil {
		return nil, err
	}
	l, err := s.machine.CreateListener(state.ListenerSpec{
		LoadBalancer: q.text("LoadBalancerArn"),
		Protocol:     q.text("Protocol"),
		Port:         port,
		Group:        group,
	})
	if err != nil {
		return nil, err
	}
	return listenersAnswer([]state.Listener{l}, ""), nil
}

// forwardTarget is the one target group that the default action forwards to.
func (q *request) forwardTarget() (string, error) {
	actions := q.list("DefaultActions.member")
	if len(actions) != 1 || actions[0].text("Type") != "forward" {
		return "", state.Refuse("InvalidLoadBalancerAction", "The default action must be one 'forward' action")
	}
	group := actions[0].text("TargetGroupArn")
	groups := actions[0].list("ForwardConfig.TargetGroups.member")
	switch {
	case len(groups) > 1:
		return "", state.Refuse("InvalidLoadBalancerAction", "Forwarding to several target groups is not emulated")
	case len(groups) == 1:
		group = groups[0].text("TargetGroupArn")
	}
	return group, nil
}

func deleteListener(s *Server, q *request) (any, error) {
	return struct{}{}, s.machine.DeleteListener(q.text("ListenerArn"))
}

func describeListeners(s *Server, q *request) (any, error) {
	balancer, arns := q.text("LoadBalancerArn"), q.texts("ListenerArns.member")
	if balancer == "" && len(arns) == 0 {
		return nil, state.Invalid("Either listener ARNs or a load balancer ARN must be specified")
	}
	listeners, err := s.machine.Listeners(balancer, arns...)
	if err != nil {
		return nil, err
	}
	listeners, next, err := page(q, listeners)
	if err != nil {
		return nil, err
	}
	return listenersAnswer(listeners, next), nil
}

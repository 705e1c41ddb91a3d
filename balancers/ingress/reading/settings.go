// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/parts"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/v1beta1"
)

// ForcedBy are the keys of attributes and tags that params say. Those of a group's first member count before what any member says.
func ForcedBy(params *v1beta1.IngressClassParams) map[string]bool {
	forced := map[string]bool{}
	if params == nil {
		return forced
	}
	for _, attribute := range params.Spec.LoadBalancerAttributes {
		forced[stack.OfKey(annotation.LoadBalancerAttributes.Name, attribute.Key)] = true
	}
	for _, listener := range params.Spec.Listeners {
		for _, attribute := range listener.ListenerAttributes {
			forced[stack.OfKey(stack.ListenerAttributes(listener.Protocol, listener.Port), attribute.Key)] = true
		}
	}
	for _, tag := range params.Spec.Tags {
		forced[stack.OfKey(annotation.Tags.Name, tag.Key)] = true
	}
	return forced
}

// settingsReader reads the settings that members share, as votes.
type settingsReader struct{ *Reading }

// readSettings reads what the group has once, but for what is about who may reach it.
func (r settingsReader) readSettings() {
	p := &r.params
	r.readName()
	say(r.Reading, annotation.Scheme, "spec.scheme", ptr.Deref(p.Scheme, ""), asIs)
	say(r.Reading, annotation.AddressType, "spec.ipAddressType", ptr.Deref(p.IPAddressType, ""), asIs)
	r.readSSLRedirect()
	r.readWebACL()
	r.readClassicACL()
	r.readShield()
	r.readPools()
	r.readSubnets()
	r.readFront()

	if r.first {
		all := paramsAttributes(r.Reading, annotation.AttributesOfBalancer, "spec.loadBalancerAttributes", p.LoadBalancerAttributes)
		r.addKeys(annotation.LoadBalancerAttributes.Name, all, fault.Fault{Object: "IngressClassParams"})
	}
	own, _ := get(r.Reading, annotation.LoadBalancerAttributes)
	r.addKeys(annotation.LoadBalancerAttributes.Name, own, fault.Fault{
		Annotation: annotation.LoadBalancerAttributes.FullName(),
	})
	r.addKeys(annotation.Tags.Name, r.Tags, fault.Fault{Annotation: annotation.Tags.FullName()})
	if tags := r.paramsTags(); len(tags) > 0 {
		r.addKeys(annotation.Tags.Name, tags, r.tagsOfParams())
	}
}

var loadBalancerName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$`)

// readName checks the load balancer's name where it will be made. The name of one that is seen does not change. A name that another group's
// may get counts for nothing, as the one that is seen may be replaced.
func (r settingsReader) readName() {
	name, set := say(r.Reading, annotation.LoadBalancerNameKey, "spec.loadBalancerName", r.params.LoadBalancerName, asIs)
	fault, seen := r.Votes[annotation.LoadBalancerNameKey.Name].From, r.in.SeenLoadBalancer()
	switch {
	case !set:
	case r.in.IsOthersName(name):
		fault.Reason = "must not begin with k8s-, as the names that targetgate gives do, unless it is this group's own or its load balancer " +
			"has it already: choose another name"
		if delete(r.Votes, annotation.LoadBalancerNameKey.Name); seen == nil {
			r.Fail(fault)
		} else {
			fault.Reason += ". Until then the name counts for nothing"
			r.warnOf(fault)
		}
	case seen == nil && (!loadBalancerName.MatchString(name) || strings.HasPrefix(name, "internal-")):
		fault.Reason = "must be letters, digits and hyphens, no hyphen at either end, and not internal- at the beginning"
		r.Fail(fault)
	}
}

func attributes(list []v1beta1.Attribute) map[string]string {
	values := make(map[string]string, len(list))
	for _, attribute := range list {
		values[attribute.Key] = attribute.Value
	}
	return values
}

// readSSLRedirect switches the redirect off if the port of params cannot be read, as the incumbent does.
func (r settingsReader) readSSLRedirect() {
	if err := r.wrongRedirect(); err != nil {
		r.warnOf(r.paramsFault(redirectField, r.params.SSLRedirectPort, err.Error()+"; nothing is redirected"))
		return
	}
	say(r.Reading, annotation.SSLRedirect, redirectField, r.params.SSLRedirectPort, decimal)
}

const redirectField = "spec.sslRedirectPort"

// wrongRedirect is what is wrong with the port of the member's params.
func (r *Reading) wrongRedirect() error {
	if r.params.SSLRedirectPort == "" {
		return nil
	}
	_, err := annotation.SSLRedirect.Parse(r.params.SSLRedirectPort)
	return err
}

// readShield reads whether the load balancer is protected. Without a subscription that is left as it is.
func (r settingsReader) readShield() {
	protect, set := get(r.Reading, annotation.Shield)
	switch {
	case !set || r.in.Alone || !r.in.Options.Shield:
	case r.in.AWS.NoShield != "":
		r.warnOf(fault.Fault{Annotation: annotation.Shield.FullName(), Value: YesNo(protect),
			Reason: r.in.AWS.NoShield + ", the protection is left as it is"})
	default:
		r.add(annotation.Shield.Name, YesNo(protect), fault.Fault{Annotation: annotation.Shield.FullName()})
	}
}

// readPools reads where addresses come from, and the capacity. What params say counts of the first member alone.
func (r settingsReader) readPools() {
	say(r.Reading, annotation.CustomerPool, "", "", asIs)
	pool, capacity := "", ""
	if ipam := r.params.IPAMConfiguration; r.first && ipam != nil {
		pool = ptr.Deref(ipam.IPv4IPAMPoolID, "")
	}
	if reserved := r.params.MinimumLoadBalancerCapacity; r.first && reserved != nil {
		capacity = fmt.Sprintf("%s=%d", annotation.CapacityUnits, reserved.CapacityUnits)
	}
	say(r.Reading, annotation.IPAMPool, "spec.ipamConfiguration.ipv4IPAMPoolId", pool, asIs)
	say(r.Reading, annotation.Capacity, "spec.minimumLoadBalancerCapacity.capacityUnits", capacity,
		func(units int32) string { return decimal(int64(units)) })
}

// readSubnets reads the load balancer's subnets. The vote is for IDs, or for tags after which they are chosen.
func (r settingsReader) readSubnets() {
	from, entries := fault.Fault{Annotation: annotation.Subnets.FullName()}, []string(nil)
	if ofParams := r.params.Subnets; ofParams != nil {
		from = fault.Fault{Object: r.paramsObject(), Field: "spec.subnets"}
		if len(ofParams.IDs) == 0 {
			r.addText(annotation.Subnets.Name, parts.Selector(ofParams.Tags), from)
			return
		}
		for _, id := range ofParams.IDs {
			entries = append(entries, string(id))
		}
	} else {
		entries = r.namesIn(annotation.Subnets)
	}
	r.addSubnets(annotation.Subnets.Name, entries, from)
}

// addSubnets adds a vote for the subnets of these IDs and names.
func (r settingsReader) addSubnets(setting string, entries []string, from fault.Fault) {
	if len(entries) == 0 || r.in.Alone {
		return
	}
	ids, err := r.in.AWS.SubnetIDs(entries)
	if err != nil {
		from.Value, from.Reason = strings.Join(entries, ","), err.Error()
		r.Fail(from)
		return
	}
	r.add(setting, strings.Join(ids, ","), from)
}

// readAccess reads who may send to the load balancer, and whether it may send to its targets.
func (r settingsReader) readAccess() {
	if ofParams := strings.Join(r.params.SecurityGroups, ","); ofParams != "" {
		entries, err := input.SecurityGroupsOf(r.Member)
		if err != nil {
			r.Fail(r.paramsFault(securityGroupsField, ofParams, err.Error()))
		}
		r.addSecurityGroups(annotation.SecurityGroups.Name, entries, r.paramsFault(securityGroupsField, ofParams, ""))
	} else {
		r.readSecurityGroups(annotation.SecurityGroups)
	}
	if manage, set := get(r.Reading, annotation.ManageBackendRules); set {
		r.add(annotation.ManageBackendRules.Name, YesNo(manage), fault.Fault{Annotation: annotation.ManageBackendRules.FullName()})
	}
}

const securityGroupsField = "spec.securityGroups"

// Settle leaves out what members say that does not count beside what others say, or are silent about.
func Settle(readings []*Reading) {
	noRedirect := slices.IndexFunc(readings, func(r *Reading) bool { return r.wrongRedirect() != nil })
	giveGroups := slices.ContainsFunc(readings, func(r *Reading) bool {
		entries, err := input.SecurityGroupsOf(r.Member)
		return err == nil && len(entries) > 0
	})
	for _, r := range readings {
		if noRedirect >= 0 {
			r.leaveOut(annotation.SSLRedirect.Name, redirectField+" of "+readings[noRedirect].paramsObject()+", which Ingress "+
				readings[noRedirect].Name+" has, cannot be read, so that nothing of the group is redirected: fix that first")
		}
		if !giveGroups {
			r.leaveOut(annotation.ManageBackendRules.Name, "is used only with "+annotation.SecurityGroups.FullName()+", which no Ingress "+
				"of the group has: add that, or leave this out")
		}
		manage := r.Votes[annotation.ManageBackendRules.Name]
		if giveGroups && manage.Text == YesNo(true) && !r.in.Options.BackendSecurityGroups {
			manage.From.Reason = "needs the shared security group, which --enable-backend-security-group=false switches off"
			r.Fail(manage.From)
		}
	}
}

// leaveOut has what the member says of a setting not count, and warns of it. By itself nobody knows what the others say.
func (r *Reading) leaveOut(setting, reason string) {
	vote, ok := r.Votes[setting]
	if !ok || r.in.Alone {
		return
	}
	delete(r.Votes, setting)
	vote.From.Reason = reason
	r.warnOf(vote.From)
}

// namesIn are the IDs and names in an annotation. One without any says nothing.
func (r settingsReader) namesIn(key annotation.Key[[]string]) []string {
	entries, set := get(r.Reading, key)
	if set && len(entries) == 0 {
		r.warnOf(fault.Fault{Annotation: key.FullName(), Value: r.Annotations()[key.FullName()],
			Reason: "is empty, so it is ignored: set IDs or values of Name tags, or leave it out"})
	}
	return entries
}

// readSecurityGroups reads the security groups of the IDs and names in an annotation.
func (r settingsReader) readSecurityGroups(key annotation.Key[[]string]) {
	from := fault.Fault{Annotation: key.FullName(), Value: r.Annotations()[key.FullName()]}
	r.addSecurityGroups(key.Name, r.namesIn(key), from)
}

// addSecurityGroups adds a vote for the security groups of these IDs and names.
func (r settingsReader) addSecurityGroups(setting string, entries []string, from fault.Fault) {
	if len(entries) == 0 || r.in.Alone {
		return
	}
	ids, err := r.in.AWS.SecurityGroupIDs(entries)
	if err != nil {
		from.Reason = err.Error()
		r.Fail(from)
		return
	}
	r.add(setting, strings.Join(ids, ","), from)
}

// paramsAttributes are attributes as params have them.
func paramsAttributes(r *Reading, k annotation.Attributes, field string, list []v1beta1.Attribute) map[string]string {
	all := k.Lower(attributes(list))
	if err := k.Check(all); err != nil {
		r.Fail(r.paramsFault(field, "", err.Error()))
	}
	return all
}

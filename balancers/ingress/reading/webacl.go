// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"strconv"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
)

// readWebACL reads the web ACL. An ARN yields to a name, whoever gives that, as with the incumbent.
func (r settingsReader) readWebACL() {
	if name := input.WebACLName(r.Member); name != "" {
		r.readWebACLName(name)
		return
	}
	arn, set := say(r.Reading, annotation.WAFv2ACL, "spec.wafv2AclArn", r.params.WAFv2ACLArn, asIs)
	if set {
		vote := r.Votes[annotation.WAFv2ACL.Name]
		vote.yields = true
		r.Votes[annotation.WAFv2ACL.Name] = vote
		if arn != annotation.NoWebACL {
			r.addFirewall(firewall, vote.From)
		}
	}
	if arn, set := r.Annotations()[annotation.WAFv2ACL.FullName()]; set && arn == "" && r.params.WAFv2ACLArn == "" {
		r.warnOf(fault.Fault{Annotation: annotation.WAFv2ACL.FullName(),
			Reason: "is empty, so it is ignored, and a web ACL that is there stays: set \"none\" to remove it, or leave this out"})
	}
}

// Outvoted warns of the ARN that the member gives while another names a web ACL.
func (v *voter) Outvoted(a Agreed) (fault.Fault, bool) {
	mine, other := v.Votes[annotation.WAFv2ACL.Name], a.Votes[annotation.WAFv2ACL.Name]
	if !mine.yields || other.same == mine.same {
		return fault.Fault{}, false
	}
	fault := mine.From
	fault.Reason = "is ignored, as a name takes precedence over an ARN: the group has " + strconv.Quote(other.Text) + ", as " + other.Who()
	return fault, true
}

func (r settingsReader) readWebACLName(name string) {
	from := fault.Fault{Annotation: annotation.WAFv2ACLName.FullName(), Value: name}
	if r.params.WAFv2ACLName != "" {
		from = r.paramsFault("spec.wafv2AclName", name, "")
	}
	if name != annotation.NoWebACL {
		r.addFirewall(firewall, from)
	}
	if r.in.Alone {
		return
	}
	arn, err := annotation.NoWebACL, error(nil)
	if name != annotation.NoWebACL {
		arn, err = lookup.Find("regional web ACL", name, r.in.AWS.WebACLs)
	}
	if err != nil {
		from.Reason = err.Error()
		r.Fail(from)
		return
	}
	r.addText(annotation.WAFv2ACL.Name, arn, from)
}

// The setting of which service the web ACL is. AWS has one web ACL for a load balancer.
const (
	firewallSetting = "firewall"
	firewall        = "a web ACL of AWS WAF"
	classicFirewall = "a web ACL of AWS WAF Classic"
)

// addFirewall votes for a web ACL of that service. From is what asks for it.
func (r settingsReader) addFirewall(service string, from fault.Fault) {
	if ours := r.in.Options; service == firewall && !ours.WAFv2 || service == classicFirewall && !ours.WAFClassic {
		return
	}
	from.Member = r.Name
	if other, ok := r.Votes[firewallSetting]; ok {
		from.Reason = "the load balancer has " + other.Text + ", as " + other.Who() + ", and AWS allows one web ACL for it: set one of the two"
		r.Fail(from)
		return
	}
	r.Votes[firewallSetting] = Vote{Text: service, same: service, From: from}
}

// readClassicACL reads the web ACL of AWS WAF Classic. An empty value says nothing, as with the incumbent.
func (r settingsReader) readClassicACL() {
	key := input.ClassicACLKey(r.Member)
	id, set := get(r.Reading, key)
	from := fault.Fault{Annotation: key.FullName(), Value: id}
	if !set || id == "" {
		return
	}
	if id == annotation.NoWebACL {
		r.addText(annotation.WAFClassicACL.Name, id, from)
		return
	}
	retired := from
	retired.Reason = "AWS has retired AWS WAF Classic: name a web ACL of AWS WAF in " + annotation.WAFv2ACL.FullName() + " instead"
	r.warnOf(retired)
	if r.in.AWS.NoClassicACLs == "" {
		r.addFirewall(classicFirewall, from)
		r.addClassicACL(id, from)
		return
	}
	from.Reason = r.in.AWS.NoClassicACLs + ", the present association is left as it is"
	r.warnOf(from)
}

func (r settingsReader) addClassicACL(id string, from fault.Fault) {
	if r.in.Alone || !r.in.Options.WAFClassic {
		return
	}
	if _, err := lookup.Find("web ACL of AWS WAF Classic with the ID", id, r.in.AWS.ClassicACLs); err != nil {
		from.Reason = err.Error()
		r.Fail(from)
		return
	}
	r.addText(annotation.WAFClassicACL.Name, id, from)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package consent

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// TagKey is the tag on a target group that names who may bind it. Its value is a list, separated by spaces, of
//
//	cluster/namespace            all bindings of the namespace
//	cluster/namespace/binding    one of them
//
// where + as a part stands for any. So does *, but AWS takes only letters, digits, spaces and _ . : / = + - @ in the tags of
// load balancers.
const TagKey = "targetgate.dev/bind"

// The tags by which targetgate and the incumbent find again what they have made of a cluster's Ingresses. No user sets them. For a target
// group the second is NAMESPACE/INGRESS-SERVICE:PORT. So the group says itself whose it is: bindings of that namespace need no word more.
const (
	clusterTag = "elbv2.k8s.aws/cluster"
	partTag    = "ingress.k8s.aws/resource"
	// oldClusterTag is what the incumbent's first version wrote for clusterTag.
	oldClusterTag = "ingress.k8s.aws/cluster"
)

// Keys are those of the tags that Refusal and OtherCluster go by.
func Keys() []string { return []string{TagKey, clusterTag, oldClusterTag, partTag} }

// longestValue is how long AWS documents a tag's value to be at most.
const longestValue = 255

// Mode is how bindings without the consent of their target group's owner are treated.
type Mode string

// The modes.
const (
	Off     Mode = "off"     // consent is not asked for
	Warn    Mode = "warn"    // they work, and say what would be refused
	Require Mode = "require" // they are refused, and nothing is registered for them
)

// Asks reports whether tags are read at all.
func (m Mode) Asks() bool { return m == Warn || m == Require }

// Modes are the modes' names.
func Modes() []string { return []string{string(Off), string(Warn), string(Require)} }

// Binder is a binding, as tags name it. The name is empty when it is not known yet: then it may be any.
type Binder struct {
	Cluster, Namespace, Name string
}

// clusterPattern is of names that a tag's value can have as a part.
var clusterPattern = regexp.MustCompile(`^[\p{L}\p{N}_.:=@-][\p{L}\p{N}_.:=@+-]*$`)

// CheckCluster says why tags cannot name a cluster of that name.
func CheckCluster(name string) error {
	if !clusterPattern.MatchString(name) {
		return fmt.Errorf("tags of target groups cannot name a cluster %q: must be letters, digits and _ . : = @ - only", name)
	}
	return nil
}

// Refusal is why the group's tags do not let the binding have it, and what would; empty when they do. The words do not show a tag's
// value: whoever may create a binding for a group need not know who else does.
func (b Binder) Refusal(tags map[string]string) string {
	value := tags[TagKey]
	entries := strings.Fields(value)
	if b.isMadeFor(tags) || b.isNamed(tags) {
		return ""
	}
	wanted := b.entry()
	switch {
	case len(entries) == 0:
		return fmt.Sprintf("there is no consent for this binding: the target group's owner can give it with the tag %s=%s", TagKey, wanted)
	case len(value)+1+len(wanted) > longestValue:
		return fmt.Sprintf("the target group's tag %s does not name this binding: its owner can add %s, but has to shorten the tag for that, "+
			"as a value has at most %d characters: + stands for any cluster, namespace or binding%s",
			TagKey, wanted, longestValue, faultsOf(entries))
	default:
		return fmt.Sprintf("the target group's tag %s does not name this binding: its owner can add %s to it, after a space%s",
			TagKey, wanted, faultsOf(entries))
	}
}

// isMadeFor reports whether the group was made for an Ingress of the binding's namespace.
func (b Binder) isMadeFor(tags map[string]string) bool {
	return b.Cluster != "" && tags[clusterTag] == b.Cluster && b.Namespace != "" && strings.HasPrefix(tags[partTag], b.Namespace+"/")
}

// entry names the binding, or all of its namespace where it has no name or one that is too long for a tag.
func (b Binder) entry() string {
	whole := b.Cluster + "/" + b.Namespace
	if b.Name == "" || len(whole)+1+len(b.Name) > longestValue {
		return whole
	}
	return whole + "/" + b.Name
}

func (b Binder) isNamedBy(entry string) bool {
	parts := strings.Split(entry, "/")
	switch len(parts) {
	case 2:
		return matches(parts[0], b.Cluster) && matches(parts[1], b.Namespace)
	case 3:
		return matches(parts[0], b.Cluster) && matches(parts[1], b.Namespace) && parts[2] != "" && (b.Name == "" || matches(parts[2], b.Name))
	default:
		return false
	}
}

func matches(part, name string) bool {
	return part == "+" || part == "*" || part == name && name != ""
}

// faultsOf counts the entries that name nobody, which the owner of the tag hardly means.
func faultsOf(entries []string) string {
	n := 0
	for _, entry := range entries {
		if parts := strings.Split(entry, "/"); len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of its %d entries are not of the form cluster/namespace or cluster/namespace/binding)", n, len(entries))
}

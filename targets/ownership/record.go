// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ownership

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// A group that several clusters share holds targets that are none of ours. Which ones are is written down in a
// ConfigMap, before they are registered and until they are deregistered, so that it survives us: name, key and format
// are the incumbent's.
const (
	recordPrefix = "aws-lbc-targets-"
	// RecordKey is where the ConfigMap holds the record.
	RecordKey = "targets"
	// RecordedFor is the annotation that says which binding the record was written for, by its UID: there may have been another one of that
	// name. The incumbent takes it off when it writes. An owner reference would have the record deleted first when somebody deletes the
	// binding with its dependents in the foreground, as Argo CD does.
	RecordedFor = "targetgate.dev/binding-uid"
)

// serverID is how the incumbent's QUIC server IDs begin, which follow the port in its record. Addresses have no such part.
const serverID = ":0x"

// Record holds the targets that were registered for a binding of a shared group. With each is what the incumbent has written
// behind its port: the QUIC server ID, for which it looks again should it come back. Mostly that is nothing.
type Record map[elbv2.Target]string

// String is the record as the incumbent writes it: id:port or id:port:serverID, separated by commas. IPv6 addresses have no brackets.
func (r Record) String() string {
	out := make([]string, 0, len(r))
	for target, server := range r {
		out = append(out, target.ID+":"+strconv.Itoa(int(target.Port))+server)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// ParseRecord reads what String and the incumbent write. What is not a target is left out.
func ParseRecord(text string) Record {
	out := Record{}
	for part := range strings.SplitSeq(text, ",") {
		part, server := cutServerID(strings.TrimSpace(part))
		at := strings.LastIndex(part, ":")
		if at <= 0 {
			continue
		}
		port, err := strconv.ParseUint(part[at+1:], 10, 16)
		if err != nil || port == 0 {
			continue
		}
		out[elbv2.Target{ID: part[:at], Port: int32(port)}] = server
	}
	return out
}

// cutServerID splits a QUIC server ID off the entry of a record, with its colon.
func cutServerID(entry string) (target, server string) {
	if at := strings.LastIndex(entry, ":"); at > 0 && strings.HasPrefix(entry[at:], serverID) {
		return entry[:at], entry[at:]
	}
	return entry, ""
}

// unrecordable says that the record of a shared group cannot be written, as its ConfigMap would have too long a name.
func unrecordable(binding *v1beta1.TargetGroupBinding) string {
	if !binding.Spec.MultiClusterTargetGroup || len(recordPrefix+binding.Name) <= validation.DNS1123SubdomainMaxLength {
		return ""
	}
	return "metadata.name is too long for the ConfigMap " + recordPrefix + "NAME, the record of a shared target group: " +
		"create the binding again with a shorter name"
}

// RecordName is the name of the ConfigMap with the record of the binding of that name.
func RecordName(binding string) string { return recordPrefix + binding }

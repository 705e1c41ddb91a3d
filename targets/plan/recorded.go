// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// mostRecorded is how many foreign targets a status lists. No target group has more unless AWS has raised its quota; of the others a
// restart finds out anew.
const mostRecorded = 1000

// NewForeign is what the binding's status says of foreign targets. A binding that nobody has worked on is fresh.
func NewForeign(binding *v1beta1.TargetGroupBinding) Foreign {
	recorded := binding.Status.ForeignTargets
	switch {
	case recorded == nil:
		return Foreign{fresh: !wasWorkedOn(binding)}
	case recorded.BindingUID != binding.UID:
		return Foreign{fresh: true}
	}
	others := map[elbv2.Target]other{}
	for reason, targets := range recorded.Targets {
		for _, text := range targets {
			if target, ok := parseTarget(text); ok {
				others[target] = other{reason: reason}
			}
		}
	}
	return Foreign{fresh: !recorded.Complete, others: others}
}

// wasWorkedOn reports whether the status shows that the incumbent, or a targetgate that recorded no foreign targets, has worked on this
// very binding. What a backup has restored is older than the binding.
func wasWorkedOn(binding *v1beta1.TargetGroupBinding) bool {
	created := binding.CreationTimestamp.Time
	if seconds, err := strconv.ParseInt(binding.Annotations[v1beta1.CheckpointTimestampAnnotation], 10, 64); err == nil &&
		time.Unix(seconds, 0).Before(created) {
		return false
	}
	for i := range binding.Status.Conditions {
		if binding.Status.Conditions[i].LastTransitionTime.Time.Before(created) {
			return false
		}
	}
	return ptr.Deref(binding.Status.ObservedGeneration, 0) > 0
}

func parseTarget(text string) (elbv2.Target, bool) {
	id, port, err := net.SplitHostPort(text)
	number, portErr := strconv.ParseInt(port, 10, 32)
	return elbv2.Target{ID: id, Port: int32(number)}, cmp.Or(err, portErr) == nil
}

// Record is what a status is to say, nil for nothing: then it keeps what an earlier process has written.
func (f Foreign) Record(binding types.UID) *v1beta1.ForeignTargets {
	if !f.fresh && !f.began {
		return nil
	}
	out := &v1beta1.ForeignTargets{BindingUID: binding, Complete: !f.fresh}
	sorted := slices.SortedFunc(maps.Keys(f.others), byName)
	for _, target := range sorted[:min(len(sorted), mostRecorded)] {
		if out.Targets == nil {
			out.Targets = map[string][]string{}
		}
		reason := f.others[target].reason
		out.Targets[reason] = append(out.Targets[reason], target.String())
	}
	return out
}

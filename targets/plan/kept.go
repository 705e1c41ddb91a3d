// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// KeptFor is what a target waits for whose pod gets no traffic by Kubernetes' word.
type KeptFor int

const (
	// UntilEnoughServe is of an unready pod.
	UntilEnoughServe KeptFor = iota + 1
	// UntilReplaced is of a pod that is being deleted, and serves.
	UntilReplaced
	// UntilSuccessorServes is of a pod that the Service no longer selects.
	UntilSuccessorServes
)

// Kept is why a target stays in the group, and until when.
type Kept struct {
	For   KeptFor
	Pod   *corev1.Pod
	Since time.Time
	By    time.Time // it goes then at the latest, zero when nothing says so

	Needed, Of int // of UntilEnoughServe: how many must serve of how many that served together
}

// keptBrief is how long a target may be kept without a word: most that wait for replacements are gone by then.
const keptBrief = 10 * time.Second

// noteKept has users told of a pod's target that stays, once it has stayed for a while.
func (p *Plan) noteKept(in Input, target elbv2.Target, k Kept) {
	if k.Pod = in.Endpoints[target].Pod; k.Pod == nil {
		return
	}
	if left := keptBrief - in.Now.Sub(k.Since); left > 0 {
		if k.By.IsZero() || k.By.After(in.Now.Add(left)) {
			p.NextChange = retry.Soonest(p.NextChange, left)
		}
		return
	}
	if p.Kept == nil {
		p.Kept = map[elbv2.Target]Kept{}
	}
	p.Kept[target] = k
}

// keptReasons are those of the condition, by what is waited for.
var keptReasons = map[KeptFor]string{
	UntilEnoughServe: v1beta1.ReasonUnreadyPodsKept, UntilReplaced: v1beta1.ReasonAwaitingReplacement,
	UntilSuccessorServes: v1beta1.ReasonAwaitingSuccessor,
}

// maxNamed is how many pods are named.
const maxNamed = 20

// WhyKept says which pods get no traffic by Kubernetes' word and are targets all the same, why, and until when. The reason is that of the
// first that it tells of; both are empty when there are none.
func (p *Plan) WhyKept() (reason, message string) {
	byReason := map[KeptFor][]Kept{}
	for _, k := range p.Kept {
		byReason[k.For] = append(byReason[k.For], k)
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(byReason)) {
		reason = cmp.Or(reason, keptReasons[what])
		kept := byReason[what]
		longest := slices.MaxFunc(kept, func(a, b Kept) int { return cmp.Or(cmp.Compare(a.Needed, b.Needed), a.By.Compare(b.By)) })
		parts = append(parts, podNames(kept)+" "+longest.Words())
	}
	return reason, strings.Join(parts, "; ")
}

// podNames are the names of the pods, in order.
func podNames(kept []Kept) string {
	names := make([]string, len(kept))
	for i, k := range kept {
		names[i] = k.Pod.Name
	}
	slices.Sort(names)
	names = slices.Compact(names)
	more := ""
	if len(names) > maxNamed {
		names, more = names[:maxNamed], fmt.Sprintf(" and %d more", len(names)-maxNamed)
	}
	return strings.Join(names, ", ") + more
}

// Words say why the target stays, and until when, behind the name of its pod.
func (k Kept) Words() string {
	switch {
	case k.For == UntilReplaced:
		return "about to end, and a target until a replacement serves" + k.atTheLatest()
	case k.For == UntilSuccessorServes:
		return "no longer selected by the Service, and a target until the pods that it selects serve" + k.atTheLatest()
	case k.Of == 0:
		return "not ready, and a target" + k.atTheLatest() + ": enough others serve again"
	default:
		return fmt.Sprintf("not ready, and a target until %d of the %d targets that served together serve (min-ready-percent)", k.Needed, k.Of)
	}
}

func (k Kept) atTheLatest() string {
	if k.By.IsZero() {
		return ""
	}
	return ", until " + k.By.UTC().Format(time.RFC3339) + " at the latest"
}

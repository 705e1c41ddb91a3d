// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// delayAnnotation on a pod says how long it is to go on serving, whatever is in front of it.
	delayAnnotation = "targetgate.dev/termination-delay"
	// protectionAnnotation on a pod records the sleep it got. It tells a later call that the grace period is long enough
	// already, and how long containers added in between have to sleep.
	protectionAnnotation = "targetgate.dev/termination-protection"

	// MaxTerminationDelay is the longest termination delay.
	MaxTerminationDelay = elbv2.MaxDeregistrationDelay

	// longestGrace is in seconds. API server and kubelet hold a grace period in nanoseconds, in 64 bits.
	longestGrace = int64(math.MaxInt64 / time.Second)
)

// firstWithSleep is the first version whose API servers accept preStop.sleep by default. One that does not know the field
// drops it, finds a preStop without a handler, and rejects the pod.
var firstWithSleep = version.MajorMinor(1, 30)

// Termination is how long pods keep serving after their deletion, while the load balancer may still send to them.
type Termination struct {
	// ALB is for target groups of protocol HTTP and HTTPS, NLB for those of all others. If the protocol is not known, the
	// longer one applies. They are rounded up to whole seconds; 0 leaves pods as they are.
	ALB, NLB time.Duration
	// ServerVersion is the API server's version, such as v1.30.14-eks-931bdca. Below 1.30, or if it cannot be parsed, pods are
	// left as they are.
	ServerVersion string
}

// lateness is how much later the incumbent deregisters the targets of a rollout, at the median 12 s after the deletion.
const lateness = 15 * time.Second

// late is the same for pods that the incumbent deregisters.
func (t Termination) late() Termination {
	for _, delay := range []*time.Duration{&t.ALB, &t.NLB} {
		if *delay > 0 {
			*delay = min(*delay+lateness, MaxTerminationDelay)
		}
	}
	return t
}

// sleepSupported reports whether the API server accepts pods with a preStop.sleep.
func (t Termination) sleepSupported() bool {
	server, err := version.ParseGeneric(t.ServerVersion)
	return err == nil && server.AtLeast(firstWithSleep)
}

// byType returns the longest delay, in seconds, that target groups of these protocols need.
func (t Termination) byType(protocols []v1beta1.Protocol) int64 {
	var longest time.Duration
	for _, protocol := range protocols {
		switch {
		case protocol == "":
			longest = max(longest, t.ALB, t.NLB)
		case elbv2.IsApplication(protocol):
			longest = max(longest, t.ALB)
		default:
			longest = max(longest, t.NLB)
		}
	}
	return wholeSeconds(longest)
}

// isNetwork reports whether target groups of the protocol are for Network Load Balancers; that of an unknown one is not known.
func isNetwork(protocol v1beta1.Protocol) bool {
	return protocol != "" && !elbv2.IsApplication(protocol)
}

func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// protector adds the termination delay to pods.
type protector struct {
	Termination
	canSleep bool
}

func newProtector(t Termination) *protector {
	return &protector{Termination: t, canSleep: t.sleepSupported()}
}

// protection is the change to a pod that keeps it serving for a while after its deletion.
type protection struct {
	containers []int // positions of the containers that get a sleep
	sleep      int64 // of each, in seconds
	first      bool  // the pod was not protected before: grace and annotation are set, too
	raised     bool  // this or an earlier call has raised the grace period; if none has, nothing is changed
	grace      int64 // new grace period of the pod, in seconds
	before     int64 // original grace period, before this and any earlier call
	warnings   []string
}

// protect decides how a pod that bindings of these protocols cover keeps serving. Regular containers without a preStop get a
// sleep, and the pod's grace period grows by the same time, so that they have as long as before to shut down. A container that fails a
// probe has the grace period of before. Protecting a pod twice has the same result as once, also if containers were added in between.
func (t *protector) protect(pod *podView, protocols []v1beta1.Protocol) protection {
	p := protection{grace: pod.gracePeriod()}
	needed, warning := t.needed(pod, protocols)
	p.warn(warning)
	if needed == 0 {
		return p
	}
	bare, slept := bareContainers(pod), protectedBefore(pod)
	p.before = p.grace - slept
	switch {
	case len(bare) == 0:
	case !t.canSleep:
		p.warn(fmt.Sprintf("container %q gets no preStop sleep: it needs Kubernetes 1.30, and the API server is %q",
			pod.containers()[bare[0]].Name, cut(t.ServerVersion)))
	case slept > 0:
		p.containers, p.sleep = bare, slept
	default:
		p.containers, p.sleep, p.first = bare, needed, true
		p.grace = max(p.grace, min(p.grace+needed, longestGrace)) // a sum that overflows int64 is negative
	}
	p.raised = p.first || slept > 0
	p.warn(p.tooShort(pod, needed, slept))
	p.warn(p.noTimeLeft(pod, slept))
	p.warn(p.onSpot(pod, slices.ContainsFunc(protocols, isNetwork)))
	return p
}

// needed returns how many seconds the pod has to keep serving, 0 to leave it as it is, and a warning if its annotation is
// invalid.
func (t *protector) needed(pod *podView, protocols []v1beta1.Protocol) (seconds int64, warning string) {
	usual := t.byType(protocols)
	asked, found := pod.annotations()[delayAnnotation]
	if !found {
		return usual, ""
	}
	delay, err := time.ParseDuration(asked)
	if err != nil || delay < 0 || delay > MaxTerminationDelay {
		return usual, fmt.Sprintf("annotation %s is %q: must be a duration such as 45s, at most %s, or 0 for none; ignoring it and using %ds",
			delayAnnotation, cut(asked), MaxTerminationDelay, usual)
	}
	return wholeSeconds(delay), ""
}

// protectedBefore returns the sleep that an earlier call gave to the pod, or 0. The annotation alone is no proof, because it
// may have been copied.
func protectedBefore(pod *podView) int64 {
	delay, err := time.ParseDuration(pod.annotations()[protectionAnnotation])
	seconds := wholeSeconds(delay)
	if err != nil || delay <= 0 || delay > MaxTerminationDelay || seconds > pod.gracePeriod() {
		return 0
	}
	for _, c := range pod.containers() {
		if hook := c.preStop(); hook != nil && hook.Sleep != nil && hook.Sleep.Seconds == seconds {
			return seconds
		}
	}
	return 0
}

// bareContainers returns the positions of the regular containers without a preStop.
func bareContainers(pod *podView) []int {
	var bare []int
	for i := range pod.containers() {
		if pod.containers()[i].preStop() == nil {
			bare = append(bare, i)
		}
	}
	return bare
}

// gracePeriod returns the pod's grace period in seconds, as the API server reads it.
func (p *podView) gracePeriod() int64 {
	switch grace := p.Spec.TerminationGracePeriodSeconds; {
	case grace == nil:
		return corev1.DefaultTerminationGracePeriodSeconds
	case *grace < 0:
		return 1
	default:
		return *grace
	}
}

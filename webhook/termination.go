// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// delayAnnotation on a pod says how long it is to go on serving, whatever is in front of it.
	delayAnnotation = "targetgate.dev/termination-delay"
	// protectionAnnotation on a pod says what it was given. By it a later call knows that the grace period is as long as
	// it has to be, and how long containers sleep that came in between.
	protectionAnnotation = "targetgate.dev/termination-protection"

	// MaxTerminationDelay is the longest that pods can be kept serving: ELB's longest deregistration delay.
	MaxTerminationDelay = time.Hour

	// longestGrace is in seconds: API server and kubelet count a grace period in nanoseconds.
	longestGrace = int64(math.MaxInt64 / time.Second)
)

// firstWithSleep is the first version whose API servers take preStop.sleep unasked. One that does not know the field
// drops it, finds a preStop without a handler, and refuses the pod.
var firstWithSleep = version.MajorMinor(1, 30)

// Termination says how long pods go on serving after their deletion, while the load balancer may still send to them.
type Termination struct {
	// ALB is for target groups of protocol HTTP and HTTPS, NLB for those of the others; where the protocol is not known
	// the longer one counts. They are rounded up to whole seconds; 0 leaves pods as they are.
	ALB, NLB time.Duration
	// ServerVersion is what the API server calls itself, such as v1.30.14-eks-931bdca. Below 1.30, or when it makes no
	// sense, pods are left as they are.
	ServerVersion string
}

// sleepSupported reports whether the API server takes pods with a preStop.sleep.
func (t Termination) sleepSupported() bool {
	server, err := version.ParseGeneric(t.ServerVersion)
	return err == nil && server.AtLeast(firstWithSleep)
}

// byType is the longest delay, in seconds, that target groups of these protocols need.
func (t Termination) byType(protocols []v1beta1.Protocol) int64 {
	var longest time.Duration
	for _, protocol := range protocols {
		switch protocol {
		case "HTTP", "HTTPS":
			longest = max(longest, t.ALB)
		case "":
			longest = max(longest, t.ALB, t.NLB)
		default:
			longest = max(longest, t.NLB)
		}
	}
	return wholeSeconds(longest)
}

func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// protector gives pods time to leave.
type protector struct {
	Termination
	canSleep bool
}

func newProtector(t Termination) *protector {
	return &protector{Termination: t, canSleep: t.sleepSupported()}
}

// protection is what is changed in a pod so that it goes on serving for a while after its deletion.
type protection struct {
	containers []int // positions of those that get a sleep; when there are none, nothing is changed
	sleep      int64 // of each, in seconds
	first      bool  // the pod was not protected before: grace and annotation are set, too
	grace      int64 // of the pod, in seconds
	before     int64 // what the grace period was, or was before an earlier call
	warnings   []string
}

// protect decides how a pod goes on serving that bindings of these protocols cover. Regular containers without a preStop
// of their own get a sleep, and the pod's grace period grows by as much, so that they have as long as before for
// ending. Protecting a pod twice is protecting it once, also when containers came in between.
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
		p.grace = max(p.grace, min(p.grace+needed, longestGrace)) // a sum beyond int64 is negative
	}
	p.warn(p.tooShort(pod, needed, slept))
	p.warn(pod.onSpot(max(p.sleep, slept)))
	return p
}

func (p *protection) warn(warning string) {
	if warning != "" {
		p.warnings = append(p.warnings, warning)
	}
}

// tooShort warns of the first container that cannot go on serving for as long as needed. What a preStop of its own waits is
// known of a sleep only; another one was written for the grace period that the pod had then.
func (p *protection) tooShort(pod *podView, needed, slept int64) string {
	for i := range pod.containers() {
		c := &pod.containers()[i]
		hook := c.preStop()
		switch {
		case hook != nil && hook.Sleep != nil && hook.Sleep.Seconds < needed && hook.Sleep.Seconds != slept:
			return fmt.Sprintf("the preStop of container %q sleeps %d s, but the load balancer may keep sending for %d s: "+
				"lengthen or remove it", cut(c.Name), hook.Sleep.Seconds, needed)
		case p.grace < needed, hook != nil && hook.Sleep == nil && p.before < needed:
			return fmt.Sprintf("spec.terminationGracePeriodSeconds is %d, but the load balancer may keep sending for %d s: "+
				"raise it, and make the preStop of container %q wait that long", min(p.grace, p.before+slept), needed, cut(c.Name))
		}
	}
	return ""
}

// spotNotice is in seconds: how long before it takes a Spot instance EC2 says so.
const spotNotice = 120

// spotLabels are the labels of nodes on Spot instances that pods select.
var spotLabels = map[string]string{"karpenter.sh/capacity-type": "spot", "eks.amazonaws.com/capacityType": "SPOT"}

// onSpot warns of a sleep that leaves nothing of the time that a Spot instance has.
func (p *podView) onSpot(sleep int64) string {
	const least = 10 // seconds for ending after SIGTERM
	if sleep <= spotNotice-least {
		return ""
	}
	for key, value := range spotLabels {
		if p.Spec.NodeSelector.value[key] == value {
			return fmt.Sprintf("the pod sleeps %d s before SIGTERM, but a Spot instance is gone %d s after its notice: "+
				"set annotation %s: 90s to leave time for shutdown", sleep, spotNotice, delayAnnotation)
		}
	}
	return ""
}

// needed is how many seconds the pod is to go on serving, 0 when it is to be left as it is, and a warning when its
// annotation makes no sense.
func (t *protector) needed(pod *podView, protocols []v1beta1.Protocol) (seconds int64, warning string) {
	usual := t.byType(protocols)
	asked, found := pod.annotations()[delayAnnotation]
	if !found {
		return usual, ""
	}
	delay, err := time.ParseDuration(asked)
	if err != nil || delay < 0 || delay > MaxTerminationDelay {
		return usual, fmt.Sprintf("annotation %s is %q: want a duration such as 45s, at most %s, or 0 for none; ignoring it and using %ds",
			delayAnnotation, cut(asked), MaxTerminationDelay, usual)
	}
	return wholeSeconds(delay), ""
}

// protectedBefore is the sleep that an earlier call gave to the pod, 0 when there was none. The annotation alone, which
// may have been copied, does not say so.
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

// bareContainers are the positions of the regular containers without a preStop of their own.
func bareContainers(pod *podView) []int {
	var bare []int
	for i := range pod.containers() {
		if pod.containers()[i].preStop() == nil {
			bare = append(bare, i)
		}
	}
	return bare
}

// gracePeriod is the pod's in seconds, as the API server reads it.
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

// longestQuote keeps a warning within what API servers pass on of it, 256 characters.
const longestQuote = 32

func cut(text string) string {
	runes := []rune(text[:min(len(text), (longestQuote+1)*utf8.UTFMax)]) // the text may be long
	if len(runes) <= longestQuote {
		return text
	}
	return string(runes[:longestQuote-1]) + "…"
}

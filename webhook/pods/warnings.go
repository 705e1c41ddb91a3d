// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/review"
)

// A warning says what is wrong, with figures, and what to do. Nothing is refused for it.

const (
	// longestWarning is how much of a warning API servers pass on when there are many.
	longestWarning = 256
	// longestQuote, in characters, is how much of a user's text a warning quotes.
	longestQuote = 32
)

func (p *protection) warn(warning string) {
	if warning != "" {
		p.warnings = append(p.warnings, review.CutTo(warning, longestWarning))
	}
}

// tooShort warns about the first container that cannot keep serving for as long as needed. Of a preStop only a sleep shows how
// long it waits; any other one was written for the pod's original grace period. A sidecar that sleeps serves until the containers
// have ended.
func (p *protection) tooShort(pod *podView, needed, slept int64) string {
	for i := range pod.containers() {
		c := &pod.containers()[i]
		hook := c.preStop()
		switch {
		case hook != nil && hook.Sleep != nil && hook.Sleep.Seconds < needed && (slept == 0 || hook.Sleep.Seconds != slept):
			return fmt.Sprintf("the preStop of container %q sleeps %d s, but the load balancer may keep sending for %d s: "+
				"lengthen or remove it", cut(c.Name), hook.Sleep.Seconds, needed)
		case p.grace < needed, p.endsEarly(hook, needed):
			return p.graceTooShort(c, needed, slept)
		}
	}
	for _, at := range pod.sidecars() {
		if c := &pod.initContainers()[at]; p.endsEarly(c.preStop(), needed) {
			return p.graceTooShort(c, needed, slept)
		}
	}
	return ""
}

// endsEarly reports whether a preStop that is no sleep was written for a shorter time than is needed.
func (p *protection) endsEarly(hook *preStopView, needed int64) bool {
	return hook != nil && hook.Sleep == nil && p.before < needed
}

func (p *protection) graceTooShort(c *containerView, needed, slept int64) string {
	return fmt.Sprintf("spec.terminationGracePeriodSeconds is %d, but the load balancer may keep sending for %d s: "+
		"raise it, and make the preStop of container %q wait that long", min(p.grace, p.before+slept), needed, cut(c.Name))
}

// noTimeLeft warns about the first container whose own preStop sleep takes all of the pod's grace period. The kubelet then kills
// it 2 s after SIGTERM. API servers refuse a sleep that is longer than the grace period.
func (p *protection) noTimeLeft(pod *podView, slept int64) string {
	for i := range pod.containers() {
		c := &pod.containers()[i]
		if sleep := c.sleep(); sleep >= p.grace && sleep != slept {
			return fmt.Sprintf("the preStop of container %q sleeps %d s, all of the terminationGracePeriodSeconds of %d, "+
				"which leaves the app 2 s to shut down after SIGTERM: raise the grace period by what the app needs", cut(c.Name), sleep, p.grace)
		}
	}
	return ""
}

// spotNotice, in seconds, is how long before an interruption EC2 announces it.
const spotNotice = 120

// spotLabels are the labels by which pods select nodes on Spot instances.
var spotLabels = map[string]string{"karpenter.sh/capacity-type": "spot", "eks.amazonaws.com/capacityType": "SPOT"}

// onSpot warns about a sleep that takes all of a Spot instance's notice. Behind a Network Load Balancer no shorter one is safe.
func (p *protection) onSpot(pod *podView, networkBalancer bool) string {
	const least = 10 // seconds to shut down after SIGTERM
	sleep := p.sleep
	for i := range pod.containers() {
		sleep = max(sleep, pod.containers()[i].sleep())
	}
	if sleep <= spotNotice-least || !pod.selectsSpot() {
		return ""
	}
	shorten := "shorten the sleep to 90 s (annotation " + delayAnnotation + ", or preStop)"
	if networkBalancer {
		return fmt.Sprintf("the pod sleeps %d s before SIGTERM, but a Spot instance is gone %d s after its notice, and a Network "+
			"Load Balancer may send for %d s: use On-Demand nodes, or %s", sleep, spotNotice, wholeSeconds(elbv2.StopsSendingNLB), shorten)
	}
	return fmt.Sprintf("the pod sleeps %d s before SIGTERM, but a Spot instance is gone %d s after its notice: %s", sleep, spotNotice, shorten)
}

// selectsSpot reports whether the pod runs on nodes on Spot instances alone, by its node selector or its required node affinity.
func (p *podView) selectsSpot() bool {
	for key, value := range spotLabels {
		if p.Spec.NodeSelector.Value[key] == value {
			return true
		}
	}
	terms := p.nodeTerms()
	for i := range terms {
		if !terms[i].selectsSpot() {
			return false
		}
	}
	return len(terms) > 0
}

// selectsSpot reports whether the term selects nodes on Spot instances alone.
func (t *nodeTermView) selectsSpot() bool {
	return slices.ContainsFunc(t.Expressions, func(e nodeExpressionView) bool {
		spot, known := spotLabels[e.Key]
		other := func(value string) bool { return value != spot }
		return known && e.Operator == corev1.NodeSelectorOpIn && len(e.Values) > 0 && !slices.ContainsFunc(e.Values, other)
	})
}

// keepUnclear warns about a KeepUntilReplacedAnnotation that is neither true nor false.
func (p *podView) keepUnclear() []string {
	asked, found := p.annotations()[v1beta1.KeepUntilReplacedAnnotation]
	if !found {
		return nil
	}
	if _, err := strconv.ParseBool(asked); err == nil {
		return nil
	}
	warning := fmt.Sprintf("annotation %s is %q: must be true or false; ignoring it", v1beta1.KeepUntilReplacedAnnotation, cut(asked))
	return []string{review.CutTo(warning, longestWarning)}
}

// cut keeps a warning short.
func cut(text string) string {
	runes := []rune(text[:min(len(text), (longestQuote+1)*utf8.UTFMax)]) // the text may be long
	if len(runes) <= longestQuote {
		return text
	}
	return string(runes[:longestQuote-1]) + "…"
}

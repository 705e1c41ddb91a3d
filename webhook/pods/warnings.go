// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"unicode/utf8"
)

func (p *protection) warn(warning string) {
	if warning != "" {
		p.warnings = append(p.warnings, warning)
	}
}

// tooShort warns about the first container that cannot keep serving for as long as needed. Of a preStop only a sleep shows how
// long it waits; any other one was written for the pod's original grace period.
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

// spotNotice, in seconds, is how long before an interruption EC2 announces it.
const spotNotice = 120

// spotLabels are the labels by which pods select nodes on Spot instances.
var spotLabels = map[string]string{"karpenter.sh/capacity-type": "spot", "eks.amazonaws.com/capacityType": "SPOT"}

// onSpot warns about a sleep that takes all of a Spot instance's notice.
func (p *podView) onSpot(sleep int64) string {
	const least = 10 // seconds to shut down after SIGTERM
	if sleep <= spotNotice-least {
		return ""
	}
	for key, value := range spotLabels {
		if p.Spec.NodeSelector.Value[key] == value {
			return fmt.Sprintf("the pod sleeps %d s before SIGTERM, but a Spot instance is gone %d s after its notice: "+
				"set annotation %s: 90s to leave time for shutdown", sleep, spotNotice, delayAnnotation)
		}
	}
	return ""
}

// longestQuote keeps a warning within the 256 characters that API servers pass on.
const longestQuote = 32

func cut(text string) string {
	runes := []rune(text[:min(len(text), (longestQuote+1)*utf8.UTFMax)]) // the text may be long
	if len(runes) <= longestQuote {
		return text
	}
	return string(runes[:longestQuote-1]) + "…"
}

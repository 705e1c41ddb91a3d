// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/clock"

	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

func TestSpotIsWarnedOf(t *testing.T) {
	required := func(terms string) string {
		return `"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[` + terms + `]}}}`
	}
	term := func(expressions ...string) string {
		return `{"matchExpressions":[` + strings.Join(expressions, ",") + `]}`
	}
	const (
		karpenter = `{"key":"karpenter.sh/capacity-type","operator":"In","values":["spot"]}`
		managed   = `{"key":"eks.amazonaws.com/capacityType","operator":"In","values":["SPOT"]}`
		zone      = `{"key":"topology.kubernetes.io/zone","operator":"In","values":["eu-west-1a"]}`
	)
	tests := map[string]struct {
		spec string
		want bool
	}{
		"node selector of Karpenter":            {`"nodeSelector":{"karpenter.sh/capacity-type":"spot"}`, true},
		"node selector of managed node groups":  {`"nodeSelector":{"eks.amazonaws.com/capacityType":"SPOT","a":"b"}`, true},
		"node selector of On-Demand nodes":      {`"nodeSelector":{"karpenter.sh/capacity-type":"on-demand"}`, false},
		"affinity of Karpenter":                 {required(term(karpenter)), true},
		"affinity of managed node groups":       {required(term(managed)), true},
		"and a zone":                            {required(term(zone, karpenter)), true},
		"each term":                             {required(term(karpenter) + "," + term(zone, managed)), true},
		"one of two terms":                      {required(term(karpenter) + "," + term(zone)), false},
		"a term of nothing":                     {required(term(karpenter) + ",{}"), false},
		"no term":                               {required(""), false},
		"the same value twice":                  {required(term(strings.Replace(karpenter, `"spot"`, `"spot","spot"`, 1))), true},
		"or On-Demand":                          {required(term(strings.Replace(karpenter, `"spot"`, `"spot","on-demand"`, 1))), false},
		"not Spot":                              {required(term(strings.Replace(karpenter, `"In"`, `"NotIn"`, 1))), false},
		"any capacity":                          {required(term(`{"key":"karpenter.sh/capacity-type","operator":"Exists"}`)), false},
		"no value":                              {required(term(strings.Replace(karpenter, `"spot"`, ``, 1))), false},
		"the other's value":                     {required(term(strings.Replace(karpenter, `"spot"`, `"SPOT"`, 1))), false},
		"of a label that nobody knows":          {required(term(strings.Replace(zone, `"eu-west-1a"`, `""`, 1))), false},
		"null":                                  {`"affinity":null,"nodeSelector":null`, false},
		"null inside":                           {`"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":null}}`, false},
		"null terms":                            {required("null"), false},
		"preferred only":                        {strings.Replace(required(term(karpenter)), "required", "preferred", 1), false},
		"affinity with so many values":          {required(term(karpenter, strings.Replace(zone, `"eu-west-1a"`, strings.Repeat(`"a",`, 999)+`"b"`, 1))), false},
		"anywhere":                              {`"nodeName":"a"`, false},
		"node selector and affinity that agree": {`"nodeSelector":{"a":"b"},` + required(term(managed)), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := `{"metadata":{"annotations":{"targetgate.dev/termination-delay":"111s"}},"spec":{` + tc.spec + `,"containers":[{"name":"web"}]}}`
			_, got := protected(t, usual, pod, "HTTP")
			var want []string
			if tc.want {
				want = []string{"the pod sleeps 111 s before SIGTERM, but a Spot instance is gone 120 s after its notice: " +
					"shorten the sleep to 90 s (annotation targetgate.dev/termination-delay, or preStop)"}
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// What matters on Spot is the longest sleep, whoever asked for it, and whether a Network Load Balancer is in front.
func TestSpotWarningDependsOnSleepAndProtocol(t *testing.T) {
	const (
		spot    = `"nodeSelector":{"karpenter.sh/capacity-type":"spot"},`
		network = ", and a Network Load Balancer may send for 200 s: use On-Demand nodes, or shorten"
		other   = ": shorten"
	)
	own := func(seconds int) string {
		return fmt.Sprintf(`,"lifecycle":{"preStop":{"sleep":{"seconds":%d}}}`, seconds)
	}
	tests := map[string]struct {
		delay, lifecycle string
		protocols        []v1beta1.Protocol
		sleep            int    // that is warned of, 0 for no warning
		then             string // how the warning goes on
	}{
		"ALB":                   {protocols: []v1beta1.Protocol{"HTTP"}},
		"NLB":                   {protocols: []v1beta1.Protocol{"TCP"}, sleep: 210, then: network},
		"both":                  {protocols: []v1beta1.Protocol{"HTTP", "TLS"}, sleep: 210, then: network},
		"not known":             {protocols: []v1beta1.Protocol{""}, sleep: 210, then: other},
		"no longer than it may": {delay: "110s", protocols: []v1beta1.Protocol{"TCP"}},
		"longer than it may":    {delay: "111s", protocols: []v1beta1.Protocol{"HTTPS"}, sleep: 111, then: other},
		"its own sleep":         {lifecycle: own(115), protocols: []v1beta1.Protocol{"HTTPS"}, sleep: 115, then: other},
		"its own short sleep":   {lifecycle: own(60), protocols: []v1beta1.Protocol{"HTTPS"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			annotations := `{}`
			if tc.delay != "" {
				annotations = `{"` + delayAnnotation + `":"` + tc.delay + `"}`
			}
			pod := `{"metadata":{"annotations":` + annotations + `},"spec":{"terminationGracePeriodSeconds":300,` + spot + `"containers":[{"name":"web"` + tc.lifecycle + `}]}}`
			once, got := protected(t, usual, pod, tc.protocols...)
			var want []string
			if tc.sleep > 0 {
				want = []string{fmt.Sprintf("the pod sleeps %d s before SIGTERM, but a Spot instance is gone 120 s after its notice%s the sleep to 90 s "+
					"(annotation targetgate.dev/termination-delay, or preStop)", tc.sleep, tc.then)}
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			_, again := protected(t, usual, once, tc.protocols...)
			if diff := cmp.Diff(got, again, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings of the second call (-first +second):\n%s", diff)
			}
		})
	}
}

func TestSleepThatLeavesNoTimeIsWarnedOf(t *testing.T) {
	const (
		noTime = `the preStop of container "web" sleeps %d s, all of the terminationGracePeriodSeconds of %d, ` +
			`which leaves the app 2 s to shut down after SIGTERM: raise the grace period by what the app needs`
		short = `the preStop of container "web" sleeps %d s, but the load balancer may keep sending for 30 s: lengthen or remove it`
	)
	tests := map[string]struct {
		grace, containers string
		want              []string
	}{
		"as long as the grace period":    {`60`, `{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":60}}}}`, []string{fmt.Sprintf(noTime, 60, 60)}},
		"as long as the default":         {`null`, `{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":30}}}}`, []string{fmt.Sprintf(noTime, 30, 30)}},
		"shorter":                        {`60`, `{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":59}}}}`, nil},
		"too short for the balancer too": {`20`, `{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":20}}}}`, []string{fmt.Sprintf(short, 20), fmt.Sprintf(noTime, 20, 20)}},
		"none of its own":                {`0`, `{"name":"web"}`, nil},
		"no time to sleep":               {`30`, `{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":0}}}}`, []string{fmt.Sprintf(short, 0)}},
		"beside a container that gets one and so a longer grace period": {`60`, `{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":60}}}},{"name":"mesh"}`, nil},
		"the second container": {`60`, `{"name":"a","lifecycle":{"preStop":{"sleep":{"seconds":40}}}},{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":60}}}}`,
			[]string{fmt.Sprintf(noTime, 60, 60)}},
		"a command may take as long": {`60`, `{"name":"web","lifecycle":{"preStop":{"exec":{"command":["sleep","60"]}}}}`, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := `{"metadata":{},"spec":{"terminationGracePeriodSeconds":` + tc.grace + `,"containers":[` + tc.containers + `]}}`
			once, got := protected(t, usual, pod, "HTTP")
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			_, again := protected(t, usual, once, "HTTP")
			if diff := cmp.Diff(got, again, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings of the second call (-first +second):\n%s", diff)
			}
		})
	}
}

func TestUnclearKeepUntilReplacedIsWarnedOf(t *testing.T) {
	warned := func(quoted string) []string {
		return []string{"annotation targetgate.dev/keep-until-replaced is " + quoted + ": must be true or false; ignoring it"}
	}
	tests := map[string]struct {
		annotations  string
		protectsOnly bool
		want         []string
	}{
		"none":              {annotations: `{"a":"b"}`},
		"no annotations":    {annotations: `null`},
		"false":             {annotations: `{"targetgate.dev/keep-until-replaced":"false"}`},
		"true":              {annotations: `{"targetgate.dev/keep-until-replaced":"true"}`},
		"as flags are":      {annotations: `{"targetgate.dev/keep-until-replaced":"F"}`},
		"no":                {annotations: `{"targetgate.dev/keep-until-replaced":"no"}`, want: warned(`"no"`)},
		"nothing":           {annotations: `{"targetgate.dev/keep-until-replaced":""}`, want: warned(`""`)},
		"with a space":      {annotations: `{"targetgate.dev/keep-until-replaced":"false "}`, want: warned(`"false "`)},
		"a word of bytes":   {annotations: `{"targetgate.dev/keep-until-replaced":"` + strings.Repeat("no", 500) + `"}`, want: warned(`"` + strings.Repeat("no", 15) + `n…"`)},
		"without the delay": {annotations: `{"targetgate.dev/keep-until-replaced":"no","targetgate.dev/termination-delay":"0"}`, want: warned(`"no"`)},
		// The incumbent deregisters the pod there, and does not know the annotation.
		"of a pod that is only protected": {annotations: `{"targetgate.dev/keep-until-replaced":"no"}`, protectsOnly: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHandler(webhooktest.NewReader(t, oldService("web", webLabels), webhooktest.NewBinding("web")), clock.RealClock{})
			h.mutator.protectsOnly = tc.protectsOnly
			_, response := webhooktest.Post(t, h, reviewOf(`{"metadata":{"labels":{"app":"web"},"annotations":`+tc.annotations+`},"spec":{"containers":[{"name":"web"}]}}`))
			if response == nil || !response.Allowed || response.Patch == nil {
				t.Fatalf("response %+v, want the pod admitted with a patch", response)
			}
			if diff := cmp.Diff(tc.want, response.Warnings, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// API servers may cut what is longer. The worst are characters that are quoted by their numbers.
func TestWarningsAreShort(t *testing.T) {
	worst := strings.Repeat("\U000e0001", 300)
	name := `"name":"` + worst + `"`
	const spot = `"nodeSelector":{"karpenter.sh/capacity-type":"spot"},`
	slept := func(seconds int64) string {
		return fmt.Sprintf(`,"lifecycle":{"preStop":{"sleep":{"seconds":%d}}}`, seconds)
	}
	pods := []string{
		`{"metadata":{"annotations":{"` + delayAnnotation + `":"` + worst + `"}},"spec":{` + spot + `"containers":[{` + name + `}]}}`,
		`{"metadata":{"annotations":{"` + delayAnnotation + `":"1h"}},"spec":{` + spot + `"containers":[{` + name + `,"lifecycle":{"preStop":{"exec":{}}}}]}}`,
		`{"metadata":{},"spec":{` + spot + `"containers":[{` + name + slept(math.MaxInt64) + `}]}}`,
		`{"metadata":{},"spec":{"terminationGracePeriodSeconds":1,"containers":[{` + name + slept(1) + `}]}}`,
		`{"metadata":{},"spec":{"terminationGracePeriodSeconds":9223372036854775807,` + spot + `"containers":[{` + name + slept(math.MaxInt64) + `}]}}`,
	}
	old := usual
	old.ServerVersion = worst
	for _, pod := range pods {
		for _, how := range []Termination{usual, old, {ALB: time.Hour, NLB: time.Hour, ServerVersion: "v1.30.0"}} {
			_, warnings := protected(t, how, pod, "TCP")
			if len(warnings) == 0 {
				t.Errorf("no warning about %s", cut(pod))
			}
			for _, warning := range warnings {
				if length := utf8.RuneCountInString(warning); length > 256 || !utf8.ValidString(warning) {
					t.Errorf("%d characters, want at most 256: %s", length, warning)
				}
			}
		}
	}
	var view podView
	view.Metadata.Annotations.Value = map[string]string{v1beta1.KeepUntilReplacedAnnotation: worst}
	for _, warning := range view.keepUnclear() {
		if length := utf8.RuneCountInString(warning); length > 256 {
			t.Errorf("%d characters, want at most 256: %s", length, warning)
		}
	}
}

// The figures fit, so that what to do is not cut off.
func TestLongestSpotWarningIsWhole(t *testing.T) {
	_, got := protected(t, usual, `{"metadata":{},"spec":{"terminationGracePeriodSeconds":9999,"nodeSelector":{"karpenter.sh/capacity-type":"spot"},`+
		`"containers":[{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":9998}}}}]}}`, "TCP")
	if len(got) != 1 || !strings.HasSuffix(got[0], "or preStop)") {
		t.Errorf("warnings %q, want one with its end", got)
	}
}

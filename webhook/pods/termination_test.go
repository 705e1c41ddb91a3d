// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/targets/v1beta1"
	"github.com/targetgate/targetgate/webhook/review"
	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// protected is the pod after protection, and what its author is warned of.
func protected(t *testing.T, how Termination, pod string, protocols ...v1beta1.Protocol) (out string, warnings []string) {
	t.Helper()
	var view podView
	if err := json.Unmarshal([]byte(pod), &view); err != nil {
		t.Fatal(err)
	}
	p := newProtector(how).protect(&view, protocols)
	return webhooktest.Patched(t, pod, webhooktest.Encode(t, protectionPatch(&view, p))), p.warnings
}

const (
	slept30  = `"lifecycle":{"preStop":{"sleep":{"seconds":30}}}`
	marked30 = `"metadata":{"annotations":{"targetgate.dev/termination-protection":"30s"}}`
)

func TestProtect(t *testing.T) {
	const own = `"lifecycle":{"preStop":{"exec":{"command":["sh"]}}}`
	tests := map[string]struct {
		pod, want    string
		protocol     v1beta1.Protocol
		wantWarnings []string
	}{
		"grace period by default": {
			pod:  `{"metadata":{},"spec":{"containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"grace period of its own, other annotations": {
			pod: `{"metadata":{"annotations":{"a/b":"c"}},"spec":{"terminationGracePeriodSeconds":45,"containers":[{"name":"web"}]}}`,
			want: `{"metadata":{"annotations":{"a/b":"c","targetgate.dev/termination-protection":"30s"}},` +
				`"spec":{"terminationGracePeriodSeconds":75,"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"null everywhere": {
			pod: `{"metadata":{"annotations":null},"spec":{"terminationGracePeriodSeconds":null,` +
				`"containers":[{"name":"a","lifecycle":null},{"name":"b","lifecycle":{"preStop":null}}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,` +
				`"containers":[{"name":"a",` + slept30 + `},{"name":"b",` + slept30 + `}]}}`,
		},
		"negative grace period is 1 to the API server": {
			pod:  `{"metadata":{},"spec":{"terminationGracePeriodSeconds":-5,"containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":31,"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"no grace period at all": {
			pod:  `{"metadata":{},"spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":30,"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"postStart, stop signal and what comes next year stay": {
			pod: `{"metadata":{},"spec":{"containers":[{"name":"web","lifecycle":{"postStart":{"exec":{}},"stopSignal":"SIGUSR1","new":1}}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` +
				`"lifecycle":{"postStart":{"exec":{}},"stopSignal":"SIGUSR1","new":1,"preStop":{"sleep":{"seconds":30}}}}]}}`,
		},
		"a preStop of its own is left alone": {
			pod:  `{"metadata":{},"spec":{"containers":[{"name":"web",` + own + `}]}}`,
			want: `{"metadata":{},"spec":{"containers":[{"name":"web",` + own + `}]}}`,
		},
		"so is one without a handler, which the API server refuses": {
			pod:  `{"metadata":{},"spec":{"containers":[{"name":"web","lifecycle":{"preStop":{}}}]}}`,
			want: `{"metadata":{},"spec":{"containers":[{"name":"web","lifecycle":{"preStop":{}}}]}}`,
		},
		"the other container is protected": {
			pod:  `{"metadata":{},"spec":{"containers":[{"name":"web",` + own + `},{"name":"proxy"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + own + `},{"name":"proxy",` + slept30 + `}]}}`,
		},
		"a preStop of its own, and a grace period that is too short": {
			pod:  `{"metadata":{},"spec":{"terminationGracePeriodSeconds":20,"containers":[{"name":"web",` + own + `}]}}`,
			want: `{"metadata":{},"spec":{"terminationGracePeriodSeconds":20,"containers":[{"name":"web",` + own + `}]}}`,
			wantWarnings: []string{`spec.terminationGracePeriodSeconds is 20, but the load balancer may keep sending for 30 s: ` +
				`raise it, and make the preStop of container "web" wait that long`},
		},
		"a short preStop of its own beside a sidecar without one": {
			pod:  `{"metadata":{},"spec":{"terminationGracePeriodSeconds":20,"containers":[{"name":"web",` + own + `},{"name":"proxy"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":50,"containers":[{"name":"web",` + own + `},{"name":"proxy",` + slept30 + `}]}}`,
			wantWarnings: []string{`spec.terminationGracePeriodSeconds is 20, but the load balancer may keep sending for 30 s: ` +
				`raise it, and make the preStop of container "web" wait that long`},
		},
		"a short sleep of its own": {
			pod:          `{"metadata":{},"spec":{"containers":[{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":5}}}}]}}`,
			want:         `{"metadata":{},"spec":{"containers":[{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":5}}}}]}}`,
			wantWarnings: []string{`the preStop of container "web" sleeps 5 s, but the load balancer may keep sending for 30 s: lengthen or remove it`},
		},
		"a long sleep of its own": {
			pod:  `{"metadata":{},"spec":{"terminationGracePeriodSeconds":40,"containers":[{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":31}}}}]}}`,
			want: `{"metadata":{},"spec":{"terminationGracePeriodSeconds":40,"containers":[{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":31}}}}]}}`,
		},
		"failed probes restart a container as soon as before": {
			pod: `{"metadata":{},"spec":{"containers":[{"name":"web","livenessProbe":{"httpGet":{}},"startupProbe":{"terminationGracePeriodSeconds":7},"readinessProbe":{}},` +
				`{"name":"own",` + own + `,"livenessProbe":{}}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + slept30 + `,"livenessProbe":{"httpGet":{},` +
				`"terminationGracePeriodSeconds":30},"startupProbe":{"terminationGracePeriodSeconds":7},"readinessProbe":{}},{"name":"own",` + own +
				`,"livenessProbe":{"terminationGracePeriodSeconds":30}}]}}`,
		},
		"where no container gets a sleep, their probes have the pod's grace period as before": {
			pod:  `{"metadata":{},"spec":{"containers":[{"name":"own",` + own + `,"livenessProbe":{}}]}}`,
			want: `{"metadata":{},"spec":{"containers":[{"name":"own",` + own + `,"livenessProbe":{}}]}}`,
		},
		"of a container that came in between, too": {
			pod: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":30,"containers":[{"name":"web",` + slept30 + `},{"name":"mesh","startupProbe":{}}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":30,"containers":[{"name":"web",` + slept30 + `},{"name":"mesh",` + slept30 +
				`,"startupProbe":{"terminationGracePeriodSeconds":1}}]}}`,
		},
		"also one with its own preStop": {
			pod: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":75,"containers":[{"name":"web",` + slept30 + `},{"name":"mesh",` + own + `,"livenessProbe":{}}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":75,"containers":[{"name":"web",` + slept30 + `},{"name":"mesh",` + own +
				`,"livenessProbe":{"terminationGracePeriodSeconds":45}}]}}`,
		},
		"a probe's grace period must be positive": {
			pod: `{"metadata":{},"spec":{"terminationGracePeriodSeconds":0,"containers":[{"name":"web","livenessProbe":{}}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":30,"containers":[{"name":"web",` + slept30 +
				`,"livenessProbe":{"terminationGracePeriodSeconds":1}}]}}`,
		},
		"failed probes restart a native sidecar as soon as before": {
			pod: `{"metadata":{},"spec":{"initContainers":[{"name":"setup"},{"name":"mesh","restartPolicy":"Always","livenessProbe":{},"startupProbe":{` +
				`"terminationGracePeriodSeconds":7}}],"containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"initContainers":[{"name":"setup"},{"name":"mesh","restartPolicy":"Always",` +
				`"livenessProbe":{"terminationGracePeriodSeconds":30},"startupProbe":{"terminationGracePeriodSeconds":7}}],"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"init containers that end have no such probes": {
			pod: `{"metadata":{},"spec":{"initContainers":[{"name":"setup","livenessProbe":{}}],"containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"initContainers":[{"name":"setup","livenessProbe":{}}],` +
				`"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"on Spot, behind a Network Load Balancer": {
			pod: `{"metadata":{},"spec":{"nodeSelector":{"karpenter.sh/capacity-type":"spot"},"containers":[{"name":"web"}]}}`, protocol: "TCP",
			want: `{"metadata":{"annotations":{"targetgate.dev/termination-protection":"210s"}},"spec":{"nodeSelector":{"karpenter.sh/capacity-type":"spot"},` +
				`"terminationGracePeriodSeconds":240,"containers":[{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":210}}}}]}}`,
			wantWarnings: []string{`the pod sleeps 210 s before SIGTERM, but a Spot instance is gone 120 s after its notice, and a Network Load Balancer ` +
				`may send for 200 s: use On-Demand nodes, or shorten the sleep to 90 s (annotation targetgate.dev/termination-delay, or preStop)`},
		},
		"on Spot, behind an Application Load Balancer": {
			pod: `{"metadata":{},"spec":{"nodeSelector":{"eks.amazonaws.com/capacityType":"SPOT"},"containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"nodeSelector":{"eks.amazonaws.com/capacityType":"SPOT"},"terminationGracePeriodSeconds":60,` +
				`"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"no annotation fits any more": {
			pod:  `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 256<<10-40) + `"}},"spec":{"containers":[{"name":"web"}]}}`,
			want: `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 256<<10-40) + `"}},"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"one annotation fits": {
			pod: `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 256<<10-41) + `"}},"spec":{"containers":[{"name":"web"}]}}`,
			want: `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 256<<10-41) + `","targetgate.dev/termination-protection":"30s"}},` +
				`"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"init containers and native sidecars are left alone": {
			pod: `{"metadata":{},"spec":{"initContainers":[{"name":"setup"},{"name":"mesh","restartPolicy":"Always"}],"containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"initContainers":[{"name":"setup"},` +
				`{"name":"mesh","restartPolicy":"Always"}],"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"a native sidecar that drains, and a grace period that is too short": {
			pod: `{"metadata":{},"spec":{"terminationGracePeriodSeconds":20,"initContainers":[{"name":"setup",` + own + `},` +
				`{"name":"mesh","restartPolicy":"Always",` + own + `}],"containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":50,"initContainers":[{"name":"setup",` + own + `},` +
				`{"name":"mesh","restartPolicy":"Always",` + own + `}],"containers":[{"name":"web",` + slept30 + `}]}}`,
			wantWarnings: []string{`spec.terminationGracePeriodSeconds is 20, but the load balancer may keep sending for 30 s: ` +
				`raise it, and make the preStop of container "mesh" wait that long`},
		},
		"one that has time to, or sleeps, or has no preStop": {
			pod: `{"metadata":{},"spec":{"initContainers":[{"name":"a","restartPolicy":"Always",` + own + `},{"name":"b","restartPolicy":"Always"},` +
				`{"name":"c","restartPolicy":"Always","lifecycle":{"preStop":{"sleep":{"seconds":1}}}}],"containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"initContainers":[{"name":"a","restartPolicy":"Always",` + own + `},` +
				`{"name":"b","restartPolicy":"Always"},{"name":"c","restartPolicy":"Always","lifecycle":{"preStop":{"sleep":{"seconds":1}}}}],` +
				`"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"a Job's pod is a pod": {
			pod:  `{"metadata":{},"spec":{"restartPolicy":"Never","containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"restartPolicy":"Never","terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"NLB": {
			pod: `{"metadata":{},"spec":{"containers":[{"name":"web"}]}}`, protocol: "TCP",
			want: `{"metadata":{"annotations":{"targetgate.dev/termination-protection":"210s"}},"spec":{"terminationGracePeriodSeconds":240,` +
				`"containers":[{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":210}}}}]}}`,
		},
		"the annotation has its way, rounded up": {
			pod: `{"metadata":{"annotations":{"targetgate.dev/termination-delay":"44100ms"}},"spec":{"containers":[{"name":"web"}]}}`,
			want: `{"metadata":{"annotations":{"targetgate.dev/termination-delay":"44100ms","targetgate.dev/termination-protection":"45s"}},` +
				`"spec":{"terminationGracePeriodSeconds":75,"containers":[{"name":"web","lifecycle":{"preStop":{"sleep":{"seconds":45}}}}]}}`,
		},
		"container that came in between": {
			pod:  `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + slept30 + `},{"name":"mesh"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + slept30 + `},{"name":"mesh",` + slept30 + `}]}}`,
		},
		"came in between, before a delay of another length": {
			pod: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + slept30 + `},{"name":"mesh"}]}}`, protocol: "TCP",
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + slept30 + `},{"name":"mesh",` + slept30 + `}]}}`,
			wantWarnings: []string{`spec.terminationGracePeriodSeconds is 60, but the load balancer may keep sending for 210 s: ` +
				`raise it, and make the preStop of container "web" wait that long`},
		},
		"copied annotation, no sleep": {
			pod:  `{` + marked30 + `,"spec":{"containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
		"annotation that the grace period contradicts": {
			pod:  `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":29,"containers":[{"name":"web",` + slept30 + `},{"name":"mesh"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":59,"containers":[{"name":"web",` + slept30 + `},{"name":"mesh",` + slept30 + `}]}}`,
		},
		"annotation that is nonsense": {
			pod:  `{"metadata":{"annotations":{"targetgate.dev/termination-protection":"soon"}},"spec":{"containers":[{"name":"web"}]}}`,
			want: `{` + marked30 + `,"spec":{"terminationGracePeriodSeconds":60,"containers":[{"name":"web",` + slept30 + `}]}}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.protocol == "" {
				tc.protocol = "HTTP"
			}
			got, warnings := protected(t, usual, tc.pod, tc.protocol)
			webhooktest.AssertJSON(t, tc.want, got)
			if diff := cmp.Diff(tc.wantWarnings, warnings, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			again, _ := protected(t, usual, got, tc.protocol)
			webhooktest.AssertJSON(t, got, again)
		})
	}
}

func TestProtectTakesLongestDelayOfProtocols(t *testing.T) {
	const pod = `{"metadata":{},"spec":{"containers":[{"name":"web"}]}}`
	tests := map[string]struct {
		alb, nlb  time.Duration
		protocols []v1beta1.Protocol
		want      int64
	}{
		"HTTP":                      {30 * time.Second, 130 * time.Second, []v1beta1.Protocol{"HTTP"}, 30},
		"HTTPS":                     {30 * time.Second, 130 * time.Second, []v1beta1.Protocol{"HTTPS"}, 30},
		"TCP":                       {30 * time.Second, 130 * time.Second, []v1beta1.Protocol{"TCP"}, 130},
		"TLS":                       {30 * time.Second, 130 * time.Second, []v1beta1.Protocol{"TLS"}, 130},
		"UDP":                       {30 * time.Second, 130 * time.Second, []v1beta1.Protocol{"UDP"}, 130},
		"TCP_UDP":                   {30 * time.Second, 130 * time.Second, []v1beta1.Protocol{"TCP_UDP"}, 130},
		"QUIC":                      {30 * time.Second, 130 * time.Second, []v1beta1.Protocol{"QUIC"}, 130},
		"TCP_QUIC":                  {30 * time.Second, 130 * time.Second, []v1beta1.Protocol{"TCP_QUIC"}, 130},
		"not known":                 {30 * time.Second, 130 * time.Second, []v1beta1.Protocol{""}, 130},
		"not known, ALB is longer":  {140 * time.Second, 130 * time.Second, []v1beta1.Protocol{""}, 140},
		"both":                      {30 * time.Second, 130 * time.Second, []v1beta1.Protocol{"HTTP", "TCP", "HTTP"}, 130},
		"rounded up":                {1500 * time.Millisecond, 0, []v1beta1.Protocol{"HTTP"}, 2},
		"off for this type":         {0, 130 * time.Second, []v1beta1.Protocol{"HTTP"}, 0},
		"off for one of both types": {0, 130 * time.Second, []v1beta1.Protocol{"HTTP", "TCP"}, 130},
		"longest":                   {time.Hour, 0, []v1beta1.Protocol{"HTTP"}, 3600},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, warnings := protected(t, Termination{ALB: tc.alb, NLB: tc.nlb, ServerVersion: "v1.30.0"}, pod, tc.protocols...)
			var out corev1.Pod
			if err := json.Unmarshal([]byte(got), &out); err != nil {
				t.Fatal(err)
			}
			var slept int64
			if lifecycle := out.Spec.Containers[0].Lifecycle; lifecycle != nil {
				slept = lifecycle.PreStop.Sleep.Seconds
			}
			if slept != tc.want || len(warnings) > 0 {
				t.Errorf("sleeps %d s, want %d; warnings %q", slept, tc.want, warnings)
			}
			if grace := ptr.Deref(out.Spec.TerminationGracePeriodSeconds, 30); grace != 30+tc.want {
				t.Errorf("grace period %d s, want %d", grace, 30+tc.want)
			}
		})
	}
}

func TestProtectReadsAnnotation(t *testing.T) {
	tests := map[string]struct {
		want    int64
		warning string
	}{
		"45s": {want: 45}, "1h": {want: 3600}, "0": {}, "0s": {}, "-0s": {}, "1ns": {want: 1}, "1m30s": {want: 90},
		"1h0m0.1s":                {want: 30, warning: `is "1h0m0.1s": must be a duration such as 45s, at most 1h0m0s, or 0 for none; ignoring it and using 30s`},
		"-1s":                     {want: 30, warning: `is "-1s"`},
		"30":                      {want: 30, warning: `is "30"`},
		"":                        {want: 30, warning: `is ""`},
		"never":                   {want: 30, warning: `is "never"`},
		"9999999h":                {want: 30, warning: `is "9999999h"`},
		strings.Repeat("ж", 1000): {want: 30, warning: `is "` + strings.Repeat("ж", 31) + `…"`},
	}
	for value, tc := range tests {
		t.Run(cut(value), func(t *testing.T) {
			view := podView{Spec: &podSpecView{Containers: review.Bounded[[]containerView]{Value: []containerView{{Name: "web"}}}}}
			view.Metadata.Annotations.Value = map[string]string{delayAnnotation: value}
			p := newProtector(usual).protect(&view, []v1beta1.Protocol{"HTTP"})
			if p.sleep != tc.want {
				t.Errorf("sleeps %d s, want %d", p.sleep, tc.want)
			}
			got := strings.Join(p.warnings, "\n")
			if (got == "") != (tc.warning == "") || !strings.Contains(got, tc.warning) || utf8.RuneCountInString(got) > 256 {
				t.Errorf("warnings %q, want one that says %q in 256 characters", got, tc.warning)
			}
		})
	}
}

// The annotation works where the flags are 0, too.
func TestProtectByAnnotationAlone(t *testing.T) {
	view := podView{Spec: &podSpecView{Containers: review.Bounded[[]containerView]{Value: []containerView{{Name: "web"}}}}}
	view.Metadata.Annotations.Value = map[string]string{delayAnnotation: "5s"}
	if p := newProtector(Termination{ServerVersion: "v1.30.0"}).protect(&view, []v1beta1.Protocol{"HTTP"}); p.sleep != 5 {
		t.Errorf("sleeps %d s, want 5", p.sleep)
	}
}

// Keys of annotations are told apart by case.
func TestProtectReadsNoAnnotationOfAnotherSpelling(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}}}}
	pod.Annotations = map[string]string{delayAnnotation: "5s", strings.ToUpper(delayAnnotation[:1]) + delayAnnotation[1:]: "7s", "z": ""}
	got, _ := protected(t, usual, webhooktest.Encode(t, pod), "HTTP")
	if seconds := decode(t, got).Spec.Containers[0].Lifecycle.PreStop.Sleep.Seconds; seconds != 5 {
		t.Errorf("sleeps %d s, want 5", seconds)
	}
	delete(pod.Annotations, delayAnnotation)
	got, _ = protected(t, usual, webhooktest.Encode(t, pod), "HTTP")
	if seconds := decode(t, got).Spec.Containers[0].Lifecycle.PreStop.Sleep.Seconds; seconds != 30 {
		t.Errorf("sleeps %d s without the annotation, want 30", seconds)
	}
}

func TestProtectNeverShortensGracePeriod(t *testing.T) {
	for _, grace := range []int64{0, 1, 30, 1 << 32, longestGrace - 31, longestGrace - 29, longestGrace, longestGrace + 1, math.MaxInt64 - 1, math.MaxInt64} {
		t.Run(fmt.Sprint(grace), func(t *testing.T) {
			view := podView{Spec: &podSpecView{TerminationGracePeriodSeconds: &grace, Containers: review.Bounded[[]containerView]{Value: []containerView{{Name: "web"}}}}}
			p := newProtector(usual).protect(&view, []v1beta1.Protocol{"HTTP"})
			want := grace + 30
			if grace > longestGrace-30 {
				want = max(grace, longestGrace)
			}
			if p.grace != want || p.sleep > p.grace {
				t.Errorf("grace period %d s and sleep %d s, want grace period %d s", p.grace, p.sleep, want)
			}
		})
	}
}

func TestSleepSupported(t *testing.T) {
	tests := map[string]bool{
		"v1.36.3": true, "v1.30.0": true, "v1.30.14-eks-931bdca": true, "v1.30.1+k3s1": true, "v1.30+": true, "v2.0.0": true,
		"v1.31.0-alpha.1": true, "v1.30.5-gke.1014001": true,
		"v1.29.15": false, "v1.29.15-eks-931bdca": false, "v1.9.0": false, "": false, "unknown": false,
	}
	for server, want := range tests {
		if got := (Termination{ServerVersion: server}).sleepSupported(); got != want {
			t.Errorf("%q: got %v, want %v", server, got, want)
		}
	}
}

// An API server that does not know preStop.sleep would refuse the pod.
func TestProtectLeavesPodsOfOldAPIServersAlone(t *testing.T) {
	const pod = `{"metadata":{},"spec":{"containers":[{"name":"web"}]}}`
	how := usual
	how.ServerVersion = "v1.29.15-eks-931bdca"
	got, warnings := protected(t, how, pod, "HTTP")
	webhooktest.AssertJSON(t, pod, got)
	want := []string{`container "web" gets no preStop sleep: it needs Kubernetes 1.30, and the API server is "v1.29.15-eks-931bdca"`}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// Whatever pods look like and whatever other webhooks do before and in between, the second call of ours changes only
// what came in between, and the grace period is raised once.
func TestProtectTwiceIsProtectOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		pod := randomPod(random)
		before := webhooktest.Encode(t, pod)
		once, _ := protected(t, usual, before, "HTTP")
		again, _ := protected(t, usual, once, "HTTP")
		webhooktest.AssertJSON(t, once, again)

		later := decode(t, once)
		later.Spec.Containers = append(later.Spec.Containers, randomContainer(random, "mesh"))
		later.Labels = map[string]string{"changed": "too"}
		got, _ := protected(t, usual, webhooktest.Encode(t, later), "HTTP")
		assertProtected(t, pod, decode(t, got))
		assertProbesKeepTheGracePeriod(t, pod, later, decode(t, got))
		final, _ := protected(t, usual, got, "HTTP")
		webhooktest.AssertJSON(t, got, final)
	}
}

// assertProtected fails unless all containers have a preStop, and the grace period was raised by one sleep or is as before.
func assertProtected(t *testing.T, before, after *corev1.Pod) {
	t.Helper()
	for _, c := range after.Spec.Containers {
		if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
			t.Fatalf("container %s of %+v has no preStop", c.Name, after.Spec)
		}
	}
	had, has := ptr.Deref(before.Spec.TerminationGracePeriodSeconds, 30), ptr.Deref(after.Spec.TerminationGracePeriodSeconds, 30)
	if has != had && has != had+30 {
		t.Fatalf("the grace period went from %d s to %d s: %+v", had, has, after.Spec)
	}
}

// assertProbesKeepTheGracePeriod fails unless liveness and startup probes without a grace period of their own have the pod's original one,
// if that was raised. Later is the pod when the last call came.
func assertProbesKeepTheGracePeriod(t *testing.T, before, later, after *corev1.Pod) {
	t.Helper()
	original := ptr.Deref(before.Spec.TerminationGracePeriodSeconds, 30)
	raised := ptr.Deref(after.Spec.TerminationGracePeriodSeconds, 30) > original
	all := func(pod *corev1.Pod) []corev1.Container {
		return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	}
	for i, c := range all(after) {
		had := all(later)[i]
		if i < len(all(before)) {
			had = all(before)[i]
		}
		got := []*int64{ownGrace(c.LivenessProbe), ownGrace(c.StartupProbe), ownGrace(c.ReadinessProbe)}
		want := []*int64{ownGrace(had.LivenessProbe), ownGrace(had.StartupProbe), nil}
		for at, probe := range []*corev1.Probe{had.LivenessProbe, had.StartupProbe} {
			if raised && probe != nil && want[at] == nil {
				want[at] = &original
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("grace periods of liveness, startup and readiness probe of container %s (-want +got):\n%s", c.Name, diff)
		}
	}
}

func ownGrace(probe *corev1.Probe) *int64 {
	if probe == nil {
		return nil
	}
	return probe.TerminationGracePeriodSeconds
}

func randomPod(random *rand.Rand) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	if random.IntN(2) == 0 {
		pod.Annotations = map[string]string{"other": "one"}
	}
	if random.IntN(2) == 0 {
		pod.Spec.TerminationGracePeriodSeconds = ptr.To(30 + random.Int64N(100))
	}
	if random.IntN(2) == 0 {
		pod.Spec.InitContainers = []corev1.Container{randomContainer(random, "sidecar")}
		pod.Spec.InitContainers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	}
	for i := range 1 + random.IntN(3) {
		pod.Spec.Containers = append(pod.Spec.Containers, randomContainer(random, fmt.Sprint("c", i)))
	}
	return pod
}

func randomContainer(random *rand.Rand, name string) corev1.Container {
	hook := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}
	probe := func() *corev1.Probe {
		return []*corev1.Probe{nil, {}, {TerminationGracePeriodSeconds: ptr.To[int64](7)}}[random.IntN(3)]
	}
	return corev1.Container{
		Name: name, LivenessProbe: probe(), StartupProbe: probe(), ReadinessProbe: []*corev1.Probe{nil, {}}[random.IntN(2)],
		Lifecycle: []*corev1.Lifecycle{
			nil, nil, {}, {PostStart: hook}, {PreStop: hook}, {PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}},
		}[random.IntN(6)],
	}
}

func decode(t *testing.T, raw string) *corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	if err := json.Unmarshal([]byte(raw), &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

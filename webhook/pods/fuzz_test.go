// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/webhook/webhooktest"
)

// answerTo is the response to a review, nil when the call fails.
func answerTo(t *testing.T, handler *handler, body []byte) *admissionv1.AdmissionResponse {
	t.Helper()
	answer, err := handler.review(t.Context(), body)
	if err != nil {
		return nil
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		t.Fatalf("the answer %q is no review: %v", answer, err)
	}
	if review.Response == nil || !review.Response.Allowed || review.Kind != "AdmissionReview" {
		t.Fatalf("the answer %q is a refusal", answer)
	}
	return review.Response
}

// Whatever comes: no panic, no refusal, and a patch that API servers can apply and that changes nothing the second time.
func FuzzPodReview(f *testing.F) {
	for _, pod := range []string{
		`{"metadata":{"labels":{"app":"web"}},"spec":{"readinessGates":[{"conditionType":"own"}],"containers":[{"name":"web"}]}}`,
		`{"metadata":{"labels":{"app":"web"},"annotations":{"a":"b"}},"spec":{"readinessGates":null,"terminationGracePeriodSeconds":-1,` +
			`"containers":[{"lifecycle":{"preStop":null,"postStart":{}}},null]}}`,
		`{"metadata":{"labels":{"app":"web"},"annotations":{"targetgate.dev/termination-delay":"1h","targetgate.dev/termination-protection":"30s"}},` +
			`"spec":{"terminationGracePeriodSeconds":9223372036854775807,"containers":[{"lifecycle":{"preStop":{"sleep":{"seconds":30}}}},{}]}}`,
		`{"metadata":{"labels":{"app":"web"},"annotations":{"targetgate.dev/keep-until-replaced":"no","targetgate.dev/termination-delay":"2m"}},` +
			`"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[` +
			`{"key":"karpenter.sh/capacity-type","operator":"In","values":["spot"]},null]},null]}}},"containers":[{"livenessProbe":{},"startupProbe":null}]}}`,
		`{"metadata":null,"spec":{"readinessGates":[null,{"conditionType":"target-health.alb.ingress.k8s.aws/a"}]}}`,
		`{"Metadata":{"LABELS":{"app":"web"}},"SPEC":{}}`,
		`[]`, `null`, `{"metadata":{"labels":{"app":"web"}}}`,
	} {
		f.Add([]byte(reviewOf(pod)))
	}
	f.Add([]byte(`{"request":null}`))
	f.Add([]byte(`{"request":{"object":"` + "\xff" + `"}}`))
	handler := newHandler(webhooktest.NewReader(f, oldService("web", webLabels), webhooktest.NewBinding("web")), clock.RealClock{})
	f.Fuzz(func(t *testing.T, body []byte) {
		answerTo(t, handler, body)
		var review struct {
			Request struct{ Object corev1.Pod }
		}
		if json.Unmarshal(body, &review) != nil {
			return
		}
		pod := strings.Replace(webhooktest.Encode(t, review.Request.Object), `"spec":{`, `"spec":{"newField":{"of":"next year"},`, 1)
		response := answerTo(t, handler, []byte(reviewOf(pod)))
		if response == nil {
			t.Fatalf("the call fails for %s, which API servers may send", pod)
		}
		once := webhooktest.Patched(t, pod, string(response.Patch))
		if !strings.Contains(once, `"newField":{"of":"next year"}`) {
			t.Errorf("a field that we do not know is lost: %s", once)
		}
		if again := answerTo(t, handler, []byte(reviewOf(once))); again == nil || again.Patch != nil {
			t.Errorf("mutating %s again gives %+v, want no patch", once, again)
		}
	})
}

// Whatever annotations and grace period say: a pod that the API server would have taken it still takes, and nothing is
// shortened.
func FuzzProtect(f *testing.F) {
	f.Add("45s", "30s", int64(60), int64(30))
	f.Add("0", "", int64(30), int64(0))
	f.Add("9999999h", "-1s", int64(math.MaxInt64), int64(1))
	f.Add("\xff", "1h", int64(-1), int64(3600))
	f.Add("1ns", "1ns", int64(0), int64(1))
	f.Add("1", "1s", int64(-42), int64(1))
	f.Fuzz(func(t *testing.T, delay, before string, grace, slept int64) {
		pod := &corev1.Pod{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: &grace, Containers: []corev1.Container{
			{Name: "web"},
			{Name: "own", Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: slept}}}},
		}}}
		pod.Annotations = map[string]string{delayAnnotation: delay, protectionAnnotation: before}
		raw := webhooktest.Encode(t, pod)
		once, _ := protected(t, usual, raw, "HTTP")
		again, _ := protected(t, usual, once, "HTTP")
		webhooktest.AssertJSON(t, once, again)
		after := decode(t, once)
		had, has := asServed(grace), asServed(ptr.Deref(after.Spec.TerminationGracePeriodSeconds, 0))
		if has < had {
			t.Errorf("the grace period went from %d s to %d s", had, has)
		}
		lifecycle := after.Spec.Containers[0].Lifecycle
		if lifecycle == nil {
			if d, err := time.ParseDuration(delay); err != nil || d != 0 {
				t.Errorf("delay %q: no sleep", delay)
			}
			return
		}
		if s := lifecycle.PreStop.Sleep.Seconds; s < 1 || s > 3600 || s > has {
			t.Errorf("delay %q: the sleep is %d s, the grace period %d s", delay, s, has)
		}
		if s := after.Spec.Containers[1].Lifecycle.PreStop.Sleep.Seconds; s != slept {
			t.Errorf("own sleep went from %d s to %d s", slept, s)
		}
	})
}

// asServed is a grace period as API servers read it.
func asServed(grace int64) int64 {
	if grace < 0 {
		return 1
	}
	return grace
}

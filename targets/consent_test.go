// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/consent"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/targetgroup"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const wantTag = "the target group's owner can give it with the tag targetgate.dev/bind=prod/shop/web"

// asking has the bed's cluster ask for consent.
func asking(b *bed, mode consent.Mode) {
	b.Consent = consent.Policy{Mode: mode, Cluster: "prod"}
	b.calls.Consent = b.Consent
}

func tag(b *bed, value string) {
	b.aws.SetTags(testARN, map[string]string{"team": "shop", consent.TagKey: value})
}

func untag(b *bed) { b.aws.SetTags(testARN, nil) }

// inConsentBed has pods web-0 and web-1, both wanted.
func inConsentBed(t *testing.T, test func(b *bed)) {
	t.Helper()
	pods := []*corev1.Pod{newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2")}
	inBed(t, test, pods[0], pods[1], newSlice("web", pods...))
}

var bothRegistered = map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateInitial, "10.0.0.2:8080": elbv2.StateInitial}

func wantTargets(b *bed, want map[string]elbv2.State) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.targets()); diff != "" {
		b.t.Errorf("targets (-want +got):\n%s", diff)
	}
}

func wantCondition(b *bed, kind, status, reason, message string) {
	b.t.Helper()
	c := b.bindingCondition(kind)
	if string(c.Status) != status || c.Reason != reason || !strings.Contains(c.Message, message) {
		b.t.Errorf("condition %s is %s %s: %s\nwant %s %s: ...%s...", kind, c.Status, c.Reason, c.Message, status, reason, message)
	}
}

func TestConsentIsAskedForByFlagOnly(t *testing.T) {
	inConsentBed(t, func(b *bed) {
		b.settle()
		b.after(testDrift)
		wantTargets(b, bothRegistered)
		if calls := b.aws.Calls("DescribeTags"); len(calls) > 0 {
			t.Errorf("tags are read: %v", calls)
		}
	})
}

func TestConsentAllowsTargets(t *testing.T) {
	inConsentBed(t, func(b *bed) {
		asking(b, consent.Require)
		tag(b, "test/shop prod/shop")
		b.settle()
		wantTargets(b, bothRegistered)
		b.after(targetgroup.Brief)
		wantCondition(b, v1beta1.ConditionReady, "True", v1beta1.ReasonReconciled, "")
		wantCondition(b, v1beta1.ConditionDegraded, "False", v1beta1.ReasonHealthy, "")
	})
}

// A binding that targetgate has made of an Ingress needs no tag of its owner: the group was made for its namespace.
func TestGroupOfAnIngressNeedsNoTag(t *testing.T) {
	inConsentBed(t, func(b *bed) {
		asking(b, consent.Require)
		b.aws.SetTags(testARN, map[string]string{"elbv2.k8s.aws/cluster": "prod", "ingress.k8s.aws/resource": "shop/edge-web:80"})
		b.settle()
		wantTargets(b, bothRegistered)
	})
}

func TestMissingConsentOnlyWarns(t *testing.T) {
	inConsentBed(t, func(b *bed) {
		asking(b, consent.Warn)
		b.settle()
		wantTargets(b, bothRegistered)
		b.after(targetgroup.Brief)
		wantCondition(b, v1beta1.ConditionReady, "True", v1beta1.ReasonReconciled, "")
		wantCondition(b, v1beta1.ConditionDegraded, "True", v1beta1.ReasonConsentMissing, wantTag)
		if n := b.told(v1beta1.ReasonConsentMissing); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
	})
}

// Without consent nothing comes in and gates open in time, and the tag is looked for every half a minute.
func TestMissingConsentKeepsTargetsOut(t *testing.T) {
	inConsentBed(t, func(b *bed) {
		asking(b, consent.Require)
		tag(b, "prod/till")
		foreign := elbv2.Target{ID: "10.9.9.9", Port: 8080}
		b.aws.SetHealth(testARN, foreign, elbv2.Health{State: elbv2.StateHealthy})
		b.settle()
		b.after(targetgroup.Brief)
		for _, kind := range []string{v1beta1.ConditionReady, v1beta1.ConditionDegraded} {
			status := map[string]string{v1beta1.ConditionReady: "False", v1beta1.ConditionDegraded: "True"}[kind]
			wantCondition(b, kind, status, v1beta1.ReasonConsentMissing, "its owner can add prod/shop/web to it")
		}
		if got := b.condition("web-0"); got != "False RegistrationFailed" {
			t.Errorf("condition %q", got)
		}
		b.after(testPolicy.ReplacementTimeout)
		b.after(time.Second)
		if got := b.condition("web-0"); got != "True "+readiness.ReasonConsentMissing {
			t.Errorf("condition %q, want an open gate", got)
		}
		b.after(testDrift) // whose the foreign target is nobody knows
		wantTargets(b, map[string]elbv2.State{foreign.String(): elbv2.StateHealthy})
		tag(b, "prod/till prod/shop/web")
		b.after(targetgroup.RecheckPause)
		if b.targets()["10.0.0.1:8080"] != elbv2.StateInitial {
			t.Errorf("targets %v after the consent", b.targets())
		}
	})
}

func TestWithdrawnConsentEmptiesNothing(t *testing.T) {
	inConsentBed(t, func(b *bed) {
		asking(b, consent.Require)
		tag(b, "prod/+")
		b.settle()
		for target := range b.aws.Targets(testARN) {
			b.aws.SetHealth(testARN, target, elbv2.Health{State: elbv2.StateHealthy})
		}
		b.after(time.Minute)
		untag(b)
		b.after(testDrift)
		wantCondition(b, v1beta1.ConditionDegraded, "True", v1beta1.ReasonConsentMissing, wantTag)
		b.after(time.Hour)
		wantTargets(b, map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateHealthy, "10.0.0.2:8080": elbv2.StateHealthy})
		// Neither a Service that selects others,
		service := newService()
		service.Spec.Selector = map[string]string{"app": "other"}
		b.must(b.cluster.Update(t.Context(), service))
		b.must(b.cluster.Delete(t.Context(), newSlice("web")))
		b.settle()
		b.after(time.Hour)
		wantTargets(b, map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateHealthy, "10.0.0.2:8080": elbv2.StateHealthy})
		// nor anything but the end of its pod takes a target out.
		b.must(b.cluster.Delete(t.Context(), newPod("web-0", "10.0.0.1")))
		b.settle()
		wantTargets(b, map[string]elbv2.State{"10.0.0.1:8080": elbv2.StateDraining, "10.0.0.2:8080": elbv2.StateHealthy})
	})
}

// A leaving pod waits for no answer about tags.
func TestPodLeavesWhateverTheTagSays(t *testing.T) {
	inConsentBed(t, func(b *bed) {
		asking(b, consent.Require)
		tag(b, "prod/shop")
		b.settle()
		untag(b)
		failOn(b, "DescribeTags")
		pod := newPod("web-0", "10.0.0.1")
		b.must(b.cluster.Get(t.Context(), podKey("web-0"), pod))
		pod.Finalizers = []string{"example.com/held"}
		b.must(b.cluster.Update(t.Context(), pod))
		b.must(b.cluster.Delete(t.Context(), pod))
		b.settle()
		if b.targets()["10.0.0.1:8080"] != elbv2.StateDraining {
			t.Errorf("targets %v", b.targets())
		}
	})
}

func TestUnreadableTags(t *testing.T) {
	deny := func(b *bed) {
		b.aws.Before = func(_ context.Context, call fakeelbv2.Call) error {
			if call.Operation == "DescribeTags" {
				return &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized to perform: elasticloadbalancing:DescribeTags"}
			}
			return nil
		}
	}
	t.Run("before the first answer nothing comes in", func(t *testing.T) {
		inConsentBed(t, func(b *bed) {
			asking(b, consent.Require)
			tag(b, "prod/shop")
			deny(b)
			b.settle()
			b.after(targetgroup.Brief)
			wantTargets(b, map[string]elbv2.State{})
			wantCondition(b, v1beta1.ConditionReady, "False", v1beta1.ReasonConsentUnknown, "elasticloadbalancing:DescribeTags")
			if got := b.condition("web-0"); got != "False RegistrationFailed" {
				t.Errorf("condition %q", got)
			}
			b.aws.Before = nil
			b.after(retry.MaxBackoff)
			wantTargets(b, bothRegistered)
		})
	})
	t.Run("after it, it holds", func(t *testing.T) {
		inConsentBed(t, func(b *bed) {
			asking(b, consent.Require)
			tag(b, "prod/shop")
			b.settle()
			deny(b)
			b.after(testDrift)
			b.must(b.cluster.Delete(t.Context(), newSlice("web")))
			pods := []*corev1.Pod{newPod("web-0", "10.0.0.1"), newPod("web-1", "10.0.0.2"), newPod("web-2", "10.0.0.3")}
			for _, o := range []client.Object{pods[2], newSlice("web", pods...)} {
				b.must(b.cluster.Create(t.Context(), o))
			}
			b.settle()
			if b.targets()["10.0.0.3:8080"] != elbv2.StateInitial {
				t.Errorf("targets %v", b.targets())
			}
			b.after(targetgroup.Brief)
			wantCondition(b, v1beta1.ConditionDegraded, "True", v1beta1.ReasonAccessDenied, "DescribeTags")
		})
	})
	t.Run("only a warning waits for it", func(t *testing.T) {
		inConsentBed(t, func(b *bed) {
			asking(b, consent.Warn)
			deny(b)
			b.settle()
			wantTargets(b, bothRegistered)
			b.after(targetgroup.Brief)
			wantCondition(b, v1beta1.ConditionDegraded, "True", v1beta1.ReasonAccessDenied, "DescribeTags")
		})
	})
}

// A binding that nobody has consented to takes nobody else's targets with it.
func TestDeletedBindingTakesOnlyItsOwnWithoutConsent(t *testing.T) {
	for name, consents := range map[string]bool{"consent": true, "none": false} {
		t.Run(name, func(t *testing.T) {
			inConsentBed(t, func(b *bed) {
				asking(b, consent.Require)
				if consents {
					tag(b, "prod/shop")
				}
				b.must(b.cluster.Delete(t.Context(), newBinding()))
				binding := newBinding()
				binding.Finalizers = []string{v1beta1.Finalizer}
				b.must(b.cluster.Create(t.Context(), binding))
				own, foreign := elbv2.Target{ID: "10.0.0.1", Port: 8080}, elbv2.Target{ID: "10.9.9.9", Port: 8080}
				for _, target := range []elbv2.Target{own, foreign} {
					b.aws.SetHealth(testARN, target, elbv2.Health{State: elbv2.StateHealthy})
				}
				b.must(b.cluster.Delete(t.Context(), binding))
				b.settle()
				b.after(time.Minute)
				want := map[string]elbv2.State{own.String(): elbv2.StateDraining, foreign.String(): elbv2.StateHealthy}
				wantTargets(b, want) // it was there before the binding
				if err := b.cluster.Get(t.Context(), webKey, binding); client.IgnoreNotFound(err) != nil || err == nil {
					t.Errorf("the binding is still there: %v", err)
				}
			})
		})
	}
}

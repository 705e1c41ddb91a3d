// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Each way in which a gate could stick, and its test:
//
//	the binding is being deleted, and AWS fails     TestGateThatWaitsInVainOpens
//	the binding is gone, or never was               TestGateThatWaitsInVainOpens
//	the binding registers nodes                     TestGateThatWaitsInVainOpens
//	the binding was never in force                  TestGateThatWaitsInVainOpens
//	the Service selects other pods                  TestGateThatWaitsInVainOpens
//	the pod has other labels                        TestGateThatWaitsInVainOpens
//	no load balancer has the target group           TestGateThatWaitsInVainOpens; waits, if users say so: TestGatesFollowFlags
//	the Service or its port is gone                 TestGatesFollowFlags
//	the target is never healthy                     waits: TestHealthCheckThatComesLateHoldsTheGate; --readiness-timeout: TestGatesFollowFlags
//	the target is refused, or one too many          waits, and says why: refused_test.go
//	AWS cannot be asked, for one group, or for all  TestGateOfUnreadableGroupWaits; outage_test.go
//	AWS leaves targets out of its answers           TestGateOfUnreadableGroupWaits; outage_test.go
//	targetgate ends, and comes back                 TestGateStaysClosedWithoutTargetgate, crash_test.go
//	the pod is not in the cache yet                 package targets, TestRegistrarKeepsTargetOfPodThatCacheDoesNotShow
//	the pod has no gate, as it came too early       TestPodsWithoutGateAreToldOfUntilTheyAreReplaced
//
// gates_closed_test.go has the list of the ways in which one could open by mistake.

func TestGateThatWaitsInVainOpens(t *testing.T) {
	withoutAdmission(t, "rival", "untyped")
	sideBySide(t, map[string]func(*testing.T){
		"binding is being deleted, and AWS fails": func(t *testing.T) {
			app := newSick("undeletable")
			app.ExplicitGate = true
			pod := deploySick(t, app)
			heal := bed.AWS.Inject(wire.Fault{Operation: "DeregisterTargets", TargetGroup: app.TargetGroup, Code: "InternalFailure"})
			defer heal()
			must(t, bed.Client.Delete(t.Context(), getBinding(t, app)))
			awaitOpened(t, app, pod.Name, "TargetGroupBindingDeleted", "Target Group Binding is deleted")
			must(t, bed.Scale(t.Context(), app, 2)) // one more that is never healthy
			awaitRolled(t, app)
			eventually(t, "the status to say why it is still there", func() error { return wantReason(t, app, v1beta1.ReasonAWSError) })
			heal()
			eventually(t, "the binding to be gone", func() error { return wantNoBinding(t, app) })
			must(t, wantTargets(app))
		},
		"binding is gone": func(t *testing.T) {
			app := newSick("unbound-late")
			app.ExplicitGate = true
			deploySick(t, app)
			deleteBinding(t, app)
			must(t, bed.Scale(t.Context(), app, 2))
			awaitRolled(t, app)
			for _, pod := range pods(t, app) {
				awaitOpened(t, app, pod.Name, "TargetGroupBindingDeleted", "Target Group Binding is deleted")
			}
		},
		"binding never was": func(t *testing.T) {
			app := newApp("never-bound")
			app.Replicas, app.Gated, app.PreStopSeconds = 1, false, 0
			never := readiness.GateFor("never")
			app.Template = func(template *corev1.PodTemplateSpec) {
				template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: never}}
			}
			deploy(t, app)
			awaitRolled(t, app)
			must(t, wantGate(t, &pods(t, app)[0], never, open("TargetGroupBindingDeleted", "Target Group Binding is deleted")))
		},
		"binding registers nodes": func(t *testing.T) {
			app := newInstanceApp("nodes-only")
			app.Replicas, app.ExplicitGate, app.PreStopSeconds = 1, true, 0
			deploy(t, app)
			awaitRolled(t, app)
			awaitOpened(t, app, pods(t, app)[0].Name, "TargetGroupBindingNotManaged", "spec.targetType is instance: nodes are registered, not pods")
		},
		"binding has another one's group": func(t *testing.T) {
			app, rival := newSick("rivalled"), newSick("rival")
			deploySick(t, app)
			rival.Change = func(b *v1beta1.TargetGroupBinding) {
				b.Spec.TargetGroupARN, b.Spec.TargetType = app.TargetGroup, ptr.To(v1beta1.TargetTypeIP)
			}
			deploy(t, rival)
			awaitRolled(t, rival)
			awaitOpened(t, rival, pods(t, rival)[0].Name, "TargetGroupBindingNotManaged",
				"spec.targetGroupARN: TargetGroupBinding rivalled/rivalled has this target group already")
			must(t, wantReason(t, rival, v1beta1.ReasonNotSupported))
		},
		"binding has no type": func(t *testing.T) {
			app := newSick("untyped")
			app.ExplicitGate = true
			deploy(t, app)
			awaitRolled(t, app)
			awaitOpened(t, app, pods(t, app)[0].Name, "TargetGroupBindingNotManaged", "spec.targetType is not set: was the binding created while")
		},
		"Service selects other pods": func(t *testing.T) {
			app := newSick("deselected")
			pod := deploySick(t, app)
			changeService(t, app, func(s *corev1.Service) { s.Spec.Selector["app"] = "other" })
			awaitOpened(t, app, pod.Name, "ServiceDoesNotSelectPod", `Service "deselected" does not select the pod`)
		},
		"pod has other labels": func(t *testing.T) {
			app := newSick("relabelled")
			pod := deploySick(t, app)
			change(t, pod.DeepCopy(), func(p *corev1.Pod) { p.Labels["app"] = "other" })
			awaitOpened(t, app, pod.Name, "ServiceDoesNotSelectPod", `Service "relabelled" does not select the pod`)
			for _, other := range newPods(t, app, uids([]corev1.Pod{*pod})) { // in its place, and selected
				must(t, wantGate(t, &other, app.Gate(), closed("Target.ResponseCodeMismatch", sickWords)))
			}
		},
		"no load balancer has the group": func(t *testing.T) {
			app := newApp("unattached")
			app.Replicas = 0
			deploy(t, app)
			detach(t, app)
			must(t, bed.Scale(t.Context(), app, 1))
			awaitRolled(t, app)
			awaitOpened(t, app, pods(t, app)[0].Name, "TargetGroupNotAttached",
				"The target group is attached to no load balancer, so no health check runs")
		},
	})
}

// Times are targetgate's own and not scaled; that of --readiness-timeout is longer than all but its own test take.
func TestGatesFollowFlags(t *testing.T) {
	withFlags(t, "--replacement-timeout=5s", "--unattached-target-group=wait", "--readiness-timeout=30s", "--readiness-two-way")
	sideBySide(t, map[string]func(*testing.T){
		"Service is gone": func(t *testing.T) {
			app := newSick("serviceless")
			pod := deploySick(t, app)
			takeAway["service"](t, app)
			awaitOpened(t, app, pod.Name, "BackendNotFound", `Service "serviceless" does not exist`)
		},
		"Service port is gone": func(t *testing.T) {
			app := newSick("portless")
			pod := deploySick(t, app)
			takeAway["port"](t, app)
			awaitOpened(t, app, pod.Name, "BackendNotFound", `Service "portless" has no port "80"`)
		},
		"target is not healthy in time": func(t *testing.T) {
			app := newSick("impatient")
			pod := deploySick(t, app)
			awaitGate(t, app, pod.Name, open("ReadinessTimeout",
				"Not healthy within --readiness-timeout=30s: Target.ResponseCodeMismatch "+sickWords))
			call, err := callFor(app, "RegisterTargets", pod.Status.PodIP, time.Time{})
			must(t, err)
			if waited := time.Since(call.Answered); waited < 30*time.Second {
				t.Errorf("the gate was opened after %s", waited)
			}
			eventually(t, "the event", func() error {
				return wantNote(t, app, pod.Name, corev1.EventTypeWarning, "ReadinessTimeout",
					fmt.Sprintf("Readiness gate %s is open although target %s:8080 is not healthy: ", app.Gate(), pod.Status.PodIP))
			})
			awaitRolled(t, app)
			throughout(t, 2*time.Second, "the gate was closed again", func() error {
				return wantGate(t, pod, app.Gate(), open("ReadinessTimeout", ""))
			})
		},
		"no load balancer has the group, for a while": func(t *testing.T) {
			const words = "Target group is not configured to receive traffic from the load balancer"
			app := newApp("attached-late")
			app.Replicas = 0
			deploy(t, app)
			attach := detach(t, app)
			must(t, bed.Scale(t.Context(), app, 1))
			pod := awaitPod(t, app)
			awaitGate(t, app, pod.Name, closed("Target.NotInUse", words+" (since "))
			eventually(t, "the event", func() error {
				return wantNote(t, app, pod.Name, corev1.EventTypeWarning, "ReadinessGateWaiting", "Target.NotInUse: "+words)
			})
			must(t, wantGate(t, pod, app.Gate(), closed("Target.NotInUse", words)))
			attach()
			awaitHealthyGate(t, app, pod.Name)
		},
		"gates are closed again": gatesAreClosedAgain,
	})
}

// Half of the pods may be NotReady for the load balancer's sake, and no more.
func gatesAreClosedAgain(t *testing.T) {
	const words = "Health checks failed with these codes: [500]"
	app := newApp("two-way")
	app.Replicas = 4
	deploy(t, app)
	awaitRolled(t, app)
	list := pods(t, app)
	sicken := func(pod corev1.Pod, status int) {
		handle, ok := bed.Kubelet.App(app.Name, pod.Name)
		if !ok {
			t.Fatalf("pod %s has not started", pod.Name)
		}
		handle.SetHealth(status)
	}
	for _, pod := range list[:2] {
		sicken(pod, 500)
	}
	for _, pod := range list[:2] {
		awaitGate(t, app, pod.Name, closed("Target.ResponseCodeMismatch", words))
		eventually(t, "the event", func() error {
			return wantNote(t, app, pod.Name, corev1.EventTypeWarning, "ReadinessGateClosed", "is closed: Target.ResponseCodeMismatch: "+words)
		})
	}
	sicken(list[2], 500)
	eventually(t, "three targets to be known as unhealthy", func() error {
		if n := getBinding(t, app).Status.Targets; n == nil || n.Unhealthy != 3 {
			return fmt.Errorf("targets %+v", n)
		}
		return nil
	})
	throughout(t, 2*time.Second, "too many gates were closed", func() error {
		for _, pod := range list[2:] {
			if err := wantGate(t, &pod, app.Gate(), open("", "")); err != nil {
				return err
			}
		}
		return nil
	})
	for _, pod := range list {
		sicken(pod, 200)
	}
	for _, pod := range list {
		awaitHealthyGate(t, app, pod.Name)
	}
	awaitRolled(t, app)
}

// One group's trouble is not another's, and what is not known is not healthy.
func TestGateOfUnreadableGroupWaits(t *testing.T) {
	cannotRead := wire.Fault{Operation: "DescribeTargetHealth", Code: "InternalFailure", Message: "oops"}
	sideBySide(t, map[string]func(*testing.T){
		"read before": func(t *testing.T) {
			app, other := newApp("unreadable"), newApp("readable")
			for _, a := range []*testbed.App{app, other} {
				a.Replicas = 0
				deploy(t, a)
				eventually(t, "the group to be read", func() error { return wantReason(t, a, v1beta1.ReasonReconciled) })
			}
			heal := inject(cannotRead, app)
			defer heal()
			for _, a := range []*testbed.App{app, other} {
				must(t, bed.Scale(t.Context(), a, 1))
			}
			awaitRolled(t, other)
			pod := awaitPod(t, app)
			awaitGate(t, app, pod.Name, closed("Elb.RegistrationInProgress", "Target registration is in progress (since "))
			eventually(t, "the status to say why", func() error { return wantReason(t, app, v1beta1.ReasonAWSError) })
			eventually(t, "the event", func() error {
				return wantNote(t, app, app.Name, corev1.EventTypeWarning, "FailedReconcile", "InternalFailure: oops")
			})
			throughout(t, 2*time.Second, "the gate changed", func() error {
				return wantGate(t, pod, app.Gate(), closed("Elb.RegistrationInProgress", ""))
			})
			heal()
			awaitHealthyGate(t, app, pod.Name)
		},
		"never read": func(t *testing.T) {
			app := newApp("never-read")
			app.Replicas = 1
			heal := func() {}
			app.Change = func(_ *v1beta1.TargetGroupBinding) { heal = inject(cannotRead, app) } // before there is a binding
			deploy(t, app)
			defer heal()
			pod := awaitPod(t, app)
			awaitGate(t, app, pod.Name, closed("RegistrationFailed", "InternalFailure: oops"))
			eventually(t, "the event", func() error {
				return wantNote(t, app, pod.Name, corev1.EventTypeWarning, "RegistrationFailed", "is not registered: InternalFailure: oops")
			})
			heal()
			awaitHealthyGate(t, app, pod.Name)
		},
		"partial answers": func(t *testing.T) {
			const longer = 12 * time.Second // than targetgate gives AWS to show what it has been told
			app := newApp("partial")
			app.Replicas = 1
			deploy(t, app)
			awaitRolled(t, app)
			old := pods(t, app)
			heal := inject(wire.Fault{Operation: "DescribeTargetHealth", Omit: 1}, app) // the last one that was registered
			defer heal()
			must(t, bed.Scale(t.Context(), app, 2))
			var pod corev1.Pod
			eventually(t, "the second pod to be registered", func() error {
				for _, pod = range newPods(t, app, uids(old)) {
					return wantGate(t, &pod, app.Gate(), closed("Elb.RegistrationInProgress", "Target registration is in progress (since "))
				}
				return errors.New("it is not there")
			})
			throughout(t, longer, "a gate changed", func() error {
				return errors.Join(
					wantGate(t, &pod, app.Gate(), closed("Elb.RegistrationInProgress", "")), wantGate(t, &old[0], app.Gate(), open("", "")))
			})
			heal()
			awaitHealthyGate(t, app, pod.Name)
			assertOnlyLeaversDeregistered(t, app)
		},
	})
}

func TestPodsWithoutGateAreToldOfUntilTheyAreReplaced(t *testing.T) {
	sideBySide(t, map[string]func(*testing.T){
		"binding comes later": func(t *testing.T) {
			app := newApp("bound-late")
			app.PreStopSeconds = 0
			deploy(t, app)
			awaitRolled(t, app)
			deleteBinding(t, app)
			must(t, bed.Roll(t.Context(), app, "2", nil))
			awaitRolled(t, app)
			create(t, app.Binding())
			ungatedUntilRestart(t, app)
		},
		"namespace is labelled later": func(t *testing.T) {
			app := newApp("labelled-late")
			app.Gated, app.PreStopSeconds = false, 0
			deploy(t, app)
			awaitRolled(t, app)
			eventually(t, "the pods to be counted", func() error { return wantPods(t, app, 0, 3) })
			if wantUngatedTold(t, app) == nil {
				t.Error("told of, although the namespace does not ask for gates")
			}
			change(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Name}}, func(n *corev1.Namespace) {
				n.Labels[testbed.GateLabel] = "enabled"
			})
			ungatedUntilRestart(t, app)
		},
	})
}

// ungatedUntilRestart waits until the app's pods are counted and told of as pods without gates, and restarts them.
func ungatedUntilRestart(t *testing.T, app *testbed.App) {
	t.Helper()
	eventually(t, "the pods to be counted", func() error { return wantPods(t, app, 0, 3) })
	eventually(t, "their owner to be told", func() error { return wantUngatedTold(t, app) })
	must(t, bed.Roll(t.Context(), app, "restarted", nil))
	awaitRolled(t, app)
	eventually(t, "the pods to have gates", func() error { return wantPods(t, app, 3, 0) })
	assertFewEvents(t, app)
}

// wantPods is an error when the binding's status counts other numbers of pods with and without gates.
func wantPods(t *testing.T, app *testbed.App, gated, ungated int32) error {
	t.Helper()
	if n := getBinding(t, app).Status.Pods; n == nil || n.Gated != gated || n.Ungated != ungated {
		return fmt.Errorf("pods %+v, want %d gated and %d ungated", n, gated, ungated)
	}
	return nil
}

func wantUngatedTold(t *testing.T, app *testbed.App) error {
	t.Helper()
	owner := metav1.GetControllerOf(oldestPod(t, app))
	return wantNote(t, app, owner.Name, corev1.EventTypeWarning, "PodWithoutReadinessGate",
		fmt.Sprintf("Pods have no readiness gate %s, as they were created before the TargetGroupBinding or without its webhook: "+
			"a rollout restart gives them one", app.Gate()))
}

// sideBySide runs the tests at once, however few cores there are: they spend their time waiting.
func sideBySide(t *testing.T, tests map[string]func(*testing.T)) {
	t.Helper()
	var running sync.WaitGroup
	for name, test := range tests {
		running.Go(func() { t.Run(name, test) })
	}
	running.Wait()
}

// withoutAdmission has bindings of these names created as if there were no webhook for them, until the end of the test.
func withoutAdmission(t *testing.T, names ...string) {
	t.Helper()
	mutating := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "targetgate-webhook"}}
	validating := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: mutating.ObjectMeta}
	set := func(ctx context.Context, conditions []admissionv1.MatchCondition) {
		must(t, bed.Client.Get(ctx, client.ObjectKeyFromObject(mutating), mutating))
		must(t, bed.Client.Get(ctx, client.ObjectKeyFromObject(validating), validating))
		before, checked := client.StrategicMergeFrom(mutating.DeepCopy()), client.StrategicMergeFrom(validating.DeepCopy())
		for i := range mutating.Webhooks {
			if strings.HasPrefix(mutating.Webhooks[i].Name, "mtargetgroupbinding") {
				mutating.Webhooks[i].MatchConditions = conditions
			}
		}
		validating.Webhooks[0].MatchConditions = conditions
		must(t, bed.Client.Patch(ctx, mutating, before))
		must(t, bed.Client.Patch(ctx, validating, checked))
	}
	t.Cleanup(func() { set(context.Background(), nil) })
	set(t.Context(), []admissionv1.MatchCondition{{Name: "not-in-this-test", Expression: fmt.Sprintf("!(request.name in ['%s'])", strings.Join(names, "','"))}})
	eventually(t, "the API server to act on it", func() error {
		probe := &v1beta1.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: names[0]}}
		probe.Spec.TargetGroupARN, probe.Spec.ServiceRef.Name = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/none/0123456789abcdef", "none"
		return bed.Client.Create(t.Context(), probe, client.DryRunAll) // which the webhook would refuse
	})
}

// newSick is an app of one pod that would wait at its gate for good, as the load balancer does not find it healthy.
func newSick(name string) *testbed.App {
	app := newApp(name)
	app.Replicas, app.PreStopSeconds = 1, 0
	app.Env = map[string]string{"HEALTH_STATUS": "503"}
	return app
}

// sickWords are AWS's of such a pod.
const sickWords = "Health checks failed with these codes: [503]"

// deploySick returns the app's pod when it waits at its gate.
func deploySick(t *testing.T, app *testbed.App) *corev1.Pod {
	t.Helper()
	deploy(t, app)
	pod := awaitPod(t, app)
	awaitGate(t, app, pod.Name, closed("Target.ResponseCodeMismatch", sickWords+" (since "))
	must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	return pod
}

// awaitPod waits for the app's only pod to have an address.
func awaitPod(t *testing.T, app *testbed.App) (pod *corev1.Pod) {
	t.Helper()
	eventually(t, "a pod with an address", func() error {
		list := pods(t, app)
		if len(list) != 1 || list[0].Status.PodIP == "" {
			return fmt.Errorf("%d pods", len(list))
		}
		pod = &list[0]
		return nil
	})
	return pod
}

// detach takes the app's target group from its load balancer; attach gives it back.
func detach(t *testing.T, app *testbed.App) (attach func()) {
	t.Helper()
	aws := bed.AWS.State()
	balancers, err := aws.Balancers("", nil, []string{app.Name})
	must(t, err)
	listeners, err := aws.Listeners(balancers[0].ARN)
	must(t, err)
	must(t, aws.DeleteListener(listeners[0].ARN))
	return func() {
		t.Helper()
		_, err := aws.CreateListener(listeners[0].ListenerSpec)
		must(t, err)
	}
}

// inject has calls for the app's target group fail.
func inject(fault wire.Fault, app *testbed.App) (heal func()) {
	fault.TargetGroup = app.TargetGroup
	return bed.AWS.Inject(fault)
}

// says is what a gate's condition says; the message is a part of it.
type says struct {
	status          corev1.ConditionStatus
	reason, message string
}

func open(reason, message string) says { return says{corev1.ConditionTrue, reason, message} }

func closed(reason, message string) says { return says{corev1.ConditionFalse, reason, message} }

// wantGate is an error when the pod's gate says something else now.
func wantGate(t *testing.T, pod *corev1.Pod, gate corev1.PodConditionType, want says) error {
	t.Helper()
	var now corev1.Pod
	if err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &now); err != nil {
		return err
	}
	c := readiness.Condition(&now, gate)
	if c == nil || c.Status != want.status || c.Reason != want.reason || !strings.Contains(c.Message, want.message) {
		return fmt.Errorf("the gate of pod %s says %+v, want %+v", pod.Name, c, want)
	}
	return nil
}

func awaitGate(t *testing.T, app *testbed.App, name string, want says) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: name}}
	eventually(t, "the gate to say why", func() error { return wantGate(t, pod, app.Gate(), want) })
}

// awaitOpened waits until the gate is open for another reason than health, its event tells why, and the pod is Ready.
func awaitOpened(t *testing.T, app *testbed.App, name, reason, message string) {
	t.Helper()
	awaitGate(t, app, name, open(reason, message))
	awaitNote(t, app, name, fmt.Sprintf("Readiness gate %s is open: %s", app.Gate(), message))
}

// awaitHealthyGate waits until the gate is open because the target is healthy, its event tells so, and the pod is Ready.
func awaitHealthyGate(t *testing.T, app *testbed.App, name string) {
	t.Helper()
	awaitGate(t, app, name, open("", ""))
	awaitNote(t, app, name, fmt.Sprintf(":8080 is healthy: readiness gate %s is open", app.Gate()))
}

// awaitNote waits for the event that tells of an open gate, and for the pod to be Ready.
func awaitNote(t *testing.T, app *testbed.App, name, note string) {
	t.Helper()
	eventually(t, "the event, and the pod to be Ready", func() error {
		var pod corev1.Pod
		must(t, bed.Client.Get(t.Context(), client.ObjectKey{Namespace: app.Name, Name: name}, &pod))
		if !testbed.IsReady(&pod) {
			return errors.New("the pod is not Ready")
		}
		return wantNote(t, app, name, corev1.EventTypeNormal, "ReadinessGateOpened", note)
	})
}

// wantNote is wantEvent for an event whose note contains this.
func wantNote(t *testing.T, app *testbed.App, object, kind, reason, note string) error {
	t.Helper()
	var list eventsv1.EventList
	must(t, bed.Client.List(t.Context(), &list, client.InNamespace(app.Name)))
	var notes []string
	for _, event := range list.Items {
		if event.Regarding.Name == object && event.Type == kind && event.Reason == reason {
			notes = append(notes, event.Note)
			if strings.Contains(event.Note, note) {
				return nil
			}
		}
	}
	return fmt.Errorf("no %s event %s about %s says %q, only %q", kind, reason, object, note, notes)
}

// wantNoBinding is an error while the app's binding is there.
func wantNoBinding(t *testing.T, app *testbed.App) error {
	t.Helper()
	err := bed.Client.Get(t.Context(), app.Key(), &v1beta1.TargetGroupBinding{})
	if err == nil {
		return errors.New("it is there")
	}
	return client.IgnoreNotFound(err)
}

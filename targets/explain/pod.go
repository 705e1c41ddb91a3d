// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// startup is how long containers may take to be ready before that is called broken; a container that fails is at once.
const startup = 5 * time.Minute

// endpointState is what is read of a binding, and one of its endpoints.
type endpointState struct {
	*bindingState

	pod      *corev1.Pod         // nil for a node
	endpoint *endpoints.Endpoint // nil when the pod is none
}

// podEndpoint are the links of one pod.
func (s *bindingState) podEndpoint(pod *corev1.Pod) Endpoint {
	e := endpointState{s, pod, s.desired.endpointOf(pod.UID)}
	out := Endpoint{Kind: "Pod", Name: pod.Name}
	if e.endpoint != nil {
		out.Target = e.endpoint.Target.String()
	}
	switch {
	case endpoints.IsTerminating(pod):
		out.Links = []Link{e.leavingLink()}
		if s.binding.Spec.IsIP() {
			out.Links = append(out.Links, e.leavingTarget())
		}
	case !s.abandoned() && s.binding.Spec.IsIP():
		target := e.targetLink()
		out.Links = []Link{e.podSliceLink(), e.podLink(), target, e.healthLink(target), e.gateLink()}
	case readiness.Has(pod, s.gate()):
		out.Links = []Link{e.podLink(), e.gateLink()}
	default:
		out.Links = []Link{e.podLink()}
	}
	return out
}

// podSliceLink is about whether the Service's EndpointSlices list the pod.
func (e endpointState) podSliceLink() Link {
	switch {
	case e.endpoint != nil && e.endpoint.State == endpoints.Undetermined:
		return link("slice", Waiting, "does not list the pod just now; target %s stays as it is until then", e.endpoint.Target)
	case e.endpoint != nil && e.endpoint.State != endpoints.Unselected:
		return link("slice", OK, "lists the pod at %s", e.endpoint.Target)
	case e.desired.Missing != "":
		return link("slice", Unknown, "not checked, because the Service's port was not found")
	case !e.desired.selects(e.pod):
		return link("slice", Broken, "Service %q does not select the pod: it wants %s, and the pod has %s", e.desired.Service.Name,
			labels.FormatLabels(e.desired.Service.Spec.Selector), labels.FormatLabels(e.pod.Labels)).
			advise("Give the pod those labels, or change the Service's selector")
	case len(e.pod.Status.PodIPs) == 0:
		return link("slice", Waiting, "does not list the pod, which has no address yet")
	default:
		return e.unlistedPod()
	}
}

// leavingLink is about a pod that is being deleted or has ended.
func (e endpointState) leavingLink() Link {
	if e.pod.DeletionTimestamp == nil {
		return link("pod", Waiting, "has ended (%s) and is no longer a target: its owner replaces it. %s %s",
			e.pod.Status.Phase, e.pod.Status.Reason, e.pod.Status.Message)
	}
	due := e.pod.DeletionTimestamp.Time // the request's time and the grace period
	if e.now.Before(due.Add(promptness)) {
		return link("pod", Waiting, "is terminating, until %s: it leaves the load balancer, and its gate is no longer written", stamp(due))
	}
	stuck := link("pod", Broken, "is terminating, and should have been gone at %s", stamp(due))
	if finalizers := e.pod.Finalizers; len(finalizers) > 0 {
		return stuck.advise("Check who has to remove its finalizers (%s), and whether node %q responds",
			strings.Join(finalizers, ", "), e.pod.Spec.NodeName)
	}
	return stuck.advise("Check whether node %q responds", e.pod.Spec.NodeName)
}

// podLink is about the pod's containers and node.
func (e endpointState) podLink() Link {
	ready := readiness.Condition(e.pod, corev1.ContainersReady)
	containersReady := ready != nil && ready.Status == corev1.ConditionTrue
	switch {
	case e.isHeld():
		return e.heldLink()
	case e.is(endpoints.Terminating):
		return link("pod", Waiting, "leaves the target group, as its node %q is going away: its owner replaces it on another node",
			e.pod.Spec.NodeName)
	case containersReady && e.is(endpoints.NotReady):
		return link("pod", Broken, "its containers are ready, but its node %q is not, or is gone", e.pod.Spec.NodeName).
			advise("See the node: kubectl describe node %s; pods of a node that is gone are deleted within two minutes", e.pod.Spec.NodeName)
	case containersReady:
		return link("pod", OK, "its containers have been ready since %s", stamp(ready.LastTransitionTime.Time))
	case e.is(endpoints.Desired):
		return link("pod", OK, "its containers are not ready, but the Service publishes it all the same")
	}
	return e.unreadyLink()
}

// is reports whether the pod is an endpoint in that state.
func (e endpointState) is(s endpoints.State) bool { return e.endpoint != nil && e.endpoint.State == s }

func (e endpointState) isHeld() bool {
	return e.endpoint != nil && (e.endpoint.Held != endpoints.NotHeld || e.endpoint.Waits)
}

// heldLink is about a pod that somebody else keeps from getting traffic.
func (e endpointState) heldLink() Link {
	if e.endpoint.Waits {
		return link("pod", Waiting, "its containers are ready, and it waits to be Ready: %s", e.closedByOthers())
	}
	l := link("pod", Waiting, "gets no traffic, as %s", e.endpoint.Why())
	switch e.endpoint.Held {
	case endpoints.HeldByGate:
		return l.advise("See who sets the pod's condition %s, and why it is not True. If it is another load balancer's, and waits for this one, "+
			"name its prefix in --load-balancer-gate-prefixes", e.endpoint.Gate)
	case endpoints.HeldBySlice:
		return l.advise("See who writes the Service's EndpointSlices: kubectl -n %s get endpointslices -l kubernetes.io/service-name=%s -o yaml",
			e.pod.Namespace, e.binding.Spec.ServiceRef.Name)
	default:
		return l.advise("Give the pod the labels that the Service selects, if it is to get traffic again")
	}
}

// closedByOthers names the gates of other bindings or load balancers that are closed.
func (e endpointState) closedByOthers() string {
	var closed []string
	for _, gate := range e.pod.Spec.ReadinessGates {
		if !readiness.IsOpen(e.pod, gate.ConditionType) {
			closed = append(closed, string(gate.ConditionType))
		}
	}
	return "without a gate of this binding, it is registered once its other readiness gates are open: " + strings.Join(closed, ", ")
}

// unreadyLink says what keeps the containers from being ready.
func (e endpointState) unreadyLink() Link {
	if c := readiness.Condition(e.pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return link("pod", Broken, "is on no node: %s: %s", c.Reason, c.Message).advise("See its events: %s", describe(e.pod))
	}
	state, since := Waiting, e.pod.CreationTimestamp.Time
	if c := readiness.Condition(e.pod, corev1.ContainersReady); c != nil && !c.LastTransitionTime.IsZero() {
		since = c.LastTransitionTime.Time
	}
	if e.now.Sub(since) >= startup {
		state = Broken
	}
	what := "containers not ready since " + stamp(since)
	for _, c := range slices.Concat(e.pod.Status.InitContainerStatuses, e.pod.Status.ContainerStatuses) {
		fault, told := containerFault(c, e.initialises(c.Name))
		if told != "" {
			what += "; " + told
		}
		if fault {
			state = Broken
		}
	}
	return link("pod", state, "%s", what).advise("The load balancer has no part in this yet. See why: %s", describe(e.pod))
}

func describe(pod *corev1.Pod) string {
	return fmt.Sprintf("kubectl -n %s describe pod %s", pod.Namespace, pod.Name)
}

// initialises reports whether that is an init container which has to end before the others start: a sidecar has not.
func (e endpointState) initialises(name string) bool {
	return slices.ContainsFunc(e.pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == name && !endpoints.IsSidecar(&c)
	})
}

// containerFault says of a container that is not ready how it is, and whether it has failed.
func containerFault(c corev1.ContainerStatus, initialises bool) (fault bool, told string) {
	switch {
	case c.Ready:
		return false, ""
	case c.State.Waiting != nil:
		reason := c.State.Waiting.Reason
		told = fmt.Sprintf("container %q: %s %s", c.Name, reason, c.State.Waiting.Message)
		return reason != "ContainerCreating" && reason != "PodInitializing", told
	case c.State.Terminated != nil:
		failed := c.State.Terminated.ExitCode != 0
		return failed, fmt.Sprintf("container %q: ended with %d: %s", c.Name, c.State.Terminated.ExitCode, c.State.Terminated.Reason)
	case initialises:
		return c.RestartCount > 0, fmt.Sprintf("init container %q: still runs; %d restarts", c.Name, c.RestartCount)
	default:
		return c.RestartCount > 0, fmt.Sprintf("container %q: runs, but its startup or readiness probe has not passed; %d restarts",
			c.Name, c.RestartCount)
	}
}

// gateLink is about the pod's readiness gate.
func (e endpointState) gateLink() Link {
	switch {
	case readiness.HasTooMany(e.pod):
		return link("gate", Broken, "is never opened, as the pod has more than %d readiness gates of TargetGroupBindings", readiness.MaxGates).
			advise("Create the pod again with fewer")
	case !readiness.Has(e.pod, e.gate()):
		return e.ungatedLink()
	}
	condition := readiness.Condition(e.pod, e.gate())
	switch {
	case condition == nil:
		return link("gate", Waiting, "closed, and has no condition yet")
	case condition.Status != corev1.ConditionTrue:
		return link("gate", Waiting, "closed since %s: %s: %s", stamp(condition.LastTransitionTime.Time), condition.Reason, condition.Message)
	case readiness.ClosedByOthers(e.pod, nil) != "":
		return link("gate", Waiting, "open, and the pod is not Ready as someone else's gate is closed: %s", readiness.ClosedByOthers(e.pod, nil))
	case condition.Reason != "":
		return link("gate", OK, "open since %s: %s: %s", stamp(condition.LastTransitionTime.Time), condition.Reason, condition.Message)
	default:
		return link("gate", OK, "open since %s: the load balancer found the pod healthy", stamp(condition.LastTransitionTime.Time))
	}
}

// ungatedLink says why the pod has no gate: it gets one at its creation or never.
func (e endpointState) ungatedLink() Link {
	const restart = "roll the pods out again (kubectl rollout restart)"
	broken := func(format string, args ...any) Link {
		return link("gate", Broken, "the pod has no readiness gate %s: %s", e.gate(), fmt.Sprintf(format, args...))
	}
	service := e.desired.Service
	switch {
	case !e.desired.selects(e.pod):
		return link("gate", OK, "the pod has none: only pods that the Service selects get one, and it does not select this pod")
	case readiness.IsStatic(e.pod):
		return link("gate", OK, "the pod has none: it is a static pod, for which the API server calls no webhook")
	case len(e.binding.Name) > v1beta1.MaxBindingName:
		return broken("the binding's name has more than %d characters", v1beta1.MaxBindingName).
			advise("Create the binding again with a shorter name, and %s", restart)
	case e.isScopeUnknown():
		return link("gate", Unknown, "the pod has no readiness gate %s; whether namespace %s asks for gates is not known: %s",
			e.gate(), e.pod.Namespace, e.scopeUnread())
	case !e.scope.CoversPod(e.pod):
		return link("gate", OK, "the pod has none, as the webhook's objectSelector leaves it out")
	case !e.scope.CoversNamespace(e.namespace):
		seen, advice := e.uncovered()
		return broken("%s", seen).advise("%s, and %s", advice, restart)
	case e.pod.CreationTimestamp.Time.Before(e.binding.CreationTimestamp.Time):
		return broken("it was created before the TargetGroupBinding").advise("To give it one, %s", restart)
	case e.pod.CreationTimestamp.Time.Before(service.CreationTimestamp.Time):
		return broken("it was created before Service %q", service.Name).advise("To give it one, %s", restart)
	default:
		return broken("when it was created, targetgate's webhook did not answer or was not called, the namespace had no label yet, "+
			"or the Service did not select it yet, as before a blue/green switch").
			advise("Check that targetgate is ready and its MutatingWebhookConfiguration is installed, and %s; pods that the Service selects only "+
				"later need a preStop sleep instead", restart)
	}
}

// uncovered says what the namespace lacks to get gates, and what to do.
func (e endpointState) uncovered() (seen, advice string) {
	unmet, byLabel := e.scope.Unmet(e.namespace)
	if byLabel {
		return fmt.Sprintf("namespace %s does not ask for gates", e.pod.Namespace),
			fmt.Sprintf("kubectl label namespace %s %s=%s", e.pod.Namespace, readiness.InjectLabel, readiness.InjectEnabled)
	}
	return fmt.Sprintf("the webhook's namespaceSelector leaves namespace %s out, whose labels do not meet: %s",
		e.pod.Namespace, strings.Join(unmet, ", ")), "Give the namespace labels that meet it"
}

// isScopeUnknown reports whether the namespace may ask for gates, for all that could be read.
func (e endpointState) isScopeUnknown() bool {
	return e.namespace == nil || e.scopeErr != nil && !e.scope.CoversNamespace(e.namespace)
}

// scopeUnread says what could not be read of that.
func (e endpointState) scopeUnread() string {
	if e.namespace == nil {
		return "you may not read the namespace"
	}
	return fmt.Sprintf("it has no label %s=%s, and which other labels the webhook goes by could not be read: %v",
		readiness.InjectLabel, readiness.InjectEnabled, e.scopeErr)
}

// unwantedTarget is of an endpoint that the registrar does not add now; the links before say why.
func (e endpointState) unwantedTarget() Link {
	switch e.endpoint.State {
	case endpoints.NotReady:
		return link("target", Waiting, "%s will be registered once the pod's containers and its node are ready", e.endpoint.Target)
	case endpoints.HeldBack:
		return link("target", Waiting, "%s will be registered when nobody holds the pod back any longer", e.endpoint.Target)
	}
	return link("target", Waiting, "%s is %s", e.endpoint.Target, e.endpoint.State)
}

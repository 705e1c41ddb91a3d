// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Warnings are for the binding's author, and never reject the binding. If the cache or AWS cannot answer, there is no warning.

const (
	// warnWithin limits an AWS call that only a warning needs.
	warnWithin = time.Second

	// slowChecks is how long the health checks of a new target may take without a warning.
	slowChecks = 30 * time.Second

	// defaultGrace is Kubernetes' default grace period.
	defaultGrace = 30 * time.Second
)

// warnAtCreation uses the target group from AWS, unless group is nil.
func (v *validator) warnAtCreation(
	ctx context.Context, binding *v1beta1.TargetGroupBinding, group *elbv2.TargetGroup,
) admission.Warnings {
	service := v.service(ctx, binding)
	out := append(v.warnOfUnsupported(&binding.Spec), warnOfBackend(&binding.Spec, service)...)
	if group == nil {
		return out
	}
	out = append(out, v.facts.warnOfConsent(ctx, binding, group.ARN)...)
	out = append(out, warnOfGroup(&binding.Spec, group.Protocol, group.LoadBalancers, group.HealthCheck)...)
	if grace, pod := v.shortestGrace(ctx, binding, service); pod != "" {
		ctx, cancel := context.WithTimeout(ctx, warnWithin)
		defer cancel()
		if delay, err := v.facts.deregistrationDelay(ctx, binding); err == nil {
			out = append(out, warnOfGrace(delay, grace, pod)...)
		}
	}
	return out
}

// warnAtUpdate uses the target group in the binding's status, and asks AWS only whether a new role can be assumed.
func (v *validator) warnAtUpdate(ctx context.Context, req *bindingRequest) admission.Warnings {
	binding := req.binding
	service := v.service(ctx, binding)
	out := append(v.warnOfUnsupported(&binding.Spec), warnOfBackend(&binding.Spec, service)...)
	if accounts.RoleOf(req.old) != accounts.RoleOf(binding) {
		ctx, cancel := context.WithTimeout(ctx, warnWithin)
		defer cancel()
		if _, fault, err := v.facts.lookUp(ctx, req); err == nil && fault != nil {
			out = append(out, fault.Error())
		}
	}
	known := binding.Status.TargetGroup
	if known == nil {
		return out
	}
	check := known.HealthCheck
	out = append(out, warnOfGroup(&binding.Spec, string(known.Protocol), int(known.LoadBalancers), elbv2.HealthCheck{
		Interval: seconds(check.IntervalSeconds), Timeout: seconds(check.TimeoutSeconds), HealthyThreshold: int(check.HealthyThreshold),
	})...)
	if known.DeregistrationDelaySeconds == nil {
		return out
	}
	if grace, pod := v.shortestGrace(ctx, binding, service); pod != "" {
		out = append(out, warnOfGrace(seconds(*known.DeregistrationDelaySeconds), grace, pod)...)
	}
	return out
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

func warnOfFaults(found field.ErrorList) admission.Warnings {
	var out admission.Warnings
	for _, fault := range reported(found) {
		out = append(out, "existing problem, not rejected: "+fault.Error())
	}
	return out
}

func (v *validator) warnOfUnsupported(spec *v1beta1.TargetGroupBindingSpec) admission.Warnings {
	var out admission.Warnings
	if protocol := ptr.Deref(spec.TargetGroupProtocol, ""); protocol.HasServerIDs() {
		out = append(out, fmt.Sprintf("spec.targetGroupProtocol: QUIC server IDs are not supported yet: AWS refuses to register targets in a "+
			"target group of protocol %s, so their pods do not become Ready", protocol))
	}
	if spec.Networking != nil && !v.rules {
		out = append(out, "spec.networking: targets are registered, but no security group is changed, as targetgate runs "+
			"with --security-group-rules=false")
	}
	return out
}

// service returns the binding's Service, or nil if the cache has none.
func (v *validator) service(ctx context.Context, binding *v1beta1.TargetGroupBinding) *corev1.Service {
	var service corev1.Service
	key := client.ObjectKey{Namespace: binding.Namespace, Name: binding.Spec.ServiceRef.Name}
	if err := v.reader.Get(ctx, key, &service, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	return &service
}

func warnOfBackend(spec *v1beta1.TargetGroupBindingSpec, service *corev1.Service) admission.Warnings {
	ref := spec.ServiceRef
	if service == nil {
		return admission.Warnings{fmt.Sprintf(
			"spec.serviceRef.name: Service %q does not exist yet: no target is registered until it does", ref.Name)}
	}
	all, protocol := service.Spec.Ports, ptr.Deref(spec.TargetGroupProtocol, "")
	chosen := ref.PortOf(protocol, len(all), func(i int) (string, int32, string) { return all[i].Name, all[i].Port, string(all[i].Protocol) })
	if chosen.Index < 0 {
		return admission.Warnings{fmt.Sprintf("spec.serviceRef.port: Service %q has no port %q; its ports: %s",
			ref.Name, ref.Port.String(), cmp.Or(listed(all), "none"))}
	}
	if all[chosen.Index].NodePort == 0 && spec.IsInstance() {
		return admission.Warnings{fmt.Sprintf("spec.serviceRef: port %s of Service %q (type %s) has no node port: "+
			"targetType instance needs type NodePort or LoadBalancer", ref.Port.String(), ref.Name, service.Spec.Type)}
	}
	doubt := ref.Doubt(protocol, chosen, func(i int) (transport, target string) {
		if spec.IsInstance() {
			return string(all[i].Protocol), strconv.Itoa(int(all[i].NodePort))
		}
		return string(all[i].Protocol), all[i].TargetPort.String()
	})
	if doubt != "" {
		return admission.Warnings{"spec.serviceRef.port: " + doubt}
	}
	return nil
}

// listed are the ports as a user names them.
func listed(ports []corev1.ServicePort) string {
	var out []string
	for _, port := range ports {
		number := strconv.Itoa(int(port.Port))
		if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
			number += "/" + string(port.Protocol)
		}
		out = append(out, strings.TrimSpace(number+" "+port.Name))
	}
	return strings.Join(out, ", ")
}

// warnOfGroup warns about the target group's settings. It ignores health checks of instances, because no gate waits for them.
func warnOfGroup(spec *v1beta1.TargetGroupBindingSpec, protocol string, balancers int, check elbv2.HealthCheck) admission.Warnings {
	if balancers == 0 {
		return admission.Warnings{"the target group is attached to no load balancer: its targets get no traffic and no health checks"}
	}
	checks, all := check.HealthyWithin(protocol)
	if !spec.IsIP() || checks <= slowChecks {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("a new target may take %s to become healthy (health check interval %s, timeout %s, "+
		"healthy threshold %d), and each batch of a rollout waits that long: shorten the interval of the target group's health check",
		inSeconds(all), inSeconds(check.Interval), inSeconds(check.Timeout), check.HealthyThreshold)}
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) }

// shortestGrace returns the shortest grace period of the pods that the Service selects, and the pod's name, empty if there is
// none.
func (v *validator) shortestGrace(
	ctx context.Context, binding *v1beta1.TargetGroupBinding, service *corev1.Service,
) (shortest time.Duration, pod string) {
	if service == nil || len(service.Spec.Selector) == 0 || !binding.Spec.IsIP() {
		return 0, ""
	}
	var pods corev1.PodList
	err := v.reader.List(ctx, &pods, client.InNamespace(binding.Namespace), client.MatchingLabels(service.Spec.Selector),
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return 0, ""
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		grace := time.Duration(ptr.Deref(p.Spec.TerminationGracePeriodSeconds, int64(defaultGrace.Seconds()))) * time.Second
		if p.DeletionTimestamp.IsZero() && (pod == "" || grace < shortest) {
			shortest, pod = grace, p.Name
		}
	}
	return shortest, pod
}

func warnOfGrace(delay, grace time.Duration, pod string) admission.Warnings {
	if delay <= grace {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("the load balancer lets requests run for %s (deregistration delay), but pod %q ends after its "+
		"grace period of %s, and requests that still run then fail: raise terminationGracePeriodSeconds, or lower the deregistration delay if "+
		"no request takes that long", inSeconds(delay), pod, inSeconds(grace))}
}

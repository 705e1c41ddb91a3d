// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package reading

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/targets/consent"
)

// actionOf is what is done with requests of a backend, whose field is given for faults.
func (r ruleReader) actionOf(backend networkingv1.IngressBackend, field string) (stack.Action, error) {
	action, err := r.answerOf(backend, field)
	if err == nil {
		service := r.onlyService(*backend.Service)
		action.Auth, err = once(r.memo, service, func() (*stack.Auth, error) { return r.auth(service) })
	}
	return action, err
}

// onlyService is the Service of a backend that forwards to it alone; nil for other backends.
func (r ruleReader) onlyService(backend networkingv1.IngressServiceBackend) *corev1.Service {
	name := backend.Name
	if backend.Port.Name == input.UseAnnotation {
		action, _, _ := annotated(r, annotation.Actions, name)
		if action.ForwardConfig.Len() != 1 {
			return nil
		}
		name = action.ForwardConfig.TargetGroups[0].ServiceName
	}
	return r.service(name)
}

// answerOf is what is done with requests of those who may pass.
func (r ruleReader) answerOf(backend networkingv1.IngressBackend, field string) (stack.Action, error) {
	service := backend.Service
	if service == nil {
		return stack.Action{}, fault.Fault{
			Field: field + ".resource", Reason: "resources cannot be backends of a load balancer: set a service",
		}
	}
	if service.Port.Name == input.UseAnnotation {
		return r.annotatedAction(service.Name, field)
	}
	port := intstr.FromInt32(service.Port.Number)
	if service.Port.Name != "" {
		port = intstr.FromString(service.Port.Name)
	}
	return r.forward(&annotation.Forward{TargetGroups: []annotation.Target{{ServiceName: service.Name, ServicePort: &port}}}, field)
}

// annotatedAction is the action that the annotation of that name says.
func (r ruleReader) annotatedAction(name, field string) (stack.Action, error) {
	action, set, err := annotated(r, annotation.Actions, name)
	key := annotation.Actions.FullName() + name
	switch {
	case err != nil:
		return stack.Action{}, err
	case !set:
		wrong := fault.Fault{Field: field, Value: name, Reason: "the annotation " + key + " does not exist: add it"}
		return r.missing(wrong, "Backend action does not exist", r.in.Options.TolerateMissingAction)
	case action.FixedResponseConfig != nil && action.Type == annotation.FixedResponseAction:
		config := action.FixedResponseConfig
		return FixedResponse(config.StatusCode, config.ContentType, config.MessageBody), nil
	case action.Type == annotation.RedirectAction:
		return redirect(action.RedirectConfig), nil
	}
	built, err := r.forward(action.ForwardConfig, field)
	if err == nil {
		err = r.consented(built, key)
	}
	if err != nil {
		if wrong := fault.As(err); wrong == (fault.Fault{Reason: wrong.Reason}) {
			wrong.Annotation, wrong.Value = key, r.Annotations()[key]
			err = wrong
		}
	}
	return built, err
}

// consented is why the owner of a target group to which the action sends has not consented to that, if that is asked for.
func (r ruleReader) consented(action stack.Action, key string) error {
	mode := r.in.Options.Consent
	if !mode.Asks() || action.Forward == nil {
		return nil
	}
	for _, to := range action.Forward.Groups {
		wrong := fault.Fault{Annotation: key, Value: groupName(to.Group.ID), Reason: r.noConsent(to.Group.ID)}
		switch {
		case wrong.Reason == "":
		case mode == consent.Require:
			return wrong
		default:
			wrong.Reason += "; --target-group-consent=require would hold this Ingress"
			r.warnOf(wrong)
		}
	}
	return nil
}

// noConsent is why requests may not be sent to a target group, "" if they may; one without an ARN is the member's own.
func (r ruleReader) noConsent(arn string) string {
	owned, known := r.in.AWS.Owned[arn]
	switch {
	case arn == "", r.in.Alone && !known:
		return ""
	case !known:
		return fmt.Sprintf("the target group's tags are not read, as this Ingress names more than %d target groups: name at most so many",
			input.MostTargetGroups)
	case owned.Reason != "":
		return "whether its owner consents could not be read from the target group's tags: " + owned.Reason
	default:
		return consent.Sender{Cluster: r.in.Options.Cluster, Namespace: r.Member.Ingress.Namespace}.Refusal(owned.Tags)
	}
}

// groupName is the name in the ARN of a target group.
func groupName(arn string) string {
	_, name, _ := strings.Cut(arn, ":targetgroup/")
	name, _, _ = strings.Cut(name, "/")
	return name
}

// missing is an answer of 503 for a backend that does not exist, or else its fault.
func (r ruleReader) missing(fault fault.Fault, body string, tolerate bool) (stack.Action, error) {
	if !tolerate {
		return stack.Action{}, fault
	}
	fault.Reason += "; until then requests are answered with 503"
	r.warnOf(fault)
	return FixedResponse("503", "text/plain", body), nil
}

// FixedResponse answers all requests with that status and body.
func FixedResponse(status, contentType, body string) stack.Action {
	return stack.Action{Fixed: &stack.FixedResponse{Status: status, ContentType: contentType, Body: body}}
}

func redirect(config *annotation.Redirect) stack.Action {
	return stack.Action{Redirect: &stack.Redirect{
		Protocol: annotation.RedirectPart(config.Protocol, annotation.SameProtocol),
		Host:     annotation.RedirectPart(config.Host, annotation.SameHost),
		Port:     annotation.RedirectPart(config.Port, annotation.SamePort),
		Path:     annotation.RedirectPart(config.Path, annotation.SamePath), Query: ptr.Deref(config.Query, annotation.SameQuery),
		Status: config.StatusCode,
	}}
}

// errStays is that of a redirect that AWS refuses, as it changes nothing that matters.
var errStays = errors.New("the redirect points to itself: set another protocol, host, port or path in redirectConfig")

// stays reports whether the action redirects to the same place, but perhaps for the query.
func stays(action stack.Action) bool {
	to := action.Redirect
	return to != nil && to.Protocol == annotation.SameProtocol && to.Host == annotation.SameHost && to.Port == annotation.SamePort &&
		to.Path == annotation.SamePath
}

// forward is a forward to target groups, those of Services being the member's.
func (r ruleReader) forward(config *annotation.Forward, field string) (stack.Action, error) {
	single := len(config.TargetGroups) == 1
	var out targets
	for _, target := range config.TargetGroups {
		weight, err := target.WeightOf(single)
		if err != nil {
			return stack.Action{}, err
		}
		ref, err := r.targetGroup(target)
		if errors.Is(err, errNoService) && r.in.Alone {
			continue
		}
		if errors.Is(err, errNoService) {
			fault := fault.Fault{Field: field, Value: target.ServiceName, Reason: "this Service does not exist in namespace " +
				r.Member.Ingress.Namespace + ": create it"}
			return r.missing(fault, "Backend service does not exist", r.in.Options.TolerateMissingService && single)
		}
		if err != nil {
			return stack.Action{}, err
		}
		if out.has(ref) {
			return stack.Action{}, fmt.Errorf("target group %s is listed twice: list it once, with the sum of the weights", cmp.Or(ref.Part, ref.ID))
		}
		out = append(out, stack.Weighted{Group: ref, Weight: weight})
	}
	sticky, off, err := config.TargetGroupStickinessConfig.Seconds()
	return stack.Action{Forward: &stack.Forward{Groups: out, Sticky: sticky, StickyOff: off}}, err
}

// targets are those of a forward.
type targets []stack.Weighted

func (t targets) has(ref stack.Ref) bool {
	return slices.ContainsFunc(t, func(other stack.Weighted) bool { return other.Group == ref && ref != stack.Ref{} })
}

// weight is that of the target; of a single one it does not count.
var errNoService = errors.New("the Service does not exist")

var targetGroupARN = regexp.MustCompile(`^arn:[^:]+:elasticloadbalancing:[^:]*:[^:]*:targetgroup/.+$`)

// targetGroup is one that others have made, or that of a Service. The latter becomes one of the member's.
func (r ruleReader) targetGroup(target annotation.Target) (stack.Ref, error) {
	switch {
	case target.TargetGroupARN != "" && !targetGroupARN.MatchString(target.TargetGroupARN):
		return stack.Ref{}, fmt.Errorf("targetGroupARN %.100q: must be the ARN of a target group", target.TargetGroupARN)
	case target.TargetGroupARN != "":
		return stack.Ref{ID: target.TargetGroupARN}, nil
	case target.TargetGroupName != "":
		arn, err := r.named(target.TargetGroupName)
		return stack.Ref{ID: arn}, err
	}
	service := r.service(target.ServiceName)
	if service == nil {
		return stack.Ref{}, errNoService
	}
	part, err := once(r.memo, servicePort{service, *target.ServicePort}, func() (string, error) {
		return r.addTargetGroup(service, *target.ServicePort)
	})
	return stack.Ref{Part: part}, err
}

// named is the ARN of the target group of that name, which others have made.
func (r ruleReader) named(name string) (string, error) {
	if r.in.Alone {
		return "", nil
	}
	if _, asked := r.in.AWS.TargetGroups[name]; !asked {
		return "", fmt.Errorf("target group %.64q is not looked up, as this Ingress names more than %d: name at most so many, as in "+
			"several Ingresses with a group each", name, input.MostTargetGroups)
	}
	return lookup.Find("target group", name, r.in.AWS.TargetGroups)
}

// servicePort is a port of a Service as a backend names it.
type servicePort struct {
	service *corev1.Service
	port    intstr.IntOrString
}

func (r ruleReader) service(name string) *corev1.Service {
	return r.in.Services[types.NamespacedName{Namespace: r.Member.Ingress.Namespace, Name: name}]
}

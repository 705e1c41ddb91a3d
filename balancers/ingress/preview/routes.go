// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers"
	"github.com/targetgate/targetgate/balancers/fault"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/ingress/objects"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// Routes is where requests for an Ingress go, as far as the cluster says.
type Routes struct {
	Group   string   // "" when the Ingress belongs to none
	Members []string // of the group, in the order of their rules
	// Hostname is that of the load balancer in the status.
	Hostname string
	Faults   []fault.Fault
	// Routes are in the order of their rules; those of a held Ingress are not known.
	Routes []Route
	// Lost are Services of routes, as "name:port", whose binding does not exist. Bindings are those of all others, each once.
	Lost     []string
	Bindings []string
	// Deleted says that the Ingress is being deleted. Finalizers are those of groups that it has while it belongs to none any more.
	Deleted    bool
	Finalizers []string
	// Unread is what may not be read, in the words of RBAC. Unsure says that without it nobody knows whether the Ingress is ours. Fewer says
	// that members of other namespaces may be missing.
	Unread        []string
	Unsure, Fewer bool
}

// Route is one rule. Ports are those of the listeners that have it.
type Route struct {
	Text  string
	Ports []int32
}

// Flags are those of the controller that routes depend on.
type Flags struct {
	IngressClass string
	Switches     membership.Switches
	Options      input.Options // as by input.DefaultOptions, where no flag is given
}

// RoutesOf finds the routes of an Ingress with the code that makes rules of it. It asks nothing of AWS: settings that have to be looked
// up there are not checked.
func RoutesOf(ctx context.Context, c client.Client, flags Flags, key client.ObjectKey) (Routes, error) {
	object := &networkingv1.Ingress{}
	if err := c.Get(ctx, key, object); err != nil {
		return Routes{}, fmt.Errorf("getting Ingress in namespace %s: %w", key.Namespace, err)
	}
	snapshot, options := NewSnapshot(c, nil), flags.Options
	snapshot.home = key.Namespace
	options.Cluster, options.VPC = "any", "any"
	ingresses := &objects.Ingresses{Client: snapshot, Secrets: nowhere{}, Class: flags.IngressClass, Options: options}
	reconciler := &balancers.Reconciler{
		Client: snapshot, Clock: clock.RealClock{}, View: nowhere{}, Lookup: nowhere{}.Lookup, Frontend: ingresses,
		Cluster: options.Cluster, Limits: options.Limits,
		MakePlan: func(stack.Stack, stack.Stack) (steps.Plan, []plan.Overflow) { return nil, nil },
	}
	out := Routes{Deleted: object.DeletionTimestamp != nil}
	if entries := object.Status.LoadBalancer.Ingress; len(entries) > 0 {
		out.Hostname = entries[0].Hostname
	}
	if err := snapshot.withoutAWS(ctx, flags.IngressClass); err != nil {
		return out, err
	}
	if err := snapshot.Get(ctx, key, object); err != nil {
		return out, fmt.Errorf("getting Ingress in namespace %s: %w", key.Namespace, err)
	}
	if out.Unsure = snapshot.isUnsure(); !out.Unsure {
		ingresses.Switches = flags.Switches
	}
	err := out.find(ctx, reconciler, object)
	out.Unread, out.Unsure = snapshot.unread, out.Unsure && out.Group == "" && len(out.Finalizers) == 0
	out.Fewer = slices.Contains(snapshot.unread, otherIngresses) && out.Group != "" && !strings.Contains(out.Group, "/")
	return out, err
}

// find fills in what the Ingress's group says of it.
func (r *Routes) find(ctx context.Context, reconciler *balancers.Reconciler, object *networkingv1.Ingress) error {
	groups, err := reconciler.Frontend.GroupsOf(ctx, object)
	if err != nil {
		return err
	}
	isIts := func(f fault.Fault) bool { return f.Member == nameOf(object) }
	for _, group := range groups {
		proposal, err := reconciler.Propose(ctx, group)
		if err != nil {
			return err
		}
		if slices.Contains(proposal.Members, nameOf(object)) {
			r.Group, r.Members = group.String(), proposal.Members
			r.Faults = slices.DeleteFunc(proposal.Faults, func(f fault.Fault) bool { return !isIts(f) })
			r.take(nameOf(object), proposal.Wanted)
			return r.bind(ctx, reconciler.Client, group, proposal.Wanted, nameOf(object))
		}
	}
	for _, group := range membership.GroupsHeld(client.ObjectKeyFromObject(object), object.Finalizers) {
		r.Finalizers = append(r.Finalizers, membership.FinalizerOf(group))
	}
	if r.Unsure {
		return nil
	}
	strays, err := reconciler.Frontend.Strays(ctx)
	r.Faults = slices.DeleteFunc(strays, func(f fault.Fault) bool { return !isIts(f) })
	return err
}

// take takes the rules of the member.
func (r *Routes) take(member string, wanted stack.Stack) {
	known := places{of: map[routeKey]int{}, count: map[string]map[int32]int{}}
	for _, balancer := range wanted.LoadBalancers {
		for _, listener := range balancer.Listeners {
			for _, rule := range listener.Rules {
				if rule.Owner == member {
					known.add(r, steps.RuleText(rule), listener.Port)
				}
			}
		}
	}
}

// places are those of routes: by their text, and by how many of the same text a listener has.
type places struct {
	of    map[routeKey]int
	count map[string]map[int32]int
}

type routeKey struct {
	text   string
	number int
}

func (p *places) add(r *Routes, text string, port int32) {
	if p.count[text] == nil {
		p.count[text] = map[int32]int{}
	}
	key := routeKey{text, p.count[text][port]}
	p.count[text][port]++
	i, known := p.of[key]
	if !known {
		p.of[key], i = len(r.Routes), len(r.Routes)
		r.Routes = append(r.Routes, Route{Text: text})
	}
	r.Routes[i].Ports = append(r.Routes[i].Ports, port)
}

// bind finds the bindings of the member's Services in its group. Of several Ingresses with one Service all bindings are taken: they have
// the same pods.
func (r *Routes) bind(ctx context.Context, c client.Client, group stack.Group, wanted stack.Stack, member string) error {
	var there v1beta1.TargetGroupBindingList
	if err := c.List(ctx, &there, client.MatchingLabels(membership.LabelsOf(group))); err != nil {
		return fmt.Errorf("listing TargetGroupBindings: %w", err)
	}
	names := map[served][]string{}
	for _, other := range there.Items {
		of := served{other.Namespace, other.Spec.ServiceRef.Name, other.Spec.ServiceRef.Port}
		names[of] = append(names[of], other.Name)
	}
	isIts := map[string]bool{} // by part
	for _, group := range wanted.TargetGroups {
		isIts[group.Part] = isIts[group.Part] || group.Owner == member
	}
	for _, binding := range wanted.Bindings {
		if !isIts[binding.Group.Part] {
			continue
		}
		found := names[served{binding.Namespace, binding.Spec.Service, binding.Spec.Port}]
		if r.Bindings = append(r.Bindings, found...); len(found) == 0 {
			r.Lost = append(r.Lost, binding.Spec.Service+":"+binding.Spec.Port.String())
		}
	}
	slices.Sort(r.Bindings)
	return nil
}

// served is a port of a Service.
type served struct {
	namespace, service string
	port               intstr.IntOrString
}

// withoutAWS takes from Ingresses and params what has to be looked up in AWS, and says nothing of where requests go. Where what says whose
// Ingresses are may not be read, those are ours that have a finalizer of ours.
func (s *Snapshot) withoutAWS(ctx context.Context, class string) error {
	var ingresses networkingv1.IngressList
	var classes networkingv1.IngressClassList
	var params ingressapi.IngressClassParamsList
	for _, list := range []client.ObjectList{&ingresses, &classes, &params} {
		if err := s.List(ctx, list); err != nil {
			return fmt.Errorf("listing %T: %w", list, err)
		}
	}
	for i := range ingresses.Items {
		object := ingresses.Items[i].DeepCopy()
		if s.isUnsure() {
			object, _ = membership.AsHeld(object, class)
		}
		delete(object.Annotations, annotation.Subnets.FullName())
		delete(object.Annotations, annotation.SecurityGroups.FullName())
		delete(object.Annotations, annotation.IssueCertificate.FullName()) // any certificate will do
		s.propose(object)
	}
	for i := range params.Items {
		object := params.Items[i].DeepCopy()
		object.Spec.Subnets, object.Spec.SecurityGroups = nil, nil
		if err := s.unselect(ctx, object); err != nil {
			return err
		}
		s.propose(object)
	}
	clear(s.read)
	return nil
}

// unselect makes params apply to all namespaces when their labels may not be read.
func (s *Snapshot) unselect(ctx context.Context, params *ingressapi.IngressClassParams) error {
	if params.Spec.NamespaceSelector == nil {
		return nil
	}
	if err := s.List(ctx, &corev1.NamespaceList{}); err != nil {
		return fmt.Errorf("listing namespaces: %w", err)
	}
	if slices.Contains(s.unread, namespaces) {
		params.Spec.NamespaceSelector = nil
	}
	return nil
}

// isUnsure reports whether what says whose Ingresses are may not be read.
func (s *Snapshot) isUnsure() bool {
	return slices.Contains(s.unread, ingressClasses) || slices.Contains(s.unread, ingressClassParams)
}

// nowhere is an AWS with nothing in it, which has what is needed.
type nowhere struct{}

func (nowhere) Stack(_ context.Context, id stack.ID) (stack.Stack, error) {
	return stack.Stack{ID: id}, nil
}
func (a nowhere) Parts(ctx context.Context, id stack.ID) (stack.Stack, error) {
	return a.Stack(ctx, id)
}
func (nowhere) Complete(context.Context, stack.Stack) (bool, error) { return false, nil }

func (nowhere) Lookup(_ context.Context, _ stack.ID, needs lookup.Needs) (lookup.Answers, error) {
	out := lookup.Answers{TargetGroups: map[string]lookup.Named{}, Certificates: []lookup.Certificate{{ARN: "any", Domains: needs.Hosts}}}
	for _, zone := range []string{"a", "b"} {
		out.Subnets = append(out.Subnets, lookup.Subnet{
			ID: "subnet-" + zone, Zone: zone, Locale: "availability-zone", Free: 100,
			Tags: map[string]string{"kubernetes.io/role/internal-elb": "1", "kubernetes.io/role/elb": "1"},
		})
	}
	for _, name := range needs.TargetGroups {
		out.TargetGroups[name] = lookup.Named{ARN: name}
	}
	out.TrustStores, out.WebACLs = map[string]lookup.Named{}, map[string]lookup.Named{}
	for _, name := range needs.TrustStores {
		out.TrustStores[name] = lookup.Named{ARN: name}
	}
	for _, name := range needs.WebACLs {
		out.WebACLs[name] = lookup.Named{ARN: name}
	}
	out.ClassicACLs = map[string]lookup.Named{}
	for _, id := range needs.ClassicACLs {
		out.ClassicACLs[id] = lookup.Named{ARN: id}
	}
	return out, nil
}

func (nowhere) Of(_ context.Context, _ stack.Group, keys []types.NamespacedName) map[types.NamespacedName]lookup.Secret {
	out := map[types.NamespacedName]lookup.Secret{}
	for _, key := range keys {
		out[key] = lookup.Secret{ClientID: "any", Secret: "any"}
	}
	return out
}

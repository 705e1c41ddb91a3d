// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress/preview"
	"github.com/targetgate/targetgate/targets/explain"
)

// explainIngress explains an Ingress: its routes, and each binding behind them with its pods.
func (o *explainOptions) explainIngress(ctx context.Context, c client.Client, explainer *explain.Explainer, key client.ObjectKey) (
	explain.Report, error,
) {
	routes, err := preview.RoutesOf(ctx, c, o.Ingress, key)
	if err != nil {
		return explain.Report{}, err
	}
	report := explain.Report{
		Chains: []explain.Chain{explain.OfIngress(key.Namespace, key.Name, ingressLinks(key, routes))},
		Notes: []string{"what has to be looked up in AWS is not checked here: see targetgate plan " + key.String() +
			", with the controller's flags (targetgate plan --help)",
			"targetgate's own flags are not read: where it runs with others than the defaults, give explain the same, " +
				"such as --load-balancer-rule-quota (explain --help lists them)"},
	}
	for _, kind := range routes.Unread {
		report.Notes = append(report.Notes, explain.UnreadNote(kind))
	}
	for _, binding := range routes.Bindings {
		of, err := explainer.Binding(ctx, client.ObjectKey{Namespace: key.Namespace, Name: binding})
		if err != nil {
			return report, err
		}
		report.Chains = append(report.Chains, of.Chains...)
		for _, note := range of.Notes {
			if !slices.Contains(report.Notes, note) {
				report.Notes = append(report.Notes, note)
			}
		}
	}
	return report, nil
}

// ingressLinks are the links from an Ingress to its bindings: first what is wrong, in the order in which requests meet it.
func ingressLinks(key client.ObjectKey, r preview.Routes) []explain.Link {
	links := []explain.Link{groupLink(key, r)}
	add := func(name string, state explain.State, seen, advice string) {
		links = append(links, explain.Link{Name: name, State: state, Seen: seen, Advice: advice})
	}
	for _, fault := range r.Faults {
		switch {
		case !fault.IsWarning():
			add("ingress", explain.Broken, fault.Error(), "Until that is changed the load balancer keeps what the Ingress was given last")
		case strings.HasPrefix(fault.Field, "spec."): // requests do not go where the Ingress says
			add("rule", explain.Broken, fault.Error(), "")
		default:
			add("ingress", explain.Unknown, fault.Error(), "")
		}
	}
	if r.Group == "" {
		return links
	}
	if r.Hostname == "" {
		add("status", explain.Waiting, "has no load balancer yet",
			"targetgate writes it when there is one; the Ingress's events say what it waits for")
	} else {
		add("status", explain.OK, "the load balancer is "+r.Hostname, "")
	}
	for _, route := range r.Routes {
		add("rule", explain.OK, fmt.Sprintf("%s, by listeners %s", route.Text, strings.Trim(fmt.Sprint(route.Ports), "[]")), "")
	}
	for _, service := range r.Lost {
		add("binding", explain.Broken, "the group has no TargetGroupBinding of Service "+service,
			"targetgate --provision makes it: the Ingress's events say what it has failed at, targetgate plan what it would do")
	}
	return links
}

func groupLink(key client.ObjectKey, r preview.Routes) explain.Link {
	switch place := slices.Index(r.Members, key.String()); {
	case r.Group != "":
		seen := fmt.Sprintf("%s, of which it is number %d of %d", r.Group, place+1, len(r.Members))
		if r.Fewer {
			seen += " that you may read"
		}
		return explain.Link{Name: "group", State: explain.OK, Seen: seen}
	case len(r.Faults) > 0:
		return explain.Link{Name: "group", State: explain.Broken, Seen: "belongs to none, because of a fault"}
	case r.Unsure:
		return explain.Link{
			Name: "group", State: explain.Unknown,
			Seen: "whether it is targetgate's is not known, as you may not read what says so, and it has no finalizer of targetgate's",
		}
	case r.Deleted || len(r.Finalizers) > 0:
		return leavingLink(key, r)
	}
	return explain.Link{
		Name: "group", State: explain.Broken, Seen: "is not targetgate's: its class is another one, or does not exist",
		Advice: "Set spec.ingressClassName to an IngressClass of controller ingress.k8s.aws/alb",
	}
}

// leavingLink is about an Ingress that belongs to no group any more.
func leavingLink(key client.ObjectKey, r preview.Routes) explain.Link {
	seen, finalizers := "is being deleted", strings.Join(r.Finalizers, ", ")
	if !r.Deleted {
		seen = "is no longer targetgate's, by its class"
	}
	if finalizers == "" {
		return explain.Link{
			Name: "group", State: explain.Waiting, Seen: seen + "; targetgate has no finalizer on it: others' finalizers keep it",
		}
	}
	return explain.Link{
		Name: "group", State: explain.Waiting,
		Seen:   fmt.Sprintf("%s; it keeps finalizer %s until nothing that was made for it serves", seen, finalizers),
		Advice: fmt.Sprintf("See its events: kubectl -n %s describe ingress %s", key.Namespace, key.Name),
	}
}

// takeIngress reads the name of an Ingress, with its namespace or without.
func (o *explainOptions) takeIngress(name string) error {
	if namespace, rest, both := strings.Cut(name, "/"); both {
		if namespace == "" || rest == "" || strings.Contains(rest, "/") {
			return fmt.Errorf("give ingress NAMESPACE/NAME, not %q", name)
		}
		o.Namespace, name = namespace, rest
	}
	o.Kind, o.Name = kindIngress, name
	return nil
}

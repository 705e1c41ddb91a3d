// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import (
	"context"
	"slices"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/targetgate/targetgate/balancers/plan/actions"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// AWS shows which client a rule has, and never its secret. Rules that we have made carry the version of their secret as a tag. Those of the
// incumbent have none: it has written the secret in each of its passes, so that the version that was there first when this process saw
// the rule counts as theirs.

// version is that of the client secret that a rule has, or the default action of a listener.
type version struct {
	text    string
	assumed bool
}

// assumeVersions fills in the versions that are not known of what is seen, and remembers all of them, by ARN.
func (m *memory) assumeVersions(wanted, seen *stack.Stack) {
	if len(wanted.LoadBalancers) == 0 {
		return
	}
	before := m.versions
	m.versions = map[string]version{}
	for _, balancer := range seen.LoadBalancers {
		for i := range balancer.Listeners {
			l := &balancer.Listeners[i]
			left := versionsOf(wanted.LoadBalancers[0].Listeners, l.Port)
			for _, rule := range logins(l) {
				key, likely := loginKey(rule), ""
				if len(left[key]) > 0 {
					likely, left[key] = left[key][0], left[key][1:]
				}
				m.versions[rule.ARN] = assume(rule.Action.Auth.OIDC, before[rule.ARN], likely)
			}
		}
	}
}

// assume fills in a version that is not known: the one that is remembered, else the one that is wanted.
func assume(o *stack.OIDC, remembered version, wanted string) version {
	if o.Version == "" {
		o.Version, o.Assumed = remembered.text, remembered.assumed
	}
	if o.Version == "" {
		o.Version, o.Assumed = wanted, wanted != ""
	}
	return version{o.Version, o.Assumed}
}

// versionsOf are the versions that are wanted on a port, by the keys of their rules, in their order.
func versionsOf(wanted []stack.Listener, port int32) map[string][]string {
	out := map[string][]string{}
	for i := range wanted {
		if wanted[i].Port != port {
			continue
		}
		for _, rule := range logins(&wanted[i]) {
			out[loginKey(rule)] = append(out[loginKey(rule)], rule.Action.SecretVersion())
		}
	}
	return out
}

// logins are the rules of a listener, its default action first, that have users log in at an OpenID Connect provider.
func logins(l *stack.Listener) []stack.Rule {
	all := append([]stack.Rule{{ARN: l.ARN, Action: l.Default}}, l.Rules...)
	return slices.DeleteFunc(all, func(r stack.Rule) bool { return r.Action.Auth == nil || r.Action.Auth.OIDC == nil })
}

// loginKey is equal for rules that ask for a login with the same client before they answer the same requests.
func loginKey(rule stack.Rule) string {
	return rule.Action.Auth.OIDC.Issuer + " " + rule.Action.Auth.OIDC.ClientID + " " + actions.ConditionsKey(rule.Conditions)
}

// noteVersion takes in what a step has written. Of what it has made the view has the version.
func (m *memory) noteVersion(change steps.Change) {
	arn := ""
	switch c := change.(type) {
	case steps.ModifyRule:
		arn = c.Rule.ID
	case steps.ModifyListener:
		arn = c.Listener.ID
	}
	if action := steps.ActionOf(change); arn != "" && action.SecretVersion() != "" && !action.IsVersionAssumed() {
		m.versions[arn] = version{text: action.SecretVersion()}
	}
}

// enqueueSecretChanges requests passes over groups whose Secrets change.
func (r *Reconciler) enqueueSecretChanges(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.SecretChanges(ctx, func(group stack.Group) {
		queue.Add(requestOf(group))
	})
	return nil
}

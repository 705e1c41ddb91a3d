// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/targets/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// The paths are the incumbent's.
const (
	podPath             = "/mutate-v1-pod"
	bindingMutatePath   = "/mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding"
	bindingValidatePath = "/validate-elbv2-k8s-aws-v1beta1-targetgroupbinding"
)

// indexBindingARN finds the bindings of a target group.
const indexBindingARN = "webhook.binding.arn"

// Accounts hands out the client that acts as a role; *elbv2.Accounts does.
type Accounts interface {
	Client(elbv2.Role) *elbv2.Client
}

// Options are what the handlers need besides the manager.
type Options struct {
	Accounts Accounts
	// OwnVPC finds the ID of the VPC that the cluster is in.
	OwnVPC func(context.Context) (string, error)
	// Namespaces are the ones that are watched; all when empty.
	Namespaces []string
	// InjectGates switches the gates in pods on; when off, pods are admitted as they are.
	InjectGates bool
	// Termination gives pods with a gate time to leave.
	Termination Termination
}

// +kubebuilder:webhookconfiguration:mutating=true,name=targetgate-webhook
// +kubebuilder:webhookconfiguration:mutating=false,name=targetgate-webhook

// Setup registers the three handlers with the manager's webhook server. They work on every replica, leader or not.
func Setup(ctx context.Context, mgr ctrl.Manager, opts Options) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &v1beta1.TargetGroupBinding{}, indexBindingARN, func(o client.Object) []string {
		return []string{o.(*v1beta1.TargetGroupBinding).Spec.TargetGroupARN}
	})
	if err != nil {
		return fmt.Errorf("indexing bindings by target group: %w", err)
	}
	if _, err := mgr.GetCache().GetInformer(ctx, &corev1.Service{}); err != nil { // so that it is synced before we are ready
		return fmt.Errorf("watching Services: %w", err)
	}
	reader := mgr.GetClient()
	server := mgr.GetWebhookServer()
	if opts.InjectGates {
		mutator := &podMutator{reader: reader, namespaces: opts.Namespaces, protector: newProtector(opts.Termination)}
		if !mutator.protector.canSleep {
			mgr.GetLogger().Info("Pods get no preStop sleep: that needs Kubernetes 1.30", "apiServer", opts.Termination.ServerVersion)
		}
		server.Register(podPath, serverErrors(mutation, &admission.Webhook{Handler: mutator}))
	} else {
		server.Register(podPath, serverErrors(mutation, &admission.Webhook{Handler: admission.HandlerFunc(admitUnchanged)}))
	}
	facts := newFacts(opts.Accounts, clock.RealClock{})
	server.Register(bindingMutatePath, serverErrors(mutation,
		admission.WithDefaulter(mgr.GetScheme(), &bindingDefaulter{facts: facts})))
	server.Register(bindingValidatePath, serverErrors(validation, admission.WithValidator(mgr.GetScheme(), &bindingValidator{
		reader: reader, ownVPC: opts.OwnVPC, facts: facts, claims: newClaims(clock.RealClock{}),
	})))
	return nil
}

func admitUnchanged(context.Context, admission.Request) admission.Response {
	return admission.Allowed("readiness gates are switched off by --enable-pod-readiness-gate-inject=false")
}

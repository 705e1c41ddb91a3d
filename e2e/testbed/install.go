// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/targets/v1beta1"
)

const (
	// namespace is targetgate's own.
	namespace = "targetgate-system"
	// account is the service account that targetgate is to the API server.
	account = "targetgate"
	// nodesUser is who all nodes together are to the API server. It queues their requests as it does those of kubelets, by
	// their group; an administrator's would go ahead of everybody's.
	nodesUser, nodesGroup = "nodes", "system:nodes"
)

// install applies what config/ ships: the CRD, and roles for targetgate's service account; with Options.Values, what the chart does.
func (b *Bed) install(ctx context.Context) error {
	for _, object := range []client.Object{
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: nodesUser},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: nodesUser}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: namespace}},
	} {
		if err := b.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
		}
	}
	if b.options.Values != nil {
		return errors.Join(b.Cluster.Apply(ctx, b.definitions()...), b.installChart(ctx))
	}
	folders := []string{"config/rbac"}
	if b.options.Provisioning {
		folders = append(folders, "config/provision")
	}
	for i, folder := range folders {
		folders[i] = filepath.Join(b.root, folder)
	}
	return b.Cluster.Apply(ctx, append(folders, b.definitions()...)...)
}

// definitions are the folders of the CRDs.
func (b *Bed) definitions() []string {
	return []string{filepath.Join(b.root, "config/crd"), filepath.Join(b.root, "config/provision/crd")}
}

// installWebhooks applies the shipped configuration. That the API server trusts targetgate is targetgate's own work.
func (b *Bed) installWebhooks(ctx context.Context) (err error) {
	if b.ports, err = freePorts(); err != nil {
		return err
	}
	return b.pointWebhooks(ctx, b.ports.webhook)
}

// awaitWebhooks returns when the API server acts on the configuration. Beside another controller there may be no webhook for bindings,
// to try it with: then tests have to wait until pods get gates.
func (b *Bed) awaitWebhooks(ctx context.Context) error {
	if b.options.Values != nil {
		return nil
	}
	return await(ctx, "webhooks to be called", 30*time.Second, b.webhooksCalled)
}

// webhooksCalled tries, dry, to create a binding that only the mutating webhook refuses.
func (b *Bed) webhooksCalled(ctx context.Context) error {
	err := b.Client.Create(ctx, &v1beta1.TargetGroupBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"},
		Spec: v1beta1.TargetGroupBindingSpec{
			TargetGroupName: "no-such-group", ServiceRef: v1beta1.ServiceReference{Name: "probe", Port: intstr.FromInt32(80)},
		},
	}, client.DryRunAll)
	if apierrors.IsForbidden(err) {
		return nil
	}
	return fmt.Errorf("creating a binding of a group that does not exist: got %w, want a refusal", err)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// permissions are all that targetgate is granted, and the function that needs it, in its file.
var permissions = []struct{ role, resource, name, verbs, need string }{
	{"ClusterRole", "configmaps", "", "get", "targets/claims/record.go ReadRecord"},
	{"ClusterRole", "configmaps", "", "create patch", "targets/claims/record.go saveRecord"},
	{"ClusterRole", "configmaps", "", "delete", "targets/claims/record.go deleteRecord"},
	{"ClusterRole", "endpointslices.discovery.k8s.io", "", "list watch", "targets/setup.go SetupWithManager"},
	{"ClusterRole", "events.events.k8s.io", "", "create", "targets/events/queue.go create"},
	{"ClusterRole", "mutatingwebhookconfigurations.admissionregistration.k8s.io", webhookName, "get", "targets/scope/scope.go ReadScope"},
	{"ClusterRole", "mutatingwebhookconfigurations.admissionregistration.k8s.io", webhookName, "list watch", "webhook/certs/selfmade.go watch"},
	{"ClusterRole", "mutatingwebhookconfigurations.admissionregistration.k8s.io", webhookName, "patch", "webhook/certs/pass.go write"},
	{"ClusterRole", "namespaces", "", "list watch", "targets/setup.go SetupWithManager"},
	{"ClusterRole", "nodes", "", "list watch", "targets/setup.go SetupWithManager"},
	{"ClusterRole", "pods", "", "list watch", "targets/setup.go SetupWithManager"},
	{"ClusterRole", "pods/status", "", "patch", "readiness/condition.go Set"},
	{"ClusterRole", "services", "", "list watch", "targets/setup.go SetupWithManager"},
	{"ClusterRole", "targetgroupbindings.elbv2.k8s.aws", "", "list watch", "targets/setup.go SetupWithManager"},
	{"ClusterRole", "targetgroupbindings.elbv2.k8s.aws", "", "patch", "targets/claims/claims.go addFinalizer"},
	{"ClusterRole", "targetgroupbindings/status.elbv2.k8s.aws", "", "patch", "targets/status/writer.go patch"},
	{"ClusterRole", "validatingwebhookconfigurations.admissionregistration.k8s.io", webhookName, "list watch", "webhook/certs/selfmade.go watch"},
	{"ClusterRole", "validatingwebhookconfigurations.admissionregistration.k8s.io", webhookName, "patch", "webhook/certs/pass.go write"},
	{"Role", "configmaps", recordName, "get", "targets/networking/configmap.go Load"},
	{"Role", "configmaps", recordName, "patch", "targets/networking/configmap.go Save"},
	{"Role", "leases.coordination.k8s.io", "", "create", "cmd/targetgate/manager.go newLease"}, // a creation has no name to limit it to
	{"Role", "leases.coordination.k8s.io", "aws-load-balancer-controller-leader", "get update", "cmd/targetgate/manager.go newLease"},
	{"Role", "secrets", "targetgate-webhook-ca", "list watch", "webhook/certs/selfmade.go watch"},
	{"Role", "secrets", "targetgate-webhook-ca", "update", "webhook/certs/pass.go resetForeignCA"},
}

const (
	webhookName = "targetgate-webhook"
	recordName  = "targetgate-security-group-rules"
)

// permission is one verb of a rule. The name is empty where the rule limits it to none.
type permission struct{ Role, Verb, Resource, Name string }

// Nothing is granted that is not needed. That nothing else is needed is seen when the test bed is closed.
func TestEveryPermissionIsUsed(t *testing.T) {
	granted := grantedPermissions(t)
	if diff := gocmp.Diff(listedPermissions(t), granted); diff != "" {
		t.Errorf("permissions (-listed +granted):\n%s", diff)
	}
	// Where API servers cannot stream lists, before 1.32 and in 1.33, a list comes before each watch.
	bed.Targetgate.Env = []string{"KUBE_FEATURE_WatchListClient=false"}
	bed.WithFlags(t) // none: it is started anew, for its environment
	t.Cleanup(func() { bed.Targetgate.Env = nil })
	renewCA(t)
	liveInSharedGroup(t)
	askForRule(t)
	suite.Eventually(t, "each permission to be used", func() error {
		requests, err := bed.Cluster.Requests()
		if err != nil {
			return err
		}
		unused := slices.DeleteFunc(slices.Clone(granted), func(p permission) bool {
			return slices.ContainsFunc(requests, p.allowed)
		})
		if len(unused) > 0 {
			return fmt.Errorf("nothing needs %q", unused)
		}
		return nil
	})
}

// grantedPermissions are those of the roles as they are installed.
func grantedPermissions(t *testing.T) []permission {
	t.Helper()
	var cluster rbacv1.ClusterRole
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKey{Name: "targetgate"}, &cluster))
	var sharing rbacv1.ClusterRole
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKey{Name: "targetgate-shared-groups"}, &sharing))
	var own rbacv1.Role
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKey{Namespace: "targetgate-system", Name: "targetgate"}, &own))
	var out []permission
	for role, rules := range map[string][]rbacv1.PolicyRule{"ClusterRole": slices.Concat(cluster.Rules, sharing.Rules), "Role": own.Rules} {
		for _, rule := range rules {
			out = append(out, permissionsOf(role, rule)...)
		}
	}
	return sorted(out)
}

func permissionsOf(role string, rule rbacv1.PolicyRule) (out []permission) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					out = append(out, permission{role, verb, groupResource(resource, group), name})
				}
			}
		}
	}
	return out
}

func groupResource(resource, group string) string { return strings.TrimSuffix(resource+"."+group, ".") }

func sorted(list []permission) []permission {
	slices.SortFunc(list, func(a, b permission) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb))
	})
	return list
}

// listedPermissions are those of the table. What needs them has to be there.
func listedPermissions(t *testing.T) (out []permission) {
	t.Helper()
	for _, p := range permissions {
		for verb := range strings.FieldsSeq(p.verbs) {
			out = append(out, permission{p.role, verb, p.resource, p.name})
		}
		file, function, _ := strings.Cut(p.need, " ")
		code, err := os.ReadFile(filepath.Join(suite.Root, file))
		suite.Must(t, err)
		if !regexp.MustCompile(`(?m)^func (\(.*?\) )?` + function + `\(`).Match(code) {
			t.Errorf("%s %s: there is no function %s in %s any more", p.verbs, p.resource, function, file)
		}
	}
	return sorted(out)
}

// allowed reports whether the request was allowed by this permission. Server-side apply needs create, too, where there was
// no object. The bed grants shared groups all ConfigMaps, and API servers name that role first.
func (p permission) allowed(r cluster.Request) bool {
	verb := r.Verb == p.Verb || p.Verb == "create" && r.Created
	granted := strings.Contains(r.Grant, fmt.Sprintf("of %s \"targetgate", p.Role)) || // or targetgate-shared-groups
		p.Name == recordName && strings.Contains(r.Grant, "targetgate-shared-groups")
	return verb && groupResource(r.Resource, r.Group) == p.Resource && (p.Name == "" || p.Name == r.Name) && granted
}

func renewCA(t *testing.T) {
	t.Helper()
	before := caInSecret(t)
	changeCASecret(t, func(data map[string][]byte) { clear(data) })
	awaitServedByCAInSecret(t, []*testbed.Targetgate{bed.Targetgate}, before)
}

// liveInSharedGroup creates a binding, changes its targets and deletes it.
func liveInSharedGroup(t *testing.T) {
	t.Helper()
	app := suite.NewShared("permissions")
	app.Replicas, app.PreStopSeconds = 1, 0
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	suite.Must(t, bed.Scale(t.Context(), app, 2))
	bed.AwaitRolled(t, app)
	bed.AwaitRecord(t, app, suite.KeysOf(bed.Pods(t, app), 8080)...)
	bed.DeleteBinding(t, app)
}

// askForRule gives a node a network interface with an open security group, and has a binding ask for a rule there.
func askForRule(t *testing.T) {
	t.Helper()
	aws := bed.AWS
	group, err := aws.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: "permissions", Description: "open"})
	suite.Must(t, err)
	open := ec2.Permission{Rule: ec2.Rule{Protocol: "-1", Source: ec2.Source{CIDR: netip.MustParsePrefix("0.0.0.0/0")}}}
	suite.Must(t, aws.EC2.AuthorizeIngress("", group.ID, []ec2.Permission{open}))
	var nodes corev1.NodeList
	suite.Must(t, bed.Client.List(t.Context(), &nodes))
	node := nodes.Items[0]
	eni := ec2.Interface{
		ID: "eni-0123456789abcdef0", Instance: path.Base(node.Spec.ProviderID), Groups: []string{group.ID},
		Addresses: []netip.Addr{netip.MustParseAddr(node.Status.Addresses[0].Address)},
		Prefixes:  []netip.Prefix{netip.MustParsePrefix(node.Spec.PodCIDR)},
	}
	suite.Must(t, aws.EC2.PutInterface(eni))
	t.Cleanup(func() { suite.Must(t, aws.EC2.DeleteInterface(eni.ID)) })
	app := suite.NewApp("rules")
	app.Replicas, app.PreStopSeconds, app.Node = 1, 0, node.Name
	app.Change = func(b *v1beta1.TargetGroupBinding) {
		anyone := v1beta1.NetworkingPeer{IPBlock: &v1beta1.IPBlock{CIDR: "10.0.0.0/8"}}
		port := intstr.FromInt32(8080)
		b.Spec.Networking = &v1beta1.TargetGroupBindingNetworking{Ingress: []v1beta1.NetworkingIngressRule{
			{From: []v1beta1.NetworkingPeer{anyone}, Ports: []v1beta1.NetworkingPort{{Port: &port}}},
		}}
	}
	bed.Deploy(t, app)
	bed.AwaitRolled(t, app)
	suite.Eventually(t, "the rule to be added", func() error {
		now, err := aws.EC2.SecurityGroup(group.ID)
		if err == nil && len(now.Ingress) != 2 {
			err = fmt.Errorf("%d rules, want 2", len(now.Ingress))
		}
		return err
	})
	bed.DeleteBinding(t, app)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package ingress

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
)

// A tenant of another cluster in the same VPC says in every way that what is made belongs to a group of ours, and deletes it again: nothing
// of ours changes, in AWS or for clients.
func TestATenantOfAnotherClusterChangesNothing(t *testing.T) {
	t.Parallel()
	app := newApp("neighbour")
	app.Replicas = 1
	ours, balancer, host := serve(t, app, "target-type=ip", "group.name=neighbour")
	before, err := madeFor(bed.ClusterName(), "neighbour")
	suite.Must(t, err)
	if len(before) < 3 {
		t.Fatalf("AWS has %v of the group, want a load balancer, a target group and a security group", before)
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(balancer, "internal-"), ".")
	name = name[:strings.LastIndex(name, "-")] // what AWS adds to the name
	var group, securityGroup string
	for id := range before {
		switch {
		case strings.Contains(id, ":targetgroup/"):
			group = id
		case strings.HasPrefix(id, "sg-"):
			securityGroup = id
		}
	}
	stop := underLoad(t, app, balancer, host, "/")

	other := bed.StartOtherCluster(t, "hostile")
	other.Deploy(t, app)
	tags := "tags=elbv2.k8s.aws/cluster=" + bed.ClusterName() + ",ingress.k8s.aws/cluster=" + bed.ClusterName() +
		",ingress.k8s.aws/stack=neighbour,ingress.k8s.aws/resource=LoadBalancer"
	var hostile []*networkingv1.Ingress
	for i, annotations := range [][]string{
		{tags, "group.name=neighbour"}, // and so has all names of ours, but for the cluster's part
		{"load-balancer-name=" + name},
		{"security-groups=" + securityGroup, "manage-backend-security-group-rules=true"},
		{`actions.theirs={"type": "forward", "targetGroupARN": "` + group + `"}`},
	} {
		served := "/ " + app.Name
		if i == 3 {
			served = "/ theirs"
		}
		ingress := newIngress(app.Name, []networkingv1.IngressRule{rule(host, served)}, append(annotations, "target-type=ip")...)
		if ingress.Name = fmt.Sprint("hostile-", i); i == 3 {
			ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port = networkingv1.ServiceBackendPort{Name: "use-annotation"}
		}
		suite.Must(t, other.Client.Create(t.Context(), ingress))
		hostile = append(hostile, ingress)
	}
	suite.Eventually(t, "load balancers of the other cluster", func() error {
		for _, i := range []int{0, 2} {
			suite.Must(t, other.Client.Get(t.Context(), client.ObjectKeyFromObject(hostile[i]), hostile[i]))
			if len(hostile[i].Status.LoadBalancer.Ingress) == 0 {
				return fmt.Errorf("%s has none", hostile[i].Name)
			}
		}
		return nil
	})
	for _, ingress := range hostile {
		suite.Must(t, other.Client.Delete(t.Context(), ingress))
	}
	suite.Eventually(t, "all of the other cluster to be gone", func() error {
		left, err := madeFor("hostile", "")
		if len(left) > 0 {
			err = fmt.Errorf("there are %v", left)
		}
		return err
	})
	stop()
	after, err := madeFor(bed.ClusterName(), "neighbour")
	suite.Must(t, err)
	if !maps.EqualFunc(before, after, maps.Equal) {
		t.Errorf("of the group there were %v, and now there are %v", before, after)
	}
	suite.Must(t, bed.Client.Delete(t.Context(), ours.DeepCopy()))
	awaitGone(t, ours, "neighbour")
}

// madeFor are the tags of what was made for a cluster's group, or of all that was made for the cluster.
func madeFor(cluster, group string) (map[string]map[string]string, error) {
	all, err := tagged()
	maps.DeleteFunc(all, func(_ string, tags map[string]string) bool {
		return tags["elbv2.k8s.aws/cluster"] != cluster || group != "" && tags["ingress.k8s.aws/stack"] != group
	})
	return all, err
}

//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers/ingress/preview"
	"github.com/targetgate/targetgate/e2e/suite"
)

// Rule 36: a load balancer whose Ingress went without its finalizer while targetgate was down stays, and the command orphans lists it. On
// request it goes with all that was made for it, while targetgate runs; not while any Ingress names its group.
func TestALoadBalancerWithoutIngressIsDeletedOnRequest(t *testing.T) {
	app := newApp("orphaned")
	app.Replicas = 1
	ingress, host, _ := serve(t, app, "target-type=ip")
	group := ingress.Namespace + "/" + ingress.Name
	bed.Targetgate.Kill()
	var there networkingv1.Ingress
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), &there))
	there.Finalizers = nil
	suite.Must(t, bed.Client.Update(t.Context(), &there))
	suite.Must(t, bed.Client.Delete(t.Context(), &there))
	suite.Must(t, bed.Targetgate.Restart(t.Context()))

	orphan := listedOrphan(t, group)
	if len(orphan.LoadBalancers) != 1 || !strings.Contains(host, orphan.LoadBalancers[0]) || orphan.Kept == "" || orphan.Refused || len(orphan.Steps) == 0 {
		t.Errorf("listed: %+v, want %s, kept as the only load balancer there is", orphan, host)
	}
	other := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ingress.Namespace, Name: ingress.Name, Annotations: map[string]string{"kubernetes.io/ingress.class": "another"},
		},
		Spec: networkingv1.IngressSpec{Rules: ingress.Spec.Rules},
	}
	suite.Must(t, bed.Client.Create(t.Context(), other))
	for name, want := range map[string]string{group: "Ingress " + group + " names its group", "nowhere": "neither a group nor a load balancer"} {
		if out, code := runCommand(t, "orphans", nil, "--delete="+name); code != 1 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, said %s", code, out)
		}
	}
	suite.Must(t, bed.Client.Delete(t.Context(), other))
	if left, err := leftOf(group); err != nil || len(left) < 3 {
		t.Errorf("there is %q, error %v, want all that was made", left, err)
	}
	if out, code := runCommand(t, "orphans", nil, "--delete="+orphan.LoadBalancers[0]); code != 0 || !strings.Contains(out, "nothing is left") {
		t.Fatalf("exit code %d, said %s", code, out)
	}
	suite.Eventually(t, "nothing to be left", func() error {
		left, err := leftOf(group)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%q is there", left)
		}
		return err
	})
	if out, _ := runCommand(t, "orphans", nil); strings.Contains(out, group) {
		t.Errorf("it is listed yet: %s", out)
	}
}

// listedOrphan is what the command says of a group.
func listedOrphan(t *testing.T, group string) preview.Orphan {
	t.Helper()
	out, code := runCommand(t, "orphans", nil, "-o", "json")
	if code != 2 {
		t.Fatalf("exit code %d, want 2 for a list that has any: %s", code, out)
	}
	var report preview.Orphans
	suite.Must(t, json.Unmarshal([]byte(out), &report))
	orphan, found := report.Find(group)
	if !found {
		t.Fatalf("group %s is not listed: %s", group, out)
	}
	return orphan
}

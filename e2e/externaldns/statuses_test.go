//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"context"
	"fmt"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// watchStatuses looks at each version that the API server has of each Ingress of the app's namespace, until the end of the test, which fails
// if the status of one would have made ExternalDNS publish a wrong record, or take away a right one.
func watchStatuses(t *testing.T, app *testbed.App) {
	t.Helper()
	watcher, err := client.NewWithWatch(bed.Cluster.AdminConfig(), client.Options{})
	suite.Must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	versions, err := watcher.Watch(ctx, &networkingv1.IngressList{}, client.InNamespace(app.Name))
	suite.Must(t, err)
	seen, ended := statuses{}, make(chan struct{})
	go func() {
		defer close(ended)
		for event := range versions.ResultChan() {
			ingress, ok := event.Object.(*networkingv1.Ingress)
			if !ok || event.Type == watch.Deleted {
				continue
			}
			if err := seen.add(ingress); err != nil {
				t.Errorf("Ingress %s, version %s: %v", ingress.Name, ingress.ResourceVersion, err)
			}
		}
	}()
	t.Cleanup(func() {
		if ctx.Err() != nil || isClosed(ended) {
			t.Error("the API server has ended the watch of Ingresses")
		}
		cancel()
		<-ended
		if len(seen) == 0 {
			t.Error("no Ingress was seen with a load balancer")
		}
	})
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// statuses are the load balancers' names that were last seen in those of Ingresses.
type statuses map[types.UID]string

// add is an error if the Ingress has a status that it should not have after those before.
func (s statuses) add(ingress *networkingv1.Ingress) error {
	entries, before := ingress.Status.LoadBalancer.Ingress, s[ingress.UID]
	if len(entries) == 0 {
		if before != "" {
			return fmt.Errorf("the status is empty, which was %s", before)
		}
		return nil
	}
	name := entries[0].Hostname
	balancer, exists := bed.AWS.ELB.BalancerNamed(name)
	switch {
	case len(entries) != 1 || entries[0].IP != "":
		return fmt.Errorf("the status is %+v, want one host name and nothing else", entries)
	case name == before: // it goes before the Ingress does
	case !exists || name != strings.ToLower(balancer.DNSName):
		return fmt.Errorf("the status names %q, want AWS's name of a load balancer, in lower case", name)
	case before != "" && !balancer.Active:
		return fmt.Errorf("the status names %s, which is not active yet, in place of %s", name, before)
	}
	s[ingress.UID] = name
	return nil
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// shortLived are lifetimes that a test can wait for: a CA is replaced after a minute, a certificate after 20 s. Much shorter ones end
// on a busy machine before what follows them has been written.
var shortLived = []string{"--webhook-ca-duration=90s", "--webhook-cert-duration=30s"}

func TestRotationOfTheCAIsNotNoticed(t *testing.T) {
	replicas := twoReplicas(t, shortLived...)
	renewCASecret(t) // it holds one of a year
	awaitServedByCAInSecret(t, replicas, nil)
	stop := trusted(t, replicas)
	t.Run("by age", func(t *testing.T) {
		awaitServedByCAInSecret(t, replicas, caInSecret(t))
	})
	t.Run("every few seconds", func(t *testing.T) {
		for range 8 {
			before := caInSecret(t)
			renewCASecret(t)
			awaitServedByCAInSecret(t, replicas, before)
		}
	})
	stop()
}

// None of this is a reason to stop serving by the CA before.
func TestCAIsReplacedWhateverHappensToItsSecret(t *testing.T) {
	replicas := twoReplicas(t, shortLived...)
	renewCASecret(t)
	awaitServedByCAInSecret(t, replicas, nil)
	foreign, foreignKey := newCA(t, "evil")
	other, otherKey := newCA(t, "targetgate-webhook-ca")
	tests := map[string]struct {
		change    func(data map[string][]byte)
		wantTaken bool // rather than replaced
	}{
		"emptied":           {change: func(data map[string][]byte) { clear(data) }},
		"corrupted":         {change: func(data map[string][]byte) { data[corev1.TLSCertKey] = []byte("garbage") }},
		"half a key":        {change: func(data map[string][]byte) { data[corev1.TLSPrivateKeyKey] = data[corev1.TLSPrivateKeyKey][:80] }},
		"key of another":    {change: func(data map[string][]byte) { data[corev1.TLSPrivateKeyKey] = otherKey }},
		"of somebody else":  {change: func(data map[string][]byte) { putCA(data, foreign, foreignKey) }},
		"another replica's": {change: func(data map[string][]byte) { putCA(data, other, otherKey) }, wantTaken: true},
	}
	stop := trusted(t, replicas)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			before := caInSecret(t)
			changeCASecret(t, tc.change)
			awaitServedByCAInSecret(t, replicas, before)
			if got := string(caInSecret(t)) == string(other); got != tc.wantTaken {
				t.Errorf("the CA that was put there is used: %v, want %v", got, tc.wantTaken)
			}
			for i, replica := range replicas {
				suite.Eventually(t, fmt.Sprintf("replica %d to be ready", i), func() error { return replica.Ready(t.Context()) })
			}
		})
	}
	stop()
}

func TestDamagedCABundleIsRepaired(t *testing.T) {
	replicas := twoReplicas(t)
	foreign, _ := newCA(t, "evil")
	awaitServedByCAInSecret(t, replicas, nil)
	tests := map[string]func(i int, bundle []byte) []byte{
		"removed":              func(int, []byte) []byte { return nil },
		"removed from one":     func(i int, bundle []byte) []byte { return bundle[:len(bundle)*min(i, 1)] },
		"somebody else's":      func(int, []byte) []byte { return foreign },
		"somebody else's, too": func(_ int, bundle []byte) []byte { return append(bundle, foreign...) },
		"text added":           func(_ int, bundle []byte) []byte { return append(bundle, "# by hand\n"...) },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			setCABundles(t, change)
			suite.Eventually(t, "every caBundle to hold the CA and nothing of others", func() error {
				for i, bundle := range caBundles(t) {
					text := string(bundle)
					if !strings.Contains(text, string(caInSecret(t))) || strings.Contains(text, string(foreign)) || strings.Contains(text, "#") {
						return fmt.Errorf("caBundle %d is:\n%s", i, text)
					}
				}
				return nil
			})
			suite.Eventually(t, "the API server to be served", func() error { return bed.AskWebhook(t.Context()) })
		})
	}
}

// A replica that may not repair caBundle is not ready. It becomes ready without a restart.
func TestReplicasAreReadyOnlyWhenTrusted(t *testing.T) {
	replicas := twoReplicas(t)
	t.Cleanup(bed.Excuse()) // what they are refused until they are ready again
	allow := withdrawPatchOfWebhooks(t)
	foreign, _ := newCA(t, "evil")
	for i, replica := range replicas {
		suite.Eventually(t, fmt.Sprintf("replica %d not to be ready", i), func() error {
			setCABundles(t, func(int, []byte) []byte { return foreign }) // again, as the permission is gone a moment later
			err := replica.Ready(t.Context())
			if err == nil || !strings.Contains(err.Error(), "[-]certificate failed") {
				return fmt.Errorf("it says: %w", err)
			}
			return nil
		})
	}
	if err := bed.AskWebhook(t.Context()); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Errorf("a binding gets %v, want the TLS failure that readiness tells of", err)
	}
	allow()
	for i, replica := range replicas {
		suite.Eventually(t, fmt.Sprintf("replica %d to be ready", i), func() error { return replica.Ready(t.Context()) })
	}
	suite.Eventually(t, "the API server to be served", func() error { return bed.AskWebhook(t.Context()) })
}

// withdrawPatchOfWebhooks takes the permission to change webhook configurations from targetgate, until allow is called.
func withdrawPatchOfWebhooks(t *testing.T) (allow func()) {
	t.Helper()
	var role rbacv1.ClusterRole
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKey{Name: "targetgate"}, &role))
	shipped := role.DeepCopy()
	for i, rule := range role.Rules {
		if rule.APIGroups[0] == "admissionregistration.k8s.io" {
			role.Rules[i].Verbs = []string{"list", "watch"}
		}
	}
	suite.Must(t, bed.Client.Update(t.Context(), &role))
	allow = sync.OnceFunc(func() {
		shipped.ResourceVersion = ""
		suite.Must(t, bed.Client.Update(context.Background(), shipped))
	})
	t.Cleanup(allow)
	return allow
}

// The first start: an empty Secret, nothing in caBundle, and two at the same moment.
func TestReplicasStartFromNothing(t *testing.T) {
	replicas := twoReplicas(t)
	for _, replica := range replicas {
		replica.Stop()
	}
	renewCASecret(t)
	setCABundles(t, func(int, []byte) []byte { return nil })
	failures := make([]error, len(replicas))
	var starting sync.WaitGroup
	for i, replica := range replicas {
		starting.Go(func() {
			if failures[i] = replica.Restart(t.Context()); failures[i] == nil {
				failures[i] = shake(replica, caBundles(t)[0]) // ready is what it now says it is
			}
		})
	}
	starting.Wait()
	suite.Must(t, errors.Join(failures...))
	awaitServedByCAInSecret(t, replicas, nil)
}

// As cert-manager and ACM PCA do it: caBundle is not targetgate's then, and the chart grants it nothing for that.
func TestCertificateFromFilesIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	first, err := cluster.ServingCertificate(dir, webhookHost)
	suite.Must(t, err)
	bed.Targetgate.Stop()
	begun := time.Now()
	bed.WithFlags(t, "--webhook-cert-dir="+dir)
	replicas := []*testbed.Targetgate{bed.Targetgate}
	setCABundles(t, func(int, []byte) []byte { return first })
	suite.Eventually(t, "the API server to be served", func() error { return bed.AskWebhook(t.Context()) })

	second, err := cluster.ServingCertificate(dir, webhookHost)
	suite.Must(t, err)
	setCABundles(t, func(int, []byte) []byte { return second })
	awaitServedBy(t, replicas, second)
	suite.Eventually(t, "the API server to be served", func() error { return bed.AskWebhook(t.Context()) })
	for i, bundle := range caBundles(t) {
		if string(bundle) != string(second) {
			t.Errorf("caBundle %d is not as it was set", i)
		}
	}
	requests, err := bed.Cluster.Requests()
	suite.Must(t, err)
	for _, r := range requests {
		readsScope := r.Verb == "get" && r.Resource == "mutatingwebhookconfigurations" // which pods admission is asked about
		if r.Received.After(begun) && (r.Resource == "secrets" || r.Group == admissionregistrationv1.GroupName && !readsScope) {
			t.Errorf("targetgate asked to %s %s %s", r.Verb, r.Resource, r.Name)
		}
	}
}

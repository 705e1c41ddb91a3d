// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// What `helm upgrade` does with enableCertManager, first true and later false, and what cert-manager then does by itself: it
// renews the CA that is there, makes a certificate, has cainjector write caBundle, and renews both. All the time pods get
// gates, and a binding that is wrong is refused, although the certificate comes to targetgate later than the CA to API servers.
func TestCertManagerTakesCertificatesOverAndGivesThemBack(t *testing.T) {
	replicas := twoReplicas(t, "--shutdown-delay=1s")
	renewCASecret(t) // whatever the tests before have left there
	awaitServedByCAInSecret(t, replicas, nil)
	front, err := bed.SpreadWebhooks(t.Context(), replicas...)
	suite.Must(t, err)
	t.Cleanup(func() { suite.Must(t, front.Close(context.Background())) })
	app := suite.NewApp("certmanager")
	app.Replicas = 0
	bed.Deploy(t, app)
	bed.AwaitGated(t, app)
	startCertManager(t)
	created := createThroughout(t, app)

	t.Log("enableCertManager=true")
	manifests := renderForCertManager(t)
	excused := bed.Excuse()
	allow := withdrawPatchOfWebhooks(t) // the chart grants it for self-made certificates only
	suite.Must(t, bed.Cluster.Apply(t.Context(), manifests.certificates))
	t.Cleanup(func() { suite.Must(t, bed.ReplaceWebhooks(context.Background(), "")) })
	suite.Must(t, bed.ReplaceWebhooks(t.Context(), manifests.webhooks))
	awaitInjected(t)
	awaitRenewed(t, servingSecret, nil) // the new pods wait for their volume
	roll(t, front, replicas, "--shutdown-delay=1s", "--webhook-cert-dir="+mountSecret(t, servingSecret))
	assertFromSecret(t, replicas)
	excused() // those who made their own certificates are gone

	watching, stop := context.WithCancel(t.Context())
	defer stop()
	for i, replica := range replicas {
		watch(t, func() { watchServed(watching, t, i, replica) })
	}
	for range 2 { // under the CA of before, and under the new one
		t.Log("renewing the certificate")
		renew(t, servingSecret)
		assertFromSecret(t, replicas)
		t.Log("renewing the CA")
		renew(t, caSecret)
		awaitInjected(t)
	}
	stop()

	t.Log("enableCertManager=false")
	suite.Must(t, bed.ReplaceWebhooks(t.Context(), ""))
	allow()
	roll(t, front, replicas, "--shutdown-delay=1s")
	deleteCertificates(t)
	awaitServedBy(t, replicas, nil)
	before := caInSecret(t)
	renewCASecret(t) // caBundle is targetgate's again
	awaitServedByCAInSecret(t, replicas, before)
	if created() < 50 {
		t.Errorf("only %d creations: this proves little", created())
	}
}

// roll restarts the replicas with these flags, one after the other, as a rollout does.
func roll(t *testing.T, front *testbed.Spreader, replicas []*testbed.Targetgate, args ...string) {
	t.Helper()
	for i, replica := range replicas {
		front.Lead(replicas[1-i])
		suite.Must(t, replica.RestartWith(t.Context(), args...))
	}
	front.Lead(replicas...)
}

// awaitInjected waits until caBundle has the CA in the Secret, beside those of before, and cainjector has written it.
func awaitInjected(t *testing.T) {
	t.Helper()
	suite.Eventually(t, "cainjector to write caBundle", func() error {
		ca := caInSecret(t)
		for i, bundle := range caBundles(t) {
			if !bytes.Contains(bundle, ca) {
				return fmt.Errorf("caBundle %d has not the CA", i)
			}
		}
		mutating, validating, err := bed.ReadWebhooks(t.Context())
		if !writtenByInjector(mutating) || !writtenByInjector(validating) {
			return errors.Join(err, errors.New("somebody else has written it"))
		}
		return err
	})
}

func writtenByInjector(configuration client.Object) bool {
	return slices.ContainsFunc(configuration.GetManagedFields(), func(fields metav1.ManagedFieldsEntry) bool {
		return fields.Manager == "cainjector" && strings.Contains(fields.FieldsV1.GetRawString(), `"f:caBundle"`)
	})
}

// renew has the Certificate of the Secret renewed, as `cmctl renew` has, and returns when the Secret has it.
func renew(t *testing.T, secret client.ObjectKey) {
	t.Helper()
	before := certificateIn(t, secret)
	suite.Eventually(t, "cert-manager to be told", func() error { return triggerRenewal(t, secret) })
	awaitRenewed(t, secret, before)
}

// awaitRenewed waits for a certificate in the Secret that is not the one before.
func awaitRenewed(t *testing.T, secret client.ObjectKey, before []byte) {
	t.Helper()
	suite.Eventually(t, "a new certificate in "+secret.Name, func() error {
		if now := certificateIn(t, secret); len(now) == 0 || bytes.Equal(now, before) {
			return fmt.Errorf("got %d bytes, or those of before", len(now))
		}
		return nil
	})
}

func certificateIn(t *testing.T, key client.ObjectKey) []byte {
	t.Helper()
	var secret corev1.Secret
	suite.Must(t, client.IgnoreNotFound(bed.Client.Get(t.Context(), key, &secret)))
	return secret.Data[corev1.TLSCertKey]
}

// assertFromSecret waits until the replicas serve the certificate that is in the Secret, and the first one's metric tells when
// it expires.
func assertFromSecret(t *testing.T, replicas []*testbed.Targetgate) {
	t.Helper()
	block, _ := pem.Decode(certificateIn(t, servingSecret))
	for i, replica := range replicas {
		suite.Eventually(t, fmt.Sprintf("replica %d to serve what is in the Secret", i), func() error {
			certificate, err := served(replica, caBundles(t)[0])
			if err == nil && !bytes.Equal(certificate.Raw, block.Bytes) {
				err = fmt.Errorf("it serves another one, of %s", certificate.NotBefore)
			}
			if err != nil || replica != bed.Targetgate {
				return err
			}
			return wantExpiry(t, certificate.NotAfter)
		})
	}
}

// wantExpiry is an error when the metric of the first targetgate has another time.
func wantExpiry(t *testing.T, want time.Time) error {
	t.Helper()
	const series = `targetgate_webhook_certificate_expiration_timestamp_seconds{certificate="serving"} `
	lines, err := bed.MetricLines(t, series)
	if err != nil || len(lines) != 1 {
		return fmt.Errorf("got %d of %s, %w", len(lines), series, err)
	}
	got, err := strconv.ParseFloat(strings.TrimPrefix(lines[0], series), 64)
	if err == nil && int64(got) != want.Unix() {
		err = fmt.Errorf("the metric says %s, want %s", time.Unix(int64(got), 0), want)
	}
	return err
}

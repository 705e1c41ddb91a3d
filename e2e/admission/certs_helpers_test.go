// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

const webhookHost = "targetgate-webhook.targetgate-system.svc"

var caSecret = client.ObjectKey{Namespace: "targetgate-system", Name: "targetgate-webhook-ca"}

// twoReplicas restarts the targetgate that is there with these flags, and starts another one.
func twoReplicas(t *testing.T, args ...string) []*testbed.Targetgate {
	t.Helper()
	bed.WithFlags(t, args...)
	return []*testbed.Targetgate{bed.Targetgate, startReplica(t)}
}

// trusted has the API server call the replicas in turn, each time on a new connection, and checks all the time that
// each replica serves a certificate that the caBundle of the moment before verifies. stop fails the test when there was
// one that was not.
func trusted(t *testing.T, replicas []*testbed.Targetgate) (stop func()) {
	t.Helper()
	spreader, err := bed.SpreadWebhooks(t.Context(), replicas...)
	suite.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { watchAdmission(ctx, t, spreader.Cut) })
	for i, replica := range replicas {
		watching.Go(func() { watchServed(ctx, t, i, replica) })
	}
	stop = sync.OnceFunc(func() {
		cancel()
		watching.Wait()
		suite.Must(t, spreader.Close(context.Background()))
	})
	t.Cleanup(stop)
	return stop
}

func watchAdmission(ctx context.Context, t *testing.T, cut func()) {
	asked, lost := 0, 0
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		err := bed.AskWebhook(ctx)
		asked++
		switch {
		case err == nil || ctx.Err() != nil:
		case cutOff(err):
			lost++
		default:
			t.Errorf("admission at %s: %v", time.Now().UTC().Format(time.RFC3339Nano), err)
		}
		cut()
	}
	t.Logf("the API server asked %d times, %d times on a connection that was just being cut", asked, lost)
	if asked-lost < 50 {
		t.Error("this proves little")
	}
}

// cutOff reports whether a call failed because the test has cut its connection at that moment.
func cutOff(err error) bool {
	for _, sign := range []string{"EOF", "connection reset", "broken pipe", "client connection lost", "use of closed network connection"} {
		if strings.Contains(err.Error(), sign) {
			return true
		}
	}
	return false
}

func watchServed(ctx context.Context, t *testing.T, i int, replica *testbed.Targetgate) {
	for turn := 0; ctx.Err() == nil; turn++ {
		bundles, err := liveBundles(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = shake(replica, bundles[turn%len(bundles)])
		}
		if err != nil {
			t.Errorf("replica %d at %s: %v", i, time.Now().UTC().Format(time.RFC3339Nano), err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// shake is nil when the bundle verifies the certificate that the replica serves.
func shake(replica *testbed.Targetgate, bundle []byte) error {
	_, err := served(replica, bundle)
	return err
}

// served is the certificate that the replica serves, if the bundle verifies it.
func served(replica *testbed.Targetgate, bundle []byte) (*x509.Certificate, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", strings.TrimPrefix(replica.WebhookURL(), "https://"),
		&tls.Config{RootCAs: roots, ServerName: webhookHost, MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", replica.WebhookURL(), err)
	}
	return conn.ConnectionState().PeerCertificates[0], conn.Close()
}

// awaitServedByCAInSecret waits until all replicas serve by the CA in the Secret, this is not the one before, and it is
// in every caBundle.
func awaitServedByCAInSecret(t *testing.T, replicas []*testbed.Targetgate, before []byte) {
	t.Helper()
	var ca []byte
	suite.Eventually(t, "a CA in the Secret", func() error {
		if ca = caInSecret(t); len(ca) == 0 || string(ca) == string(before) {
			return fmt.Errorf("got %d bytes, or those of before", len(ca))
		}
		_, err := tls.X509KeyPair(ca, readCASecret(t).Data[corev1.TLSPrivateKeyKey])
		return err
	})
	awaitServedBy(t, replicas, nil)
	suite.Eventually(t, "the CA in every caBundle", func() error {
		ca = caInSecret(t)
		for i, bundle := range caBundles(t) {
			if !strings.Contains(string(bundle), string(ca)) {
				return fmt.Errorf("it is not in caBundle %d", i)
			}
		}
		return nil
	})
}

// awaitServedBy waits until all replicas serve by the CA; nil is the one in the Secret.
func awaitServedBy(t *testing.T, replicas []*testbed.Targetgate, ca []byte) {
	t.Helper()
	for i, replica := range replicas {
		suite.Eventually(t, fmt.Sprintf("replica %d to serve by the CA", i), func() error {
			wanted := ca
			if wanted == nil {
				wanted = caInSecret(t)
			}
			return shake(replica, wanted)
		})
	}
}

func readCASecret(t *testing.T) *corev1.Secret {
	t.Helper()
	var secret corev1.Secret
	suite.Must(t, client.IgnoreNotFound(bed.Client.Get(t.Context(), caSecret, &secret)))
	return &secret
}

// caInSecret is empty when there is no Secret.
func caInSecret(t *testing.T) []byte {
	t.Helper()
	return readCASecret(t).Data[corev1.TLSCertKey]
}

// renewCASecret empties the Secret, as it is installed, or creates it.
func renewCASecret(t *testing.T) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: caSecret.Namespace, Name: caSecret.Name}}
	if err := bed.Client.Create(t.Context(), secret); !apierrors.IsAlreadyExists(err) {
		suite.Must(t, err)
		return
	}
	changeCASecret(t, func(data map[string][]byte) { putCA(data, nil, nil) })
}

func changeCASecret(t *testing.T, change func(map[string][]byte)) {
	t.Helper()
	suite.Must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		secret := readCASecret(t)
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		change(secret.Data)
		return bed.Client.Update(t.Context(), secret)
	}))
}

func putCA(data map[string][]byte, ca, key []byte) {
	data[corev1.TLSCertKey], data["ca.crt"], data[corev1.TLSPrivateKeyKey] = ca, ca, key
}

// newCA makes a CA of that name for an hour.
func newCA(t *testing.T, name string) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	suite.Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	suite.Must(t, err)
	rawKey, err := x509.MarshalPKCS8PrivateKey(key)
	suite.Must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rawKey})
}

// caBundles are those of all webhooks of targetgate's.
func caBundles(t *testing.T) [][]byte {
	t.Helper()
	bundles, err := liveBundles(t.Context())
	suite.Must(t, err)
	return bundles
}

func liveBundles(ctx context.Context) (bundles [][]byte, err error) {
	mutating, validating, err := bed.ReadWebhooks(ctx)
	for _, hook := range mutating.Webhooks {
		bundles = append(bundles, hook.ClientConfig.CABundle)
	}
	for _, hook := range validating.Webhooks {
		bundles = append(bundles, hook.ClientConfig.CABundle)
	}
	return bundles, err
}

// setCABundles changes caBundle of each webhook by hand.
func setCABundles(t *testing.T, change func(i int, bundle []byte) []byte) {
	t.Helper()
	suite.Must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
		mutating, validating, err := bed.ReadWebhooks(t.Context())
		if err != nil {
			return err
		}
		for i := range mutating.Webhooks {
			config := &mutating.Webhooks[i].ClientConfig
			config.CABundle = change(i, config.CABundle)
		}
		for i := range validating.Webhooks {
			config := &validating.Webhooks[i].ClientConfig
			config.CABundle = change(len(mutating.Webhooks)+i, config.CABundle)
		}
		return errors.Join(bed.Client.Update(t.Context(), mutating), bed.Client.Update(t.Context(), validating))
	}))
}

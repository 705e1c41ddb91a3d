// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"crypto/x509"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Values of the label certificate.
const (
	servingCertificate   = "serving"
	authorityCertificate = "ca"
)

var (
	expiry = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "targetgate_webhook_certificate_expiration_timestamp_seconds",
		Help: "Expiry of a certificate, as Unix time: the serving certificate, and the CA in the Secret (not with certificates from files).",
	}, []string{"certificate"})

	trusted = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "targetgate_webhook_trusted",
		Help: "1 if the webhook configuration exists and its caBundle verifies the serving certificate (not with certificates from files).",
	}, []string{"configuration"})

	bundleWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "targetgate_webhook_ca_bundle_writes_total",
		Help: "Writes of caBundle to a webhook configuration. More than a few per rotation: something else writes it, too.",
	})
)

func init() {
	metrics.Registry.MustRegister(expiry, trusted, bundleWrites)
}

func setExpiry(which string, certificate *x509.Certificate) {
	expiry.WithLabelValues(which).Set(float64(certificate.NotAfter.Unix()))
}

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
		Help: "When a certificate expires, as Unix time: the one that is served, and the CA in the Secret (not with certificates from files).",
	}, []string{"certificate"})

	trusted = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "targetgate_webhook_trusted",
		Help: "1 when the webhook configuration is there and its caBundle verifies what is served (not with certificates from files).",
	}, []string{"configuration"})

	bundleWrites = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "targetgate_webhook_ca_bundle_writes_total",
		Help: "Writes of caBundle into a webhook configuration. More than a few at a rotation: somebody else writes it, too.",
	})
)

func init() {
	metrics.Registry.MustRegister(expiry, trusted, bundleWrites)
}

func setExpiry(which string, certificate *x509.Certificate) {
	expiry.WithLabelValues(which).Set(float64(certificate.NotAfter.Unix()))
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/targetgate/targetgate/webhook/certs"
	"github.com/targetgate/targetgate/webhook/server"
)

// certificateOptions says where the webhooks' serving certificate comes from and who may connect.
type certificateOptions struct {
	Dir, CertFile, KeyFile string
	FromFiles              bool // serve the certificate of these files; otherwise SelfMade
	SelfMade               certs.Options
	ClientCA               string
	ClientNames            []string
}

func (o *certificateOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Dir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs",
		"Directory of the webhooks' serving certificate. It is used if this flag, --webhook-cert-file or --webhook-key-file is set, or if "+
			"the default directory contains a certificate; you then set caBundle. Otherwise targetgate creates its own CA and "+
			"certificates, and sets caBundle.")
	flags.StringVar(&o.CertFile, "webhook-cert-file", "tls.crt", "File name of the certificate.")
	flags.StringVar(&o.KeyFile, "webhook-key-file", "tls.key", "File name of the key.")
	flags.StringVar(&o.SelfMade.Secret, "webhook-ca-secret-name", "targetgate-webhook-ca",
		"Name of the Secret, in targetgate's own namespace, that holds the CA targetgate creates. Any other content is replaced.")
	flags.StringVar(&o.SelfMade.Service, "webhook-service-name", "targetgate-webhook",
		"Name of the Service, in targetgate's own namespace, that the webhook configurations call.")
	flags.StringVar(&o.SelfMade.Configuration, "webhook-configuration-name", "targetgate-webhook",
		"Name of both the mutating and the validating webhook configuration. The mutating one tells targetgate which pods get gates. "+
			"targetgate sets caBundle in both if it creates its own CA.")
	flags.DurationVar(&o.SelfMade.CADuration, "webhook-ca-duration", 365*24*time.Hour,
		"Lifetime of the CA that targetgate creates. It is replaced when a third of that time is left.")
	flags.DurationVar(&o.SelfMade.CertDuration, "webhook-cert-duration", 7*24*time.Hour,
		"Lifetime of the certificates that CA signs. They are replaced when a third of that time is left.")
	flags.BoolVar(&o.SelfMade.SecretPaths, "webhook-secret-paths", false,
		"Start the webhooks' paths with a secret, which targetgate writes to the webhook configurations with caBundle. Binding "+
			"reviews without it are not answered. Works only with certificates that targetgate creates.")
	flags.StringVar(&o.ClientCA, "kube-ca-pem-filepath", "",
		"PEM file of the CA that must have signed the API servers' client certificates. Default: clients need no certificate.")
	flags.StringSliceVar(&o.ClientNames, "kube-client-names", []string{"kube-apiserver", "kube-apiserver-kubelet-client"},
		"Accepted common names of client certificates; * accepts any certificate the CA signed, such as a kubelet's.")
}

// namespaceFile holds the namespace of a pod's service account.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// complete derives what the flags alone do not say.
func (o *certificateOptions) complete(flags *pflag.FlagSet) {
	_, err := os.Stat(o.certPath())
	o.FromFiles = err == nil || flags.Changed("webhook-cert-dir") || flags.Changed("webhook-cert-file") || flags.Changed("webhook-key-file")
	mounted, _ := os.ReadFile(namespaceFile) // does not exist outside a pod
	o.SelfMade.Namespace = cmp.Or(os.Getenv("POD_NAMESPACE"), strings.TrimSpace(string(mounted)))
}

func (o *certificateOptions) certPath() string { return filepath.Join(o.Dir, o.CertFile) }
func (o *certificateOptions) keyPath() string  { return filepath.Join(o.Dir, o.KeyFile) }

// validate returns all faults at once.
func (o *certificateOptions) validate() []error {
	var faults []error
	if o.ClientCA != "" && len(o.ClientNames) == 0 {
		faults = append(faults, errors.New("--kube-client-names: list at least one name, or * for any: otherwise no API server may connect"))
	}
	if o.FromFiles {
		if o.SelfMade.SecretPaths {
			faults = append(faults, fmt.Errorf("--webhook-secret-paths works only with certificates that targetgate creates, "+
				"but it would serve %s", o.certPath()))
		}
		return faults
	}
	if o.SelfMade.Namespace == "" {
		faults = append(faults, errors.New("POD_NAMESPACE is required outside a pod, unless --webhook-cert-dir is set"))
	}
	for _, name := range []struct {
		flag, value string
		problems    []string
	}{
		{"webhook-ca-secret-name", o.SelfMade.Secret, validation.IsDNS1123Subdomain(o.SelfMade.Secret)},
		{"webhook-service-name", o.SelfMade.Service, validation.IsDNS1035Label(o.SelfMade.Service)},
		{"webhook-configuration-name", o.SelfMade.Configuration, validation.IsDNS1123Subdomain(o.SelfMade.Configuration)},
	} {
		if len(name.problems) > 0 {
			faults = append(faults, fmt.Errorf("--%s=%s: %s", name.flag, name.value, name.problems[0]))
		}
	}
	if o.SelfMade.CertDuration < certs.MinCertDuration {
		faults = append(faults, fmt.Errorf("--webhook-cert-duration=%s: must be %s or more", o.SelfMade.CertDuration, certs.MinCertDuration))
	}
	if o.SelfMade.CADuration > certs.MaxCADuration {
		faults = append(faults, fmt.Errorf("--webhook-ca-duration=%s: must be %s or less", o.SelfMade.CADuration, certs.MaxCADuration))
	}
	if least := max(certs.MinCADuration, 2*o.SelfMade.CertDuration); o.SelfMade.CADuration < least {
		faults = append(faults, fmt.Errorf("--webhook-ca-duration=%s: must be %s or more, and at least twice --webhook-cert-duration",
			o.SelfMade.CADuration, least))
	}
	return faults
}

// certificates provides the webhook server's certificate and guards its handlers.
type certificates interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Guard(http.Handler) http.Handler
	SetupWithManager(ctrl.Manager) error
	Ready(*http.Request) error
}

func newCertificates(o *certificateOptions) (certificates, error) {
	if !o.FromFiles {
		return certs.NewSelfMade(o.SelfMade), nil
	}
	files, err := certs.NewFiles(o.certPath(), o.keyPath())
	if err != nil {
		return nil, fmt.Errorf("--webhook-cert-dir=%s (without certificate flags, targetgate creates its own certificate): %w", o.Dir, err)
	}
	return files, nil
}

func webhookServer(opts *options, source certificates) (ctrlwebhook.Server, error) {
	serve := func(c *tls.Config) { c.GetCertificate = source.GetCertificate }
	check := func(*tls.Config) {}
	if ca := opts.Certificates.ClientCA; ca != "" {
		clients, err := certs.NewClientCheck(ca, opts.Certificates.ClientNames)
		if err != nil {
			return nil, fmt.Errorf("--kube-ca-pem-filepath: %w", err)
		}
		check = clients.Configure
	}
	s := server.New(opts.WebhookPort, ctrl.Log.WithName("webhooks"), serve, check)
	s.Guard = source.Guard
	return s, nil
}

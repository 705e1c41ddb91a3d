// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/targetgate/targetgate/webhook/certs"
)

func TestParseOptionsMakesItsOwnCertificateByDefault(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "targetgate-system")
	opts, err := parseOptions(minimal)
	if err != nil {
		t.Fatal(err)
	}
	want := certs.Options{
		Namespace: "targetgate-system", Service: "targetgate-webhook", Secret: "targetgate-webhook-ca", Configuration: "targetgate-webhook",
		CADuration: 365 * 24 * time.Hour, CertDuration: 7 * 24 * time.Hour,
	}
	if diff := cmp.Diff(want, opts.Certificates.SelfMade); diff != "" || opts.Certificates.FromFiles {
		t.Errorf("from files: %v, want false; options (-want +got):\n%s", opts.Certificates.FromFiles, diff)
	}
}

func TestParseOptionsReadsCertificateFromFiles(t *testing.T) {
	tests := map[string][]string{
		"a directory":      {"--webhook-cert-dir=/etc/certs"},
		"a default, given": {"--webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs"},
		"a file name":      {"--webhook-cert-file=server.crt"},
		"a key's name":     {"--webhook-key-file=server.key"},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", "") // which files do not need
			opts, err := parseOptions(append(args, minimal...))
			if err != nil {
				t.Fatal(err)
			}
			if !opts.Certificates.FromFiles {
				t.Error("the files would not be read")
			}
		})
	}
}

// The chart of aws-load-balancer-controller mounts a certificate where the flag's default is.
func TestCertificateIsReadFromFilesThatAreThere(t *testing.T) {
	var o certificateOptions
	flags := pflag.NewFlagSet("targetgate", pflag.ContinueOnError)
	o.addFlags(flags)
	o.Dir = t.TempDir()
	if o.complete(flags); o.FromFiles {
		t.Error("an empty directory is taken for a certificate")
	}
	if err := os.WriteFile(filepath.Join(o.Dir, o.CertFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if o.complete(flags); !o.FromFiles {
		t.Error("the file would not be read")
	}
}

func TestParseOptionsNamesEveryFaultOfCertificates(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	_, err := parseOptions(append(minimal, "--webhook-ca-secret-name=A", "--webhook-service-name=1", "--webhook-configuration-name=",
		"--webhook-cert-duration=19s", "--webhook-ca-duration=59s"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"POD_NAMESPACE is required", "--webhook-ca-secret-name=A: ", "--webhook-service-name=1: ", "--webhook-configuration-name=: ",
		"--webhook-cert-duration=19s: must be 20s or more", "--webhook-ca-duration=59s: must be 1m0s or more",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
	_, err = parseOptions(append(minimal, "--webhook-cert-duration=240h", "--webhook-ca-duration=400h"))
	if want := "--webhook-ca-duration=400h0m0s: must be 480h0m0s or more"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v does not say %q", err, want)
	}
}

func TestNewCertificatesNamesTheFlagOfMissingFiles(t *testing.T) {
	_, err := newCertificates(&certificateOptions{FromFiles: true, Dir: t.TempDir(), CertFile: "tls.crt", KeyFile: "tls.key"})
	if err == nil || !strings.Contains(err.Error(), "--webhook-cert-dir=") {
		t.Errorf("newCertificates() = %v, want the flag in it", err)
	}
}

func TestWebhookServerNeedsTheCAOfItsClients(t *testing.T) {
	opts := &options{Certificates: certificateOptions{ClientCA: filepath.Join(t.TempDir(), "ca.pem")}}
	_, err := webhookServer(opts, certs.NewSelfMade(certs.Options{}))
	if err == nil || !strings.Contains(err.Error(), "--kube-ca-pem-filepath: ") {
		t.Errorf("webhookServer() = %v, want the flag in it", err)
	}
}

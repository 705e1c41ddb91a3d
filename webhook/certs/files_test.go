// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// store writes the certificate and its key, as cert-manager does.
func store(t *testing.T, dir string, certificate *tls.Certificate) (certPath, keyPath string) {
	t.Helper()
	certPath, keyPath = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	writeFile(t, keyPath, keyPEM(t, certificate))
	writeFile(t, certPath, encodeBundle([]*x509.Certificate{certificate.Leaf}))
	return certPath, keyPath
}

func TestFilesAreReadAgain(t *testing.T) {
	ca := newCA(t, "anybody", 0)
	first, second := ca.signFrom(t, testHost, time.Now()), ca.signFrom(t, testHost, time.Now().Add(time.Second))
	dir := t.TempDir()
	files, err := NewFiles(store(t, dir, first))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- files.watcher.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	awaitServed(t, files, first)
	writeFile(t, filepath.Join(dir, "tls.crt"), []byte("garbage"))
	awaitServed(t, files, first)
	store(t, dir, second)
	awaitServed(t, files, second)
	if got, want := expiries(t)[servingCertificate], second.Leaf.NotAfter; !got.Equal(want) {
		t.Errorf("the metric says it expires %s, want %s", got, want)
	}
}

func awaitServed(t *testing.T, files *Files, want *tls.Certificate) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second) // it looks every 10 s if the file system does not tell
	for {
		got, err := files.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Leaf.Equal(want.Leaf) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the certificate is not served")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestNewFilesFails(t *testing.T) {
	ca := newCA(t, "anybody", 0)
	certPath, _ := store(t, t.TempDir(), ca.sign(t, testHost))
	_, otherKey := store(t, t.TempDir(), ca.sign(t, testHost))
	tests := map[string][2]string{
		"no file":          {filepath.Join(t.TempDir(), "tls.crt"), otherKey},
		"key of another":   {certPath, otherKey},
		"not certificates": {otherKey, otherKey},
	}
	for name, paths := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := NewFiles(paths[0], paths[1]); err == nil || !strings.HasPrefix(err.Error(), "reading the serving certificate: ") {
				t.Errorf("NewFiles() = %v, want an error that says what failed", err)
			}
		})
	}
}

func TestFilesAreReadyWithinTheirDates(t *testing.T) {
	ca := newCA(t, "anybody", 0)
	tests := map[string]struct {
		from    time.Time
		wantErr bool
	}{
		"valid":   {from: time.Now().Add(-time.Hour)},
		"expired": {from: time.Now().Add(-week - time.Hour), wantErr: true},
		"not yet": {from: time.Now().Add(time.Hour), wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			files, err := NewFiles(store(t, t.TempDir(), ca.signFrom(t, testHost, tc.from)))
			if err != nil {
				t.Fatal(err)
			}
			if err := files.Ready(nil); (err != nil) != tc.wantErr {
				t.Errorf("ready() = %v, want an error: %v", err, tc.wantErr)
			}
		})
	}
}

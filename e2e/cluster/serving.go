// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
)

// ServingCertificate writes tls.crt and tls.key, a serving certificate for the hosts (DNS names or IP addresses), to
// dir, which it creates if need be, and returns the PEM of the authority that signed it. Every call makes an authority
// of its own, so a second call for the same folder is what a rotation of the authority looks like.
//
// The two files are replaced one after the other, each at once: a server that watches them never reads half a file.
func ServingCertificate(dir string, hosts ...string) (caPEM []byte, err error) {
	signer, err := newAuthority("targetgate-e2e-webhook")
	if err != nil {
		return nil, err
	}
	pair, err := signer.server(hosts...)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the certificate folder: %w", err)
	}
	if err := replaceFile(filepath.Join(dir, "tls.key"), pair.key); err != nil {
		return nil, err
	}
	if err := replaceFile(filepath.Join(dir, "tls.crt"), pair.certificate); err != nil {
		return nil, err
	}
	return signer.pem, nil
}

// replaceFile gives path the content, readable by the owner only, by renaming a complete file over it.
func replaceFile(path string, content []byte) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", temporary, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("replacing %s: %w", path, err)
	}
	return nil
}

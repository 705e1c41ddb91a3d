// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestStartTellsWhichComponentDied(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	binary := writeScript(t, `echo "no control plane today" >&2; exit 7`)

	_, err := Start(t.Context(), Options{Binary: binary})
	if err == nil {
		t.Fatal("Start() with a binary that fails: no error")
	}
	for _, want := range []string{" has ended: exit status 7", "no control plane today"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Start() = %q, want %q in it", err, want)
		}
	}
	entries, err := os.ReadDir(temporary)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestStartRefuses(t *testing.T) {
	used := t.TempDir()
	if err := os.Mkdir(filepath.Join(used, "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		options Options
		wantErr string
	}{
		"no binary":               {options: Options{}, wantErr: "no control plane binary given"},
		"a binary that is not":    {options: Options{Binary: filepath.Join(used, "none")}, wantErr: "no such file"},
		"another cluster's state": {options: Options{Binary: "/bin/sh", Dir: used}, wantErr: "another cluster's state"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), tc.options)
			if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("Start() = %v, want %q in it", err, tc.wantErr)
			}
		})
	}
}

func TestWriteKubeconfigKeepsTheUser(t *testing.T) {
	c := &Cluster{layout: layout{apiPort: 6443}, ca: mustAuthority(t)}
	want, err := c.UserConfig("alice", "dev")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := WriteKubeconfig(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Host != "https://127.0.0.1:6443" {
		t.Errorf("host = %q, want https://127.0.0.1:6443", got.Host)
	}
	if string(got.CAData) != string(c.CA()) || string(got.CertData) != string(want.CertData) ||
		string(got.KeyData) != string(want.KeyData) {
		t.Error("authority, certificate or key is not the one of the configuration")
	}
}

func TestFreePortsAreDifferentAndNobodyElses(t *testing.T) {
	ports, err := FreePorts(blockSize) // more than a block has
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC() // which would close a listener that nothing refers to
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] || port < firstPort || port >= lastPort {
			t.Errorf("port %d is there twice or out of range", port)
		}
		seen[port] = true
		claim := port - port%blockSize
		if seen[claim] {
			t.Errorf("port %d, by which a process claims its block, is given away", claim)
		}
		if listener, err := listen(claim); err == nil {
			t.Errorf("port %d is given, and its block is not claimed: port %d is free", port, claim)
			_ = listener.Close()
		}
	}
	if len(ports) != blockSize {
		t.Errorf("got %d ports, want %d", len(ports), blockSize)
	}
}

func writeScript(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

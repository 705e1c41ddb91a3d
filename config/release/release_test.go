// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	stdcmp "cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newRelease is one into a folder of its own, made in the repository's.
func newRelease(t *testing.T) *release {
	t.Helper()
	output := t.TempDir()
	atRoot(t)
	helm := stdcmp.Or(os.Getenv("TARGETGATE_HELM"), ".bin/helm")
	return &release{version: "v1.2.3-rc.1", date: time.Unix(1_700_000_000, 0).UTC(), helm: helm, output: output}
}

// unpack returns the headers of an archive, and the files in it by name.
func unpack(t *testing.T, packed []byte) ([]*tar.Header, map[string]string) {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if !compressed.ModTime.IsZero() {
		t.Errorf("the archive has the time %s", compressed.ModTime)
	}
	var headers []*tar.Header
	contents := map[string]string{}
	for files := tar.NewReader(compressed); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		headers, contents[header.Name] = append(headers, header), string(content)
	}
}

func TestVersionsThatAreNoneAreRefused(t *testing.T) {
	tests := map[string]struct{ version, commit, want string }{
		"a release":           {version: "v1.2.3", commit: "abc"},
		"a candidate":         {version: "v1.2.3-rc.1", commit: "abc"},
		"no commit known":     {version: "v1.2.3"},
		"no v":                {"1.2.3", "abc", "is invalid"},
		"two numbers":         {"v1.2", "abc", "is invalid"},
		"no tag of an image":  {"v1.2.3+a", "abc", "is invalid"},
		"no version of Helm":  {"v01.2.3", "abc", "is invalid"},
		"more than an option": {"v1.2.3 -X a.b=c", "abc", "is invalid"},
		"of no commit":        {"v1.2.3", "abc-dirty", "uncommitted changes"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := checkVersion(tc.version, tc.commit)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTrialVersionIsOne(t *testing.T) {
	atRoot(t)
	version, err := trialVersion("0123abc-dirty")
	if err != nil {
		t.Fatal(err)
	}
	if !versions.MatchString(version) || !strings.HasSuffix(version, "-g0123abc-dirty") {
		t.Errorf("it is %q", version)
	}
	if _, err := trialVersion(""); err == nil {
		t.Error("a trial of no commit has a version")
	}
}

func TestArchiveHasNothingOfTheMachine(t *testing.T) {
	r := newRelease(t)
	packed, err := archive(r.date, []entry{{name: "link", link: "file"}, {name: "file", mode: 0o755, content: []byte("a")}})
	if err != nil {
		t.Fatal(err)
	}
	headers, contents := unpack(t, packed)
	for _, header := range headers {
		if !header.ModTime.Equal(r.date) || header.Uid != 0 || header.Gid != 0 || header.Uname != "" {
			t.Errorf("%s is of %s, user %d %q, group %d", header.Name, header.ModTime, header.Uid, header.Uname, header.Gid)
		}
	}
	if headers[0].Typeflag != tar.TypeSymlink || headers[0].Linkname != "file" || headers[1].Mode != 0o755 || contents["file"] != "a" {
		t.Errorf("it has %v and %v", headers, contents)
	}
}

// A clone has the times of the clone.
func TestChartIsTheSameOfEveryClone(t *testing.T) {
	first := newRelease(t)
	second := *first
	second.output = t.TempDir()
	for _, r := range []*release{first, &second} {
		if err := r.writeChart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const name = "targetgate-1.2.3-rc.1.tgz"
	packed := read(t, filepath.Join(first.output, name))
	if packed != read(t, filepath.Join(second.output, name)) {
		t.Error("a second package is another")
	}
	headers, contents := unpack(t, []byte(packed))
	for _, header := range headers {
		if !header.ModTime.Equal(first.date) {
			t.Errorf("%s is of %s", header.Name, header.ModTime)
		}
	}
	for _, want := range []string{"\nversion: 1.2.3-rc.1\n", "\nappVersion: v1.2.3-rc.1\n"} {
		if !strings.Contains("\n"+contents["targetgate/Chart.yaml"], want) {
			t.Errorf("Chart.yaml does not have %q:\n%s", want, contents["targetgate/Chart.yaml"])
		}
	}
}

func TestManifestsHaveTheVersionAndAllOfTheKustomization(t *testing.T) {
	r := newRelease(t)
	if err := r.writeManifests(); err != nil {
		t.Fatal(err)
	}
	install := read(t, filepath.Join(r.output, "install.yaml"))
	if !strings.HasPrefix(install, "# targetgate v1.2.3-rc.1 ") || strings.Count(install, "\n          image: \"\"\n") != 1 {
		t.Error("it does not begin with the version, or names an image, which nobody has published")
	}
	paths, err := resources()
	if err != nil {
		t.Fatal(err)
	}
	kinds := func(text string) int { return strings.Count("\n"+text, "\nkind: ") }
	want := 0
	for _, path := range paths {
		want += kinds(read(t, filepath.Join("config", path)))
	}
	if got := kinds(install); got != want || want == 0 {
		t.Errorf("%d objects, want %d", got, want)
	}
	if got, want := strings.Count("\n"+install, "\n---\n"), want; got != want {
		t.Errorf("%d separators for %d objects", got, want)
	}
	crd := read(t, filepath.Join(r.output, "crd.yaml"))
	if !strings.Contains(crd, "kind: CustomResourceDefinition") || kinds(crd) != 1 {
		t.Errorf("crd.yaml:\n%s", crd)
	}
}

func TestBOMListsWhatIsInTheBinary(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "github.com/targetgate/targetgate", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "github.com/Azure/a", Version: "v1.0.0+incompatible", Sum: "h1:a="},
			{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0"}},
		},
	}
	r := newRelease(t)
	content, err := newBOM(r.version, r.date, info, []byte("binary"))
	if err != nil {
		t.Fatal(err)
	}
	var got bom
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	var purls []string
	for _, c := range append([]component{got.Metadata.Component}, got.Components...) {
		purls = append(purls, c.PURL)
	}
	want := []string{
		"pkg:golang/github.com/targetgate/targetgate@v1.2.3-rc.1", "pkg:golang/stdlib@1.26.8",
		"pkg:golang/github.com/Azure/a@v1.0.0%2Bincompatible", "pkg:golang/example.com/c@v2.0.0",
	}
	if diff := cmp.Diff(want, purls); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	again, err := newBOM(r.version, r.date, info, []byte("binary"))
	if err != nil || !bytes.Equal(content, again) {
		t.Errorf("a second one is another (%v)", err)
	}
	other, err := newBOM(r.version, r.date, info, []byte("another"))
	if err != nil || bytes.Contains(other, []byte(got.SerialNumber)) {
		t.Errorf("that of another binary has the same serial number (%v)", err)
	}
}

func TestChecksumsAreOfAllFiles(t *testing.T) {
	r := newRelease(t)
	for _, name := range []string{"b", "a"} {
		if err := r.writeFile(name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.writeChecksums(); err != nil {
		t.Fatal(err)
	}
	const want = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a\n" +
		"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n"
	if diff := cmp.Diff(want, read(t, filepath.Join(r.output, checksums))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", checksums, diff)
	}
}

func TestOnlyFoldersOfArtifactsAreEmptied(t *testing.T) {
	tests := map[string]struct {
		files []string
		want  bool
	}{
		"none":      {want: true},
		"artifacts": {files: []string{checksums, "crd.yaml"}, want: true},
		"another":   {files: []string{"thesis.tex"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, file := range tc.files {
				if err := os.WriteFile(filepath.Join(folder, file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := empty(folder)
			left, _ := os.ReadDir(folder)
			if got := err == nil; got != tc.want || got != (len(left) == 0) {
				t.Errorf("got %v and %d files left, want it emptied: %t", err, len(left), tc.want)
			}
		})
	}
}

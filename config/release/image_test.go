// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// atRoot works where the program does, in the repository's folder.
func atRoot(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// line returns what follows a word at the beginning of the last line that begins with it.
func line(t *testing.T, text, word string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^`+word+` (.*)$`).FindAllStringSubmatch(text, -1)
	if found == nil {
		t.Fatalf("there is no line %s", word)
	}
	return found[len(found)-1][1]
}

// go.mod says which Go is needed at least; releases are built with that or a later patch of it.
func TestImageHasTheGoOfTheModule(t *testing.T) {
	atRoot(t)
	needed := strings.Split(line(t, read(t, "go.mod"), "go"), ".")
	got := strings.Split(goOfImage(read(t, dockerfile)), ".")
	if len(got) != 3 || !slices.Equal(got[:2], needed[:2]) {
		t.Errorf("%s builds with Go %q, go.mod needs %q", dockerfile, got, needed)
	}
}

func TestImageBuildsTheBinaryOfTheRelease(t *testing.T) {
	atRoot(t)
	arguments := buildArguments("$VERSION")
	arguments[len(arguments)-1] = `"` + arguments[len(arguments)-1] + `"`
	want := "go build " + strings.Join(arguments, " ")
	if content := read(t, dockerfile); !strings.Contains(content, want) || !strings.Contains(content, "CGO_ENABLED=0") {
		t.Errorf("%s does not build with CGO_ENABLED=0 and %s", dockerfile, want)
	}
}

func TestImageHasUserAndPortsOfTheChart(t *testing.T) {
	atRoot(t)
	var values struct {
		PodSecurityContext struct{ RunAsUser, RunAsGroup int }
	}
	if err := yaml.Unmarshal([]byte(read(t, chartFolder+"/values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	content := read(t, dockerfile)
	want := fmt.Sprintf("%d:%d", values.PodSecurityContext.RunAsUser, values.PodSecurityContext.RunAsGroup)
	if got := line(t, content, "USER"); got != want {
		t.Errorf("%s has USER %s, the chart runs as %s", dockerfile, got, want)
	}
	var ports []string
	for _, found := range regexp.MustCompile(`containerPort: (\d+)`).FindAllStringSubmatch(read(t, "config/manager/manager.yaml"), -1) {
		ports = append(ports, found[1])
	}
	if diff := cmp.Diff(ports, strings.Fields(line(t, content, "EXPOSE"))); diff != "" {
		t.Errorf("ports (-chart +%s):\n%s", dockerfile, diff)
	}
}

// The context leaves out all but what it names, and the build would not find the rest.
func TestImageContextHasWhatIsCompiled(t *testing.T) {
	atRoot(t)
	command := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.Dir}}{{end}}{{end}}", "./cmd/targetgate")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	needed := map[string]bool{"go.mod": true, "go.sum": true, "LICENSE": true}
	for folder := range strings.FieldsSeq(string(out)) {
		path, err := filepath.Rel(root, folder)
		if err != nil {
			t.Fatal(err)
		}
		top, _, _ := strings.Cut(path, "/")
		needed[top] = true
	}
	context := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^!(.*)$`).FindAllStringSubmatch(read(t, dockerfile+".dockerignore"), -1) {
		context[found[1]] = true
	}
	if diff := cmp.Diff(needed, context); diff != "" {
		t.Errorf("context of the image (-needed +let in):\n%s", diff)
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"slices"
	"strings"
	"testing"
)

const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n---\n"

func TestObjectsOfAFile(t *testing.T) {
	list := "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: in-list, namespace: other}}\n"
	objects, others, err := Objects(strings.NewReader("# a comment\n---\n"+secret+ingressOf("a")+"---\n---\n"+secret+list), "shop")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range objects {
		names = append(names, nameOf(object))
	}
	if !slices.Equal(names, []string{"shop/a", "other/in-list"}) || !slices.Equal(others, []string{"Secret"}) {
		t.Errorf("objects %v, others %v", names, others)
	}
}

func TestWrongFiles(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{ingressOf("a") + strings.ReplaceAll(ingressOf("b"), "rules:", "ruls:"), "document 2: Ingress: "},
		{strings.ReplaceAll(ingressOf("a"), "networking.k8s.io/v1", "extensions/v1beta1"), "set apiVersion networking.k8s.io/v1"},
		{ingressOf("a") + ingressOf("a"), "Ingress shop/a is listed twice"},
		{strings.ReplaceAll(ingressOf("a"), "name: a\n", "generateName: a\n"), "metadata.name is missing"},
		{"metadata: {name: a}\n", "an object has no kind"},
		{"kind: [\n", "this is no YAML of an object"},
		{strings.ReplaceAll(secret, "hunter2}", "hunter2"), "this is no YAML of an object"},
	} {
		_, _, err := Objects(strings.NewReader(c.file), "shop")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.file, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret is printed: %v", err)
		}
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package chart

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/targetgate/targetgate/e2e/suite"
)

// testPrevious upgrades from the chart as it was before its last change, as a user does, and goes back.
func (i *installation) testPrevious(t *testing.T) {
	previous := previousChart(t)
	i.mustHelm(t, "install", "targetgate", previous, "--set", named)
	i.awaitRollout(t)
	wantBundle := i.setBundle(t)
	i.mustHelm(t, "upgrade", "targetgate", chart, "--set", named)
	i.awaitRollout(t)
	wantBundle()
	upgraded := i.definition(t).Object["spec"]
	i.mustHelm(t, "rollback", "targetgate", "1")
	i.awaitRollout(t)
	wantBundle()
	i.mustHelm(t, "upgrade", "targetgate", chart, "--set", named)
	if diff := cmp.Diff(upgraded, i.definition(t).Object["spec"]); diff != "" {
		t.Errorf("after a rollback the CRD is not upgraded again (-first +second):\n%s", diff)
	}
	i.mustHelm(t, "uninstall", "targetgate")
	i.awaitPods(t, 0)
}

// testForeignSecret installs where targetgate has created the Secret of its CA by itself, as it did before the chart brought
// one: that Secret is none of Helm's, and keeps the CA.
func (i *installation) testForeignSecret(t *testing.T) {
	secrets, name := i.api.CoreV1().Secrets(namespace), "targetgate-webhook-ca"
	if err := secrets.Delete(t.Context(), name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		suite.Must(t, err)
	}
	_, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"tls.crt": []byte("CA")},
	}, metav1.CreateOptions{})
	suite.Must(t, err)
	for _, args := range [][]string{
		{"install", "targetgate", chart, "--set", named},
		{"upgrade", "targetgate", chart, "--set", named + ",replicaCount=3"},
		{"uninstall", "targetgate"},
	} {
		i.mustHelm(t, args...)
		if found, err := secrets.Get(t.Context(), name, metav1.GetOptions{}); err != nil || string(found.Data["tls.crt"]) != "CA" {
			t.Errorf("helm %s has not kept the Secret of the CA: %v, %v", args[0], found, err)
		}
	}
	suite.Must(t, secrets.Delete(t.Context(), name, metav1.DeleteOptions{}))
	i.awaitPods(t, 0)
}

// awaitRollout waits until there is a pod of the newest template. Without nodes none becomes ready, and no old one goes.
func (i *installation) awaitRollout(t *testing.T) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		d, err := i.api.AppsV1().Deployments(namespace).Get(ctx, "targetgate", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas > 0, nil
	})
	if err != nil {
		t.Fatalf("there is no pod of the newest template (%v): %s", err, i.events(t))
	}
}

// previousChart is a package of the chart before its last change: that of the newest commit that has another one than the
// working tree. Where there is no git, no history or no other chart, the test is skipped, and says so.
func previousChart(t *testing.T) string {
	t.Helper()
	if out, err := git(t, "rev-parse", "--is-shallow-repository"); err != nil {
		t.Skipf("NOT TESTED: there is no git repository to take the previous chart from: %v\n%s", err, out)
	} else if out == "true" {
		t.Skip("NOT TESTED: the clone is shallow, and does not have the previous chart: run `git fetch --unshallow`")
	}
	commits, err := git(t, "rev-list", "HEAD", "--", "charts/targetgate")
	if err != nil {
		t.Fatalf("asking git for the chart's commits: %v\n%s", err, commits)
	}
	for commit := range strings.FieldsSeq(commits) {
		if _, err := git(t, "diff", "--quiet", commit, "--", "charts/targetgate"); err == nil {
			continue
		}
		packed := filepath.Join(t.TempDir(), "targetgate.tgz")
		if out, err := git(t, "archive", "--prefix=targetgate/", "--output="+packed, commit+":charts/targetgate"); err != nil {
			t.Fatalf("packing the chart of %s: %v\n%s", commit, err, out)
		}
		t.Logf("the previous chart is that of commit %s", commit)
		return packed
	}
	t.Skip("NOT TESTED: git knows no other chart than this one")
	return ""
}

// git runs in the repository's folder, and returns all that it prints, without blanks around.
func git(t *testing.T, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", args...)
	command.Dir = suite.Root
	out, err := command.CombinedOutput()
	return string(bytes.TrimSpace(out)), err
}

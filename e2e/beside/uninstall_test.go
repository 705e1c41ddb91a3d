// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package beside

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// The job that Helm runs before an uninstall, with its permissions. targetgate runs meanwhile.
func TestUninstallGivesEverythingBack(t *testing.T) {
	one, two := newApp("left-one"), newApp("left-two")
	apps := []*testbed.App{one, two}
	deployTheirs(t, apps...)
	begun, before := time.Now(), map[*testbed.App]part{}
	for _, app := range apps {
		before[app] = partOf(bed.GetBinding(t, app))
		label(t, app, true)
	}
	var stops []func()
	for _, app := range apps {
		awaitOurs(t, app)
		stops = append(stops, bed.UnderLoadOf(t, app, 50))
	}
	out := runJob(t)
	for _, app := range apps {
		if !strings.Contains(out, "removed label targetgate.dev/register from namespace "+app.Name) {
			t.Errorf("%s is not mentioned", app.Name)
		}
	}
	for _, app := range apps {
		awaitTheirs(t, app)
		assertSame(t, app, before[app])
		bed.AssertUntouched(t, app, begun)
	}
	suite.Must(t, bed.Scale(t.Context(), one, 4)) // by the incumbent
	bed.AwaitRolled(t, one)
	awaitTheirs(t, one)
	for _, stop := range stops {
		stop()
	}
	assertNoCalls(t, one, bed.AccessKey(), begun, "RegisterTargets", "DeregisterTargets")
}

// runJob runs the command of the chart's job as the job's service account, and returns what it prints.
func runJob(t *testing.T) string {
	t.Helper()
	rendered, err := os.ReadFile(bed.Rendered("give-back.yaml"))
	suite.Must(t, err)
	var permissions, args []string
	for document := range strings.SplitSeq(string(rendered), "\n---\n") {
		var job batchv1.Job
		if err := yaml.Unmarshal([]byte(document), &job); err == nil && job.Kind == "Job" {
			args = job.Spec.Template.Spec.Containers[0].Args
			continue
		}
		permissions = append(permissions, document)
	}
	path := filepath.Join(t.TempDir(), "permissions.yaml")
	suite.Must(t, os.WriteFile(path, []byte(strings.Join(permissions, "\n---\n")), 0o600))
	suite.Must(t, bed.Cluster.Apply(t.Context(), path))
	config, err := bed.Cluster.ServiceAccountConfig(t.Context(), "targetgate-system", "targetgate-give-back")
	suite.Must(t, err)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	suite.Must(t, cluster.WriteKubeconfig(kubeconfig, config))
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, os.Getenv("TARGETGATE_BINARY"), append(args, "--kubeconfig="+kubeconfig)...).CombinedOutput()
	t.Logf("targetgate %s:\n%s", strings.Join(args, " "), out)
	suite.Must(t, err)
	return string(out)
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package gates

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/explain"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// asker runs targetgate as the plugin of kubectl.
type asker struct{ plugin, kubeconfig string }

func newAsker(t *testing.T) *asker {
	t.Helper()
	a := &asker{plugin: filepath.Join(t.TempDir(), "kubectl-targetgate"), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	suite.Must(t, os.Symlink(os.Getenv("TARGETGATE_BINARY"), a.plugin))
	suite.Must(t, cluster.WriteKubeconfig(a.kubeconfig, bed.Cluster.AdminConfig()))
	return a
}

// explain returns the report about the app, by default of its binding, and what the program has printed.
func (a *asker) explain(t *testing.T, app *testbed.App, args ...string) (report explain.Report, code int, err error) {
	t.Helper()
	args = append([]string{
		"explain", "-o", "json", "-n", app.Name, "--kubeconfig", a.kubeconfig,
		"--aws-api-endpoints=Elastic Load Balancing v2=" + bed.AWS.URL(),
	}, args...)
	cmd := exec.CommandContext(t.Context(), a.plugin, args...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=developer", "AWS_SECRET_ACCESS_KEY=secret", "GORACE=exitcode=66")
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 && errOut.Len() == 0 {
		code, err = 1, nil
	}
	if err != nil {
		return report, code, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	return report, code, json.Unmarshal(out, &report)
}

func (a *asker) awaitCause(t *testing.T, app *testbed.App, link, seen string, args ...string) {
	t.Helper()
	a.await(t, app, explain.Broken, link, seen, args...)
}

func (a *asker) await(t *testing.T, app *testbed.App, state explain.State, link, seen string, args ...string) {
	t.Helper()
	suite.Eventually(t, "the cause to be named", func() error {
		report, code, err := a.explain(t, app, args...)
		if err != nil {
			return err
		}
		var cause explain.Cause
		if len(report.Chains) == 1 && report.Chains[0].Cause != nil {
			cause = *report.Chains[0].Cause
		}
		if cause.State != state || cause.Name != link || !strings.Contains(cause.Seen, seen) {
			return fmt.Errorf("the cause is %+v, want %s %s: %s", cause, state, link, seen)
		}
		if broken := state == explain.Broken; broken != (code == 1) || broken != report.IsBroken() || broken && cause.Advice == "" {
			return fmt.Errorf("exit code %d, broken %v, advice %q", code, report.IsBroken(), cause.Advice)
		}
		return nil
	})
}

// wantWell is an error unless whoever asks hears that no link is broken or waits.
func (a *asker) wantWell(t *testing.T, app *testbed.App, args ...string) error {
	t.Helper()
	report, code, err := a.explain(t, app, args...)
	if err != nil {
		return err
	}
	if len(report.Chains) != 1 || len(report.Chains[0].Endpoints) != int(app.Replicas) || report.Chains[0].Cause != nil || code != 0 {
		return fmt.Errorf("exit code %d, report %+v; want one binding in which all is well", code, report)
	}
	return nil
}

// newDeveloper is an asker who may read the app's namespace and nothing else.
func newDeveloper(t *testing.T, app *testbed.App) *asker {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: app.Name, Name: "developer"}
	bindings := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1beta1.GroupVersion.Group}, Resources: []string{"targetgroupbindings"}, Verbs: []string{"get", "list"}},
	}}
	suite.Must(t, bed.Client.Create(t.Context(), bindings))
	for name, role := range map[string]rbacv1.RoleRef{
		"view": {APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}, "bindings": {APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
	} {
		suite.Must(t, bed.Client.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: app.Name, Name: name}, RoleRef: role,
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: app.Name}},
		}))
	}
	config, err := bed.Cluster.UserConfig(app.Name)
	suite.Must(t, err)
	developer := newAsker(t)
	suite.Must(t, cluster.WriteKubeconfig(developer.kubeconfig, config))
	return developer
}

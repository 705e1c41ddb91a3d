// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// render has Helm render the chart with the values of Options.Values. TARGETGATE_HELM is its path, by default that of the Makefile.
func (b *Bed) render(ctx context.Context) error {
	helm := cmp.Or(os.Getenv("TARGETGATE_HELM"), filepath.Join(b.root, ".bin/helm"))
	command := exec.CommandContext(ctx, helm, "template", "targetgate", filepath.Join(b.root, "charts/targetgate"),
		"--namespace", namespace, "--set", "image.repository=registry.example/targetgate",
		"--set", "clusterName="+b.clusterName+","+strings.Join(b.options.Values, ","),
		"--kube-version", "1.30", "--output-dir", b.dir)
	command.Env = append(os.Environ(), "HOME="+b.dir)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("rendering the chart: %w\n%s", err, out)
	}
	return nil
}

// Rendered is the path of what a template of the chart was rendered to, with Options.Values.
func (b *Bed) Rendered(template string) string {
	return filepath.Join(b.dir, "targetgate/templates", template)
}

// installChart applies of the rendered chart what targetgate needs besides the CRD, the webhooks and a Deployment.
func (b *Bed) installChart(ctx context.Context) error {
	if err := b.render(ctx); err != nil {
		return err
	}
	b.webhooks = b.Rendered("webhook.yaml")
	var paths []string
	for _, template := range []string{"rbac.yaml", "records.yaml", "certificate.yaml", "beside.yaml"} {
		path := b.Rendered(template)
		if _, err := os.Stat(path); err == nil { // those that render to nothing are not there
			paths = append(paths, path)
		}
	}
	return b.Cluster.Apply(ctx, paths...)
}

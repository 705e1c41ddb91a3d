//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/documents"
	"github.com/targetgate/targetgate/e2e/suite"
)

// A newcomer goes by INGRESS.md, from an app to a page and to the end of the load balancer. e2e/chart has installed as it says.
func TestCommandsOfTheDocument(t *testing.T) {
	t.Parallel()
	app := newApp("web")
	app.Namespace = "shop"
	suite.Must(t, bed.Bed.Deploy(t.Context(), app))
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	suite.Must(t, cluster.WriteKubeconfig(kubeconfig, bed.Cluster.AdminConfig()))
	shell := &documents.Shell{
		Dir: dir, Env: []string{"KUBECONFIG=" + kubeconfig, "GORACE=exitcode=66"},
		Programs: map[string]string{
			"kubectl":            suite.Kubectl(),
			"kubectl-targetgate": os.Getenv("TARGETGATE_BINARY"),
		},
	}
	blocks, err := documents.Read(suite.Root)
	suite.Must(t, err)
	ingress, asked := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}, false
	for _, block := range blocks {
		if !block.Provisions() || block.Installs() {
			continue
		}
		run := func() error {
			out, err := shell.Run(t.Context(), block)
			if err == nil && strings.Contains(block.Commands, "explain") && !strings.Contains(out, "shop.example.com") {
				return fmt.Errorf("the explanation does not name the host:\n%s", out)
			}
			return err
		}
		switch {
		case strings.Contains(block.Commands, "explain"):
			suite.Eventually(t, "an explanation that finds nothing broken", run)
		case strings.Contains(block.Commands, "curl"):
			suite.Must(t, run())
			suite.Eventually(t, "the page", func() error { return answeredBy(t, app, awaitHost(t, ingress), "shop.example.com", "/") })
			asked = true
		default:
			suite.Must(t, run())
		}
	}
	if !asked {
		t.Error("the document asks for no page")
	}
	awaitGone(t, ingress, "shop/web")
}

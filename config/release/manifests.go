// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

const kustomization = "config/kustomization.yaml"

const installIntro = `# targetgate %s without Helm: config/kustomization.yaml in one file. Set the image (build one of
# config/image/Dockerfile and push it to a registry that your nodes pull from), CLUSTER_NAME, and the annotation
# eks.amazonaws.com/role-arn of the ServiceAccount (EKS Pod Identity needs none), then:
#
#   kubectl apply --server-side -f install.yaml
#
# Never kubectl delete -f it: that deletes the CRD and with it all bindings, and targetgate then deregisters their targets. The README
# says how to uninstall it.
`

// writeManifests writes the CRD alone, for users who install it without the chart, and everything in the kustomization.
func (r *release) writeManifests() error {
	paths, err := resources()
	if err != nil {
		return err
	}
	install := fmt.Appendf(nil, installIntro, r.version)
	for _, path := range paths {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(kustomization), path))
		if err != nil {
			return err
		}
		if filepath.Dir(path) == "crd" {
			if err := r.writeFile("crd.yaml", content); err != nil {
				return err
			}
		}
		install = fmt.Appendf(install, "---\n%s", bytes.TrimPrefix(content, []byte("---\n")))
	}
	return r.writeFile("install.yaml", install)
}

// resources returns the paths in the kustomization, which contains nothing else.
func resources() ([]string, error) {
	content, err := os.ReadFile(kustomization)
	if err != nil {
		return nil, err
	}
	var file struct {
		APIVersion, Kind string
		Resources        []string
	}
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		return nil, fmt.Errorf("reading %s: %w", kustomization, err)
	}
	return file.Resources, nil
}

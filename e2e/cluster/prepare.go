// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"

	"github.com/targetgate/targetgate/e2e/process"
)

// Base names in the folder pki.
const (
	authorityFile            = "ca"
	serviceAccountFile       = "service-account"
	serviceAccountPublicFile = serviceAccountFile + ".pub"
)

// The users that Kubernetes' own roles are bound to.
const (
	controllerManagerUser = "system:kube-controller-manager"
	schedulerUser         = "system:kube-scheduler"
)

// prepare does all that comes before the first process: folder, ports, certificates, kubeconfigs. When it fails, it
// leaves no temporary folder.
func prepare(options Options) (*Cluster, error) {
	c := &Cluster{
		log: options.Log, running: map[string]*process.Process{},
		extra: map[string][]string{controllerManager: options.ControllerManagerArgs},
	}
	var err error
	if c.binary, err = findBinary(options.Binary); err != nil {
		return nil, err
	}
	if err := c.claimFolder(options.Dir); err != nil {
		return nil, err
	}
	if err := c.fill(options.Audited); err != nil {
		if c.temporary {
			err = errors.Join(err, os.RemoveAll(c.dir))
		}
		return nil, err
	}
	c.launcher = process.NewLauncher()
	return c, nil
}

// findBinary returns the absolute path of the binary, since the processes work in another folder.
func findBinary(path string) (string, error) {
	if path == "" {
		return "", errors.New("no control plane binary given")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("looking for the control plane binary: %w", err)
	}
	return filepath.Abs(path)
}

// claimFolder makes sure of a folder of our own, a temporary one when none is given.
func (c *Cluster) claimFolder(dir string) (err error) {
	if dir == "" {
		c.temporary = true
		c.dir, err = os.MkdirTemp("", "targetgate-cluster-")
		return err
	}
	if c.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if _, err := os.Stat(c.path("etcd")); err == nil {
		return fmt.Errorf("folder %s holds another cluster's state", c.dir)
	}
	return os.MkdirAll(c.dir, 0o700)
}

// fill chooses the ports and writes what the components read.
func (c *Cluster) fill(audited string) error {
	ports, err := FreePorts(2)
	if err != nil {
		return err
	}
	c.etcdPort, c.apiPort = ports[0], ports[1]
	for _, folder := range []string{"pki", "logs"} {
		if err := os.MkdirAll(c.path(folder), 0o700); err != nil {
			return err
		}
	}
	if c.ca, err = newAuthority("targetgate-e2e"); err != nil {
		return err
	}
	if err := c.writeCertificates(); err != nil {
		return err
	}
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	if audited != "" {
		if c.extra[apiServer], err = c.audit(audited); err != nil {
			return err
		}
	}
	if c.admin, err = c.UserConfig(adminUser, adminGroup); err != nil {
		return err
	}
	c.client, err = kubernetes.NewForConfig(c.admin)
	return err
}

func (c *Cluster) writeCertificates() error {
	serving, err := c.ca.server(loopback, "localhost", serviceOfAPIServer, "kubernetes.default.svc")
	if err != nil {
		return err
	}
	private, public, err := newServiceAccountKey()
	if err != nil {
		return err
	}
	files := map[string][]byte{
		c.certificatePath(authorityFile):        c.ca.pem,
		c.certificatePath(apiServer):            serving.certificate,
		c.keyPath(apiServer):                    serving.key,
		c.keyPath(serviceAccountFile):           private,
		c.path("pki", serviceAccountPublicFile): public,
	}
	for path, content := range files {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) writeKubeconfigs() error {
	users := map[string]string{controllerManager: controllerManagerUser, scheduler: schedulerUser}
	for component, user := range users {
		config, err := c.UserConfig(user)
		if err != nil {
			return err
		}
		if err := WriteKubeconfig(c.kubeconfigPath(component), config); err != nil {
			return err
		}
	}
	return nil
}

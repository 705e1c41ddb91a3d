// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/process"
	"github.com/targetgate/targetgate/e2e/suite"
)

// servingSecret is what cert-manager writes the webhooks' certificate into. Certificates of the chart are called like their
// Secrets, but for the ending -tls.
var servingSecret = client.ObjectKey{Namespace: "targetgate-system", Name: "targetgate-webhook-tls"}

// startCertManager installs the CRDs of cert-manager's module, and runs its controllers and its cainjector until the test ends.
func startCertManager(t *testing.T) {
	t.Helper()
	binary := os.Getenv("TARGETGATE_CERT_MANAGER")
	if binary == "" {
		t.Fatal("TARGETGATE_CERT_MANAGER is not set: it names the program that is built from e2e/kubernetes/certmanager")
	}
	module, err := exec.CommandContext(t.Context(), "go", "-C", "../kubernetes", "list", "-m", "-f", "{{.Dir}}",
		"github.com/cert-manager/cert-manager").Output()
	suite.Must(t, err)
	definitions, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(module)), "deploy/crds/cert-manager.io_*.yaml"))
	suite.Must(t, err)
	suite.Must(t, bed.Cluster.Apply(t.Context(), definitions...))
	t.Cleanup(func() {
		for _, path := range definitions {
			_, plural, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".yaml"), "_")
			deleteObject(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", client.ObjectKey{Name: plural + ".cert-manager.io"})
		}
		deleteObject(t, "v1", "Secret", servingSecret)
	})
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	suite.Must(t, cluster.WriteKubeconfig(kubeconfig, bed.Cluster.AdminConfig()))
	launcher := process.NewLauncher()
	t.Cleanup(launcher.Close)
	running, err := launcher.Start(process.Command{
		Name: "cert-manager", Binary: binary, Args: []string{kubeconfig}, Dir: dir, LogPath: filepath.Join(dir, "log"),
	})
	suite.Must(t, err)
	t.Cleanup(func() {
		failure := running.Failure()
		running.Stop(5 * time.Second)
		if failure != nil {
			t.Error(failure)
		} else if t.Failed() {
			log, _ := os.ReadFile(running.LogPath)
			t.Logf("cert-manager's log ends with:\n%s", log[max(0, len(log)-8<<10):])
		}
	})
}

// forCertManager are files with what the chart is rendered to.
type forCertManager struct{ certificates, webhooks string }

func renderForCertManager(t *testing.T) forCertManager {
	t.Helper()
	dir := t.TempDir()
	render := func(name string) string {
		program, err := filepath.Abs(cmp.Or(os.Getenv("TARGETGATE_HELM"), suite.Root+"/.bin/helm"))
		suite.Must(t, err)
		command := exec.CommandContext(t.Context(), program, "template", "targetgate", suite.Root+"/charts/targetgate",
			"--namespace", caSecret.Namespace, "--set", "clusterName=e2e,image.repository=registry.example/targetgate,enableCertManager=true",
			"--show-only", "templates/"+name)
		command.Env = append(os.Environ(), "HOME="+dir)
		out, err := command.Output()
		suite.Must(t, err)
		path := filepath.Join(dir, name)
		suite.Must(t, os.WriteFile(path, out, 0o600))
		return path
	}
	return forCertManager{render("certificate.yaml"), render("webhook.yaml")}
}

func ofCertManager(kind string, secret client.ObjectKey) *unstructured.Unstructured {
	return newObject("cert-manager.io/v1", kind, client.ObjectKey{Namespace: secret.Namespace, Name: strings.TrimSuffix(secret.Name, "-tls")})
}

func newObject(version, kind string, key client.ObjectKey) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind))
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return object
}

// triggerRenewal sets the condition that `cmctl renew` sets.
func triggerRenewal(t *testing.T, secret client.ObjectKey) error {
	t.Helper()
	certificate := ofCertManager("Certificate", secret)
	if err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(certificate), certificate); err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(certificate.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, condition := range conditions {
		if fields := condition.(map[string]any); fields["type"] == "Issuing" {
			return errors.New("it is being issued")
		}
	}
	conditions = append(conditions, map[string]any{
		"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "Certificate re-issuance manually triggered",
		"lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": certificate.GetGeneration(),
	})
	if err := unstructured.SetNestedSlice(certificate.Object, conditions, "status", "conditions"); err != nil {
		return err
	}
	return bed.Client.Status().Update(t.Context(), certificate)
}

// deleteCertificates deletes what Helm does when enableCertManager is false again. Secrets stay.
func deleteCertificates(t *testing.T) {
	t.Helper()
	for _, secret := range []client.ObjectKey{servingSecret, caSecret} {
		for _, kind := range []string{"Certificate", "Issuer"} {
			suite.Must(t, bed.Client.Delete(t.Context(), ofCertManager(kind, secret)))
		}
	}
}

func deleteObject(t *testing.T, version, kind string, key client.ObjectKey) {
	t.Helper()
	suite.Must(t, client.IgnoreNotFound(bed.Client.Delete(context.Background(), newObject(version, kind, key))))
}

// volumeLag is how long a change of a Secret takes at most to get into its volume. Kubelets take a minute or more.
const volumeLag = 3 * time.Second

// mountSecret is the Secret's volume, until the test ends: a folder of links to the files behind ..data, which is a link to
// those of one version of the Secret and is replaced at once.
func mountSecret(t *testing.T, key client.ObjectKey) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var secret corev1.Secret
	suite.Must(t, bed.Client.Get(t.Context(), key, &secret))
	suite.Must(t, project(dir, &secret))
	for name := range secret.Data {
		suite.Must(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var keeping sync.WaitGroup
	t.Cleanup(func() { cancel(); keeping.Wait() })
	keeping.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(volumeLag):
			}
			if err := bed.Client.Get(ctx, key, &secret); err == nil {
				err = project(dir, &secret)
				if err != nil {
					t.Errorf("writing the volume of %s: %v", key, err)
				}
			}
		}
	})
	return dir
}

// project makes ..data lead to the files of this version of the Secret.
func project(dir string, secret *corev1.Secret) error {
	version := "..version-" + secret.ResourceVersion
	before, _ := os.Readlink(filepath.Join(dir, "..data")) // there is none at first
	if before == version {
		return nil
	}
	if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
		return err
	}
	for name, content := range secret.Data {
		if err := os.WriteFile(filepath.Join(dir, version, name), content, 0o600); err != nil {
			return err
		}
	}
	temporary := filepath.Join(dir, "..data_tmp")
	if err := os.Symlink(version, temporary); err != nil {
		return err
	}
	if err := os.Rename(temporary, filepath.Join(dir, "..data")); err != nil {
		return err
	}
	if before == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, before))
}

// watch runs until the test ends, which waits for its end.
func watch(t *testing.T, run func()) {
	var watching sync.WaitGroup
	watching.Go(run)
	t.Cleanup(watching.Wait)
}

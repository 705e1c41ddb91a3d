// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ingressapi "github.com/targetgate/targetgate/balancers/v1beta1"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// DefaultLease is the incumbent's.
const DefaultLease = "aws-load-balancer-controller-leader"

// DefaultNamespace is where the documents install targetgate.
const DefaultNamespace = "targetgate-system"

// Connect returns a client with a user's own rights, and the namespace that is given, else the context's. Wrap wraps the client's
// transport; it may be nil.
func Connect(kubeconfig, kubeContext, given string, wrap func(http.RoundTripper) http.RoundTripper) (client.Client, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: kubeContext}
	overrides.Context.Namespace = given
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("loading kubeconfig: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("finding the namespace: %w", err)
	}
	cfg.QPS, cfg.Timeout = -1, 30*time.Second
	cfg.Wrap(wrap)
	scheme, err := NewScheme()
	if err != nil {
		return nil, "", err
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, "", fmt.Errorf("creating API client: %w", err)
	}
	return c, namespace, nil
}

// NewScheme returns a scheme with all kinds that are read or written.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme), ingressapi.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building scheme: %w", err)
	}
	return scheme, nil
}

// KubeconfigHelp is of a flag whose value KubeConfig gets.
const KubeconfigHelp = "Path to a kubeconfig file. Default: KUBECONFIG, ~/.kube/config, the pod's service account."

// KubeConfig is that of the context, "" for the current one. It sets no client-side rate limit: the API server's priority and fairness does
// that better.
func KubeConfig(path, kubeContext string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	overrides := &clientcmd.ConfigOverrides{CurrentContext: kubeContext}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("loading kubeconfig: %w", err)
	}
	cfg.QPS = -1
	return cfg, nil
}

// PrintJSON writes a report for programs.
func PrintJSON(out io.Writer, report any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(report)
}

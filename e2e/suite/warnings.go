// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"slices"
	"sync"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Warnings are those with which the API server has answered a client.
type Warnings struct {
	mu    sync.Mutex
	texts []string
}

// WarnedClient is a client for the kinds of Kubernetes, with the warnings that it gets.
func (bed *Bed) WarnedClient(t *testing.T) (client.Client, *Warnings) {
	t.Helper()
	warned, config := &Warnings{}, bed.Cluster.AdminConfig()
	config.WarningHandler = warned
	c, err := client.New(config, client.Options{})
	Must(t, err)
	return c, warned
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *Warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// Texts are the warnings so far.
func (w *Warnings) Texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.texts)
}

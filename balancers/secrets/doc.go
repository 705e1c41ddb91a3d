// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secrets reads the Secrets that Ingresses name, each by itself: users allow that for single ones, by a Role with resourceNames
// and the verbs get, list and watch.
//
// Watcher has one lock, for its own fields. It is held for no call of the API server.
package secrets

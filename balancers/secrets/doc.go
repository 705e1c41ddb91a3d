// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secrets reads the Secrets that Ingresses name, one at a time, because users grant access to single Secrets: a Role with
// resourceNames and the verbs get, list and watch. Changes are watched; nothing is read at intervals.
//
//	watcher.go  Watcher, for the controller: watches each Secret, and tells the groups that need it of changes
//	reader.go   Reader, for previews: reads each Secret once
//
// Watcher has one lock, for its own fields. It is held for no call of the API server.
package secrets

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secrets reads each Secret that an Ingress names by itself, because users grant access to single Secrets: a Role with
// resourceNames and the verbs get, list and watch.
//
//	watcher.go  Watcher, for the controller: watches each Secret, and tells the groups that need it of changes
//	reader.go   Reader, for previews: reads each Secret once
//
// Watcher has one lock, for its own fields. It is held for no call of the API server.
package secrets

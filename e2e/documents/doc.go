// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package documents runs the commands in the documents as they are written, so that a missing flag or a wrong object name is
// found before a reader needs the command.
//
// Every block of type sh in every document runs in one of three tests. The test in e2e/chart runs those that install, on its own
// cluster; the test in e2e/ingress those on load balancers of Ingresses, the test in e2e/rollouts the others, on test beds. Programs that
// none of them has, such as docker, do nothing.
package documents

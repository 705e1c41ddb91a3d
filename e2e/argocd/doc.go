// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package argocd runs the health rule of config/argocd as Argo CD does, in Lua.
package argocd

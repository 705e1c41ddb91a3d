// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhooktest has what the tests of several hooks share: an API server in memory, objects in it and reviews of them as API
// servers post them (webhooktest.go), and a check that no review costs more than its size (growth.go).
package webhooktest

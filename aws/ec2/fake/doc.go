// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fake is an EC2 API in memory for unit tests (fake.go): security groups (groups.go) with their inbound rules (rules.go), network
// interfaces and instances (interfaces.go). It refuses what EC2 refuses, with EC2's codes and texts (answer.go), and each call as a whole.
package fake

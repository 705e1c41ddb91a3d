// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lookup answers what groups need to know of the AWS account before their stacks are built, in the terms of package input.
package lookup

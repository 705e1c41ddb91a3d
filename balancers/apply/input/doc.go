// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package input writes the nouns of package stack as the SDK's inputs of AWS's calls, in the incumbent's form, so that either controller
// finds nothing to change in what the other has made. It makes no call. Every reference must have its ID.
package input

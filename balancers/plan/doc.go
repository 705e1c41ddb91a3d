// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan says by which steps the stack that is seen becomes the stack that is wanted. It is pure: no client, no clock. Two promises
// are made of its steps, whichever of them is the last to be done: nothing that serves is taken away before what replaces it serves, and
// a request that the same Service answers before and after all of them is answered by it in between.
package plan

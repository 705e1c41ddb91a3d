// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package documents runs the commands that the documents give, as they stand there, so that a flag that does not exist or
// an object that is called otherwise is seen before a reader finds it at a bad moment.
//
// Every block of type sh in every document runs in one of two tests. That of e2e/chart has those that install, on a
// cluster of their own; that of e2e has the others, on the test bed. Programs that neither has, such as docker, do
// nothing in either.
package documents

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite is what packages of end-to-end tests share: a test bed for all tests of a package, and what they do to its
// apps and ask of them.
//
//	Main             starts the package's bed, runs its tests, and closes the bed
//	NewApp, Deploy   an app for one test, in a namespace of its own that goes with the test
//	Want...          is an error when something is not so now
//	Await...         waits until it is so, and ends the test when it never is
//	Assert...        fails the test when something has happened that must not
//
// What one package alone needs stays there.
package suite

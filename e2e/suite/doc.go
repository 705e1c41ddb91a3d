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
// Its files:
//
//	suite.go       Main and Bed; the scale of time
//	room.go        when the machine has room for another app
//	wait.go        Eventually, Throughout, Must
//	apps.go        apps, their Services and Deployments
//	shared.go      apps whose target group other clusters have targets in
//	bindings.go    bindings: status, events, deletion
//	pods.go        pods of an app
//	slices.go      EndpointSlices written by hand
//	targets.go     targets of an app in AWS, and their health
//	account.go     what is left in AWS after the last test
//	calls.go       AWS calls for an app's target group
//	load.go        requests to an app
//	admission.go   webhooks, and the gates that they add to pods
//	warnings.go    warnings that the API server sends to a client
//	guards.go      node guards
//	attack.go      where attackers are; how much memory targetgate takes then, and whether it detects races
//	targetgate.go  flags and metrics of targetgate
//
// What one package alone needs stays there.
package suite

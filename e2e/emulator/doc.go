// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package emulator is a stand-in for AWS's load balancers, as unkind as the real ones are said to be.
//
// It is put together from three parts: state decides what happens to targets and when, wire answers AWS clients, dataplane
// checks targets and forwards traffic. Start runs all three in this process on loopback sockets; the program in cmd does
// the same for any AWS client.
//
// It never registers, deregisters or marks anything by itself: that is the job of what is being tested.
package emulator

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules reads the chart's alerts and its dashboard, and evaluates them as Prometheus does: with Prometheus' own
// parser and engine, over series that are held in memory. It is there for tests, of which those in package charts feed it
// series that were written for the purpose, and those in package e2e what targetgate itself tells.
//
// Prometheus' package rules, and promtool, would do some of this, but bring with them the service discovery of a dozen
// clouds.
package rules

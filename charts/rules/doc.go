// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules reads the chart's alerts and its dashboard, and evaluates them with Prometheus' own parser and engine, over
// series in memory. It is for tests: those in package charts use series written for the purpose, those in package
// e2e/rollouts the metrics of a running targetgate.
//
//	alerts.go      reads alerting rules, and the text that an alert sends
//	dashboard.go   reads a Grafana dashboard
//	expression.go  which metrics and labels an expression uses
//	series.go      series in memory, written in promtool's notation; evaluates expressions over them
//	scrape.go      adds series from the metrics of a process
//	engine.go      Prometheus' engine; when an alert fires
//
// Prometheus' package rules, and promtool, could do some of this, but depend on the service discovery of a dozen clouds.
package rules

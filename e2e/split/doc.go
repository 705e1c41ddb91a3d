// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command split says which tests `make test` runs, and which are left to `make test-rest`. The table in docs/design/test-bed.md is the
// only list: `make test` runs the end-to-end tests that it names, `make test-rest` skips the same, so that each runs in one of the two.
//
//	go run ./e2e/split unit   packages of the unit tests in `make test`; `make test-rest` runs those of all packages
//	go run ./e2e/split core   arguments of go test for the end-to-end tests in `make test`
//	go run ./e2e/split rest   arguments of go test for all others
//
// Packages come in the order in which they begin: the one that takes longest is first.
//
//	main.go   the command line
//	table.go  the table in the document
//	tests.go  the tests in the source
//
// The tests of this package check that the table and the source fit, and that the minutes in the table are within the budgets.
package main

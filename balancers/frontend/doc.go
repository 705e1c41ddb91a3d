// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package frontend is what a pass knows of the objects that ask for load balancers: Frontend, in frontend.go, says what the objects of one
// kind ask for. balancers/ingress/objects is the only front end yet.
package frontend

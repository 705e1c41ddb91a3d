// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema checks a spec against its CRD, as API servers do after the mutating webhooks.
//
// What a CRD refuses is 422 Invalid, for which GitOps tools delete an object and create it again. So the mutating webhooks check it first,
// and refuse with their own code. Which rules there are is read from the CRD itself. Its rules in CEL (x-kubernetes-validations) are not
// evaluated: the packages of the hooks have each of them in Go, and a test compares the two.
//
//	schema.go  reads the schema of a spec; refuses to be made of a CRD with a rule that it does not know
//	check.go   checks a value, and which faults an update makes
package schema

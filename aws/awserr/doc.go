// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package awserr tells the errors of AWS calls apart, whichever service they are of.
//
//	awserr.go  codes that several services or packages need: throttled, not permitted, over a quota, name taken, gone, in use, invalid;
//	           whether a call had an effect; the message for users
//	role.go    RoleError: a role could not be assumed, so the call was not made
//
// Codes of one service are with its calls: those of target groups and registrations in aws/elbv2/errors.go, those of security groups and
// their rules in aws/ec2/errors.go, those of certificates in aws/acm/client.go. What an error means for the steps of a plan is in
// balancers/apply/errors.go. A code that matters in one place only has its name in that place.
package awserr

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package consent decides whether a TargetGroupBinding may have what it asks for: a target group, by the consent of the
// group's owner (tag.go), and an IAM role, by that of the cluster's administrator (roles.go). Ingresses that send requests to a target
// group need its owner's consent, too (sending.go). The group's tags also say whether its owner is another cluster (owner.go). What this
// cluster asks of bindings, by targetgate's flags, is a Policy (policy.go).
//
// It is pure: no client, no clock, no file. Admission and the registrar ask the same questions with it, so that what one
// refuses the other does, too. Nothing that it cannot read is ever taken for consent.
package consent

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ownership tests target groups in which others have a hand: another cluster, another account, a group's owner who has
// to consent, somebody who registers targets by hand, aws-load-balancer-controller before and after targetgate, or nobody.
//
// Its bed runs ten times faster than AWS. Tests restart targetgate with other flags, and keep it from apps for a while.
package ownership

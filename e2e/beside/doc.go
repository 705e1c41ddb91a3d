// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package beside tests targetgate beside aws-load-balancer-controller: which of the two works on a binding, and that moving one between
// them, in whatever state and whoever dies meanwhile, loses no request.
//
// Its bed runs ten times faster than AWS, and has what the chart installs with beside.enabled. The other controller is that of package
// incumbent, in the process of the tests. Neither of the two is scaled: targetgate waits 10 s twice before it works on a binding of the
// other, and a minute after two have worked on one. So tests run in parallel where they can. Those that kill targetgate, remove the
// policy or give back everything run alone, before the others.
package beside

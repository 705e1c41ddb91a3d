// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import "github.com/targetgate/targetgate/e2e/emulator/refusal"

func groupNotFound() error {
	return refusal.New("TargetGroupNotFound", "One or more target groups not found")
}

func loadBalancerNotFound() error {
	return refusal.New("LoadBalancerNotFound", "One or more load balancers not found")
}

func listenerNotFound() error {
	return refusal.New("ListenerNotFound", "One or more listeners not found")
}

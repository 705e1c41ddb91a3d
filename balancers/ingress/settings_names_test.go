// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"testing"

	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/stack"
)

// Who wants what AWS refuses is found by the names that package stack has for settings.
func TestSettingsHaveTheNamesThatOwnersAreFoundBy(t *testing.T) {
	for setting, name := range map[string]string{
		stack.SettingAddressType:          annotation.AddressType.Name,
		stack.SettingAttributes:           annotation.LoadBalancerAttributes.Name,
		stack.SettingCapacity:             annotation.Capacity.Name,
		stack.SettingClassicACL:           annotation.WAFClassicACL.Name,
		stack.SettingFrontAllocations:     annotation.FrontAllocations.Name,
		stack.SettingFrontAttributes:      annotation.FrontAttributes.Name,
		stack.SettingFrontSecurityGroups:  annotation.FrontSecurityGroups.Name,
		stack.SettingFrontSubnets:         annotation.FrontSubnets.Name,
		stack.SettingIPAMPool:             annotation.IPAMPool.Name,
		stack.SettingInboundCIDRs:         annotation.InboundCIDRs.Name,
		stack.SettingMutualAuthentication: annotation.MutualAuthentication.Name,
		stack.SettingPrefixLists:          annotation.PrefixLists.Name,
		stack.SettingSSLPolicy:            annotation.SSLPolicy.Name,
		stack.SettingSecurityGroups:       annotation.SecurityGroups.Name,
		stack.SettingShield:               annotation.Shield.Name,
		stack.SettingSubnets:              annotation.Subnets.Name,
		stack.SettingWebACL:               annotation.WAFv2ACL.Name,
		stack.SettingListenerAttributes:   annotation.ListenerAttributes.Name,
	} {
		if setting != name {
			t.Errorf("the setting %q is named %q by its annotation", setting, name)
		}
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"strconv"
)

// The names of settings that members share, as Stack.Voters has them. They are those of the annotations of Ingresses; other front ends give
// theirs the same names.
const (
	SettingAddressType          = "ip-address-type"
	SettingAttributes           = "load-balancer-attributes"
	SettingCapacity             = "minimum-load-balancer-capacity"
	SettingClassicACL           = "waf-acl-id"
	SettingFrontAllocations     = "frontend-nlb-eip-allocations"
	SettingFrontAttributes      = "frontend-nlb-attributes"
	SettingFrontSecurityGroups  = "frontend-nlb-security-groups"
	SettingFrontSubnets         = "frontend-nlb-subnets"
	SettingInboundCIDRs         = "inbound-cidrs" // of a port
	SettingIPAMPool             = "ipam-ipv4-pool-id"
	SettingListenerAttributes   = "listener-attributes."        // of a listener: see ListenerAttributes
	SettingMutualAuthentication = "mutual-authentication"       // of a port
	SettingPrefixLists          = "security-group-prefix-lists" // of a port
	SettingSecurityGroups       = "security-groups"
	SettingShield               = "shield-advanced-protection"
	SettingSSLPolicy            = "ssl-policy" // of a port
	SettingSubnets              = "subnets"
	SettingWebACL               = "wafv2-acl-arn"
)

// OfPort is the name of a shared setting of a port.
func OfPort(name string, port int32) string { return name + " " + strconv.Itoa(int(port)) }

// OfKey is the name of a shared setting that is one key of several.
func OfKey(name, key string) string { return name + "[" + key + "]" }

// ListenerAttributes is the name of the setting that has the attributes of a listener.
func ListenerAttributes(protocol string, port int32) string {
	return fmt.Sprintf("%s%s-%d", SettingListenerAttributes, protocol, port)
}

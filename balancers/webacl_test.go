// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package balancers

import "testing"

// AWS answers one call a second that asks for a web ACL.
func TestWebACLsAreReadOnlyWhereOneIsWanted(t *testing.T) {
	plain, guarded := ingressOf("plain", edge), ingressOf("guarded", other)
	guarded.Annotations["alb.ingress.kubernetes.io/wafv2-acl-arn"] = "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/a/b"
	b := newBed(t, plain, guarded, webService())
	b.see(edge, balancer("edge", true, 80))
	b.see(other, balancer("other", true, 80))
	b.mustPass(edge)
	if b.asked != 0 {
		t.Errorf("web ACLs were read %d times, want never for a group that wants none", b.asked)
	}
	for range 2 {
		b.mustPass(other)
	}
	if b.asked != 1 {
		t.Errorf("web ACLs were read %d times, want once", b.asked)
	}
}

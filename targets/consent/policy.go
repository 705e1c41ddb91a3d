// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package consent

// Policy is what this cluster asks of bindings. The zero value asks nothing.
type Policy struct {
	Mode    Mode
	Cluster string // as tags name it
	// Roles are those that may be assumed at the moment; nil when any may be.
	Roles func() *Roles
}

// Binder is the binding, as tags name it.
func (p Policy) Binder(namespace, name string) Binder {
	return Binder{Cluster: p.Cluster, Namespace: namespace, Name: name}
}

// RoleRefusal is why bindings of the namespace may not have the role assumed at the moment; empty when they may.
func (p Policy) RoleRefusal(namespace, role string) string {
	if p.Roles == nil {
		return ""
	}
	return p.Roles().Refusal(namespace, role)
}

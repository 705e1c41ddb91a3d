// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Instance is what the machine knows of an EC2 instance. Its interfaces are known by PutInterface.
type Instance struct {
	Address string
	Zone    string
	Running bool
	// Account is the default one when empty.
	Account string
}

// DescribedInstance is an instance as DescribeInstances shows it.
type DescribedInstance struct {
	Instance
	ID         string
	Interfaces []Interface // by device index
}

// SetInstance tells the machine of an EC2 instance or its new state. Instances must be known before they are registered.
func (m *Machine) SetInstance(id string, instance Instance) {
	now := m.enter()
	defer m.leave()
	m.instances[id] = instance
	m.reconsiderAll(now)
}

// ForgetInstance removes an instance some time after its end, as EC2 does: its id is unknown from now on, and its interfaces
// are gone.
func (m *Machine) ForgetInstance(id string) {
	now := m.enter()
	defer m.leave()
	delete(m.instances, id)
	for _, i := range m.ec2.interfaces.all() {
		if i.Instance == id {
			m.ec2.interfaces.put(i.ID, version[Interface]{since: now, value: i, gone: true}, m.oldest(now))
		}
	}
	m.reconsiderAll(now)
}

// instanceNotFound names all ids that are unknown.
func instanceNotFound(ids ...string) error {
	if len(ids) == 1 {
		return Refuse("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", ids[0])
	}
	return Refuse("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(ids, ", "))
}

// DescribeInstances returns an account's instances ("" is the default one) with one of the ids, or all, with their interfaces as
// these were some time ago (Options.EC2Lag). An unknown id is an error.
func (m *Machine) DescribeInstances(account string, ids ...string) ([]DescribedInstance, error) {
	now := m.enter()
	defer m.leave()
	interfaces := m.ec2.interfaces.at(m.lagged(now))
	account = m.account(account)
	var unknown []string
	for _, id := range ids {
		if !wellFormed("i-", id) {
			return nil, Refuse("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
		if instance, ok := m.instances[id]; !ok || m.account(instance.Account) != account {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		return nil, instanceNotFound(unknown...)
	}
	var found []DescribedInstance
	for _, id := range slices.Sorted(maps.Keys(m.instances)) {
		instance := m.instances[id]
		if m.account(instance.Account) == account && (len(ids) == 0 || slices.Contains(ids, id)) {
			instance.Account = account
			found = append(found, DescribedInstance{instance, id, attached(id, interfaces)})
		}
	}
	return found, nil
}

// attached are the interfaces of an instance by device index.
func attached(id string, all []Interface) []Interface {
	var found []Interface
	for _, i := range all {
		if i.Instance == id {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(a, b Interface) int { return cmp.Compare(a.DeviceIndex, b.DeviceIndex) })
	return found
}

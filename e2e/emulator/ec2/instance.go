// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ec2

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// Instance is what is known of an EC2 instance. Its interfaces are known by PutInterface.
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

// SetInstance makes an instance known, or gives it another state. Instances must be known before they are registered as targets.
func (n *Network) SetInstance(id string, instance Instance) {
	n.enter()
	n.instances[id] = instance
	n.leave()
	n.changed()
}

// ForgetInstance removes an instance some time after its end, as EC2 does: its id is unknown from now on, and its interfaces
// are gone.
func (n *Network) ForgetInstance(id string) {
	now := n.enter()
	delete(n.instances, id)
	for _, i := range n.interfaces.All() {
		if i.Instance == id {
			n.interfaces.End(i.ID, now, n.oldest(now))
		}
	}
	n.leave()
	n.changed()
}

// Instance is the one with that id; false is none.
func (n *Network) Instance(id string) (Instance, bool) {
	n.enter()
	defer n.leave()
	instance, ok := n.instances[id]
	return instance, ok
}

// instanceNotFound names all ids that are unknown.
func instanceNotFound(ids ...string) error {
	if len(ids) == 1 {
		return refusal.New("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", ids[0])
	}
	return refusal.New("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(ids, ", "))
}

// DescribeInstances returns an account's instances ("" is the default one) with one of the ids, or all, with their interfaces as
// these were some time ago (Options.Lag). An unknown id is an error.
func (n *Network) DescribeInstances(account string, ids ...string) ([]DescribedInstance, error) {
	now := n.enter()
	defer n.leave()
	interfaces := n.interfaces.At(n.lagged(now))
	account = n.region.Account(account)
	var unknown []string
	for _, id := range ids {
		if !WellFormed("i-", id) {
			return nil, refusal.New("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
		if instance, ok := n.instances[id]; !ok || n.region.Account(instance.Account) != account {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		return nil, instanceNotFound(unknown...)
	}
	var found []DescribedInstance
	for _, id := range slices.Sorted(maps.Keys(n.instances)) {
		instance := n.instances[id]
		if n.region.Account(instance.Account) == account && (len(ids) == 0 || slices.Contains(ids, id)) {
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

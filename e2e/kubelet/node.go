// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/kubelet/address"
	"github.com/targetgate/targetgate/e2e/kubelet/proxy"
)

const (
	leaseSeconds = 40
	// statusInterval is how often an unchanged node status is written, as a real kubelet does.
	statusInterval = 5 * time.Minute
)

// node is one Node object and its addresses.
type node struct {
	Node
	client    kubernetes.Interface
	addresses *address.Pool
	ports     *proxy.Node              // its node ports
	shutdown  atomic.Pointer[shutdown] // nil when it is in none
	silent    atomic.Bool              // cut off from the API server: no heartbeat, no pod status, deaf to changes
	ctx       context.Context          // ends with the node: see RemoveNode
	cut       context.CancelFunc

	mu       sync.Mutex             // one heartbeat at a time
	ready    corev1.ConditionStatus // what SetNodeReady wants
	shown    corev1.ConditionStatus // of the condition Ready
	since    time.Time              // since when that is so
	reported time.Time              // when the status was last written
}

func newNode(ctx context.Context, description Node, client kubernetes.Interface, reuse bool) *node {
	n := &node{Node: description, client: client, addresses: address.NewPool(description.PodCIDR, description.hostIP(), reuse)}
	n.ready, n.shown = corev1.ConditionTrue, corev1.ConditionTrue
	n.ctx, n.cut = context.WithCancel(ctx)
	n.ports = &proxy.Node{Name: n.Name, Address: address.Socket(n.hostIP()), Context: n.ctx, IsSilent: n.silent.Load}
	return n
}

// register creates the Node, ready unless SetNodeReady said otherwise, and its lease. A Node that is there already is taken over.
func (n *node) register(ctx context.Context, now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.since, n.reported = now, now
	_, err := n.client.CoreV1().Nodes().Create(ctx, n.object(now), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = n.patchStatus(ctx, now)
	}
	if err != nil {
		return fmt.Errorf("registering node %s: %w", n.Name, err)
	}
	return n.renew(ctx, now)
}

// beat renews the lease, and the status when that is due.
func (n *node) beat(ctx context.Context, now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.silent.Load() {
		return nil
	}
	if err := n.renew(ctx, now); err != nil {
		return err
	}
	if n.condition().status == corev1.ConditionTrue && now.Sub(n.reported) < statusInterval {
		return nil
	}
	return n.report(ctx, now)
}

// setReady writes another Ready condition, or the same one again.
func (n *node) setReady(ctx context.Context, status corev1.ConditionStatus, now time.Time) error {
	return n.update(ctx, func() { n.ready = status }, now)
}

// update writes the Ready condition after a change that may have made it another.
func (n *node) update(ctx context.Context, change func(), now time.Time) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
	if status := n.condition().status; status != n.shown {
		n.shown, n.since = status, now
	}
	return n.report(ctx, now)
}

// condition is the node's condition Ready.
func (n *node) condition() nodeState { return readyState(n.ready, n.shutdown.Load() != nil) }

// report writes the status.
func (n *node) report(ctx context.Context, now time.Time) error {
	if err := n.patchStatus(ctx, now); err != nil {
		return fmt.Errorf("writing status of node %s: %w", n.Name, err)
	}
	n.reported = now
	return nil
}

// remove deletes the Node and its lease; what is not there is fine.
func (n *node) remove(ctx context.Context) error {
	n.mu.Lock() // a heartbeat under way would bring the lease back
	defer n.mu.Unlock()
	return errors.Join(
		ignoreNotFound(n.client.CoreV1().Nodes().Delete(ctx, n.Name, metav1.DeleteOptions{})),
		ignoreNotFound(n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(ctx, n.Name, metav1.DeleteOptions{})),
	)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (n *node) renew(ctx context.Context, now time.Time) error {
	leases := n.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	spec := coordinationv1.LeaseSpec{
		HolderIdentity:       &n.Name,
		LeaseDurationSeconds: ptr.To[int32](leaseSeconds),
		RenewTime:            &metav1.MicroTime{Time: now},
	}
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return fmt.Errorf("encoding lease of node %s: %w", n.Name, err)
	}
	_, err = leases.Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Namespace: corev1.NamespaceNodeLease}, Spec: spec}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renewing lease of node %s: %w", n.Name, err)
	}
	return nil
}

// patchStatus writes a fresh status.
func (n *node) patchStatus(ctx context.Context, now time.Time) error {
	patch, err := json.Marshal(map[string]any{"status": n.status(now)})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Nodes().Patch(ctx, n.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func (n *node) object(now time.Time) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: n.Name,
			Labels: map[string]string{
				corev1.LabelHostname:           n.Name,
				corev1.LabelOSStable:           "linux",
				corev1.LabelArchStable:         "amd64",
				corev1.LabelInstanceTypeStable: "m7i.large",
				corev1.LabelTopologyZone:       n.Zone,
				corev1.LabelTopologyRegion:     n.Zone[:len(n.Zone)-1],
			},
		},
		Spec: corev1.NodeSpec{
			ProviderID: "aws:///" + n.Zone + "/" + n.InstanceID,
			PodCIDR:    n.PodCIDR.String(),
			PodCIDRs:   []string{n.PodCIDR.String()},
			Taints:     n.Taints,
		},
		Status: n.status(now),
	}
}

func (n *node) status(now time.Time) corev1.NodeStatus {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1000"),
		corev1.ResourceMemory: resource.MustParse("4Ti"),
		corev1.ResourcePods:   resource.MustParse(strconv.Itoa(n.MaxPods)),
	}
	return corev1.NodeStatus{
		Capacity:    capacity,
		Allocatable: capacity,
		Conditions:  nodeConditions(n.condition(), metav1.NewTime(n.since), metav1.NewTime(now)),
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: n.hostIP().String()},
			{Type: corev1.NodeHostName, Address: n.Name},
		},
		NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v1.37.2-standin"},
	}
}

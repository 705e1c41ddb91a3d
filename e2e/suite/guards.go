// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/kubelet"
	"github.com/targetgate/targetgate/e2e/process"
	"github.com/targetgate/targetgate/targets/guards"
)

const (
	guardNamespace = "targetgate-system"
	guardName      = "targetgate-node-guard"
)

// Guards are node guards as the chart installs them. The nodes of the test bed run no programs: each pod lives as long as a process
// `targetgate guard` beside it, which gets SIGTERM when the pod does.
type Guards struct {
	bed         *Bed
	t           *testing.T
	dir         string
	longestWait time.Duration
	launcher    *process.Launcher
	begun       map[types.UID]bool
}

// GuardNodes has all nodes guarded until the end of the test.
func (bed *Bed) GuardNodes(t *testing.T, longestWait time.Duration) *Guards {
	t.Helper()
	g := &Guards{
		bed: bed, t: t, dir: t.TempDir(), longestWait: longestWait, launcher: process.NewLauncher(), begun: map[types.UID]bool{},
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	t.Cleanup(func() {
		g.uninstall(t)
		stop()
		<-stopped
		g.launcher.Close()
	})
	g.install(t)
	go func() {
		defer close(stopped)
		g.follow(ctx)
	}()
	return g
}

func (g *Guards) install(t *testing.T) {
	t.Helper()
	for _, object := range guardObjects() {
		Must(t, g.bed.Client.Create(t.Context(), object))
	}
	config, err := g.bed.Cluster.ServiceAccountConfig(t.Context(), guardNamespace, guardName)
	Must(t, err)
	Must(t, cluster.WriteKubeconfig(g.kubeconfig(), config))
}

// guardObjects are those of the chart, whose own tests hold it to the labels and to the rights.
func guardObjects() []client.Object {
	meta := metav1.ObjectMeta{Namespace: guardNamespace, Name: guardName}
	labels := map[string]string{"app.kubernetes.io/name": guardName, guards.Label: guards.Enabled}
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: guardName},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: guardNamespace, Name: guardName}},
		},
		&appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				ServiceAccountName: guardName, TerminationGracePeriodSeconds: ptr.To[int64](3600),
				Containers: []corev1.Container{{
					Name: "guard", Image: "targetgate", Env: []corev1.EnvVar{{Name: "ON_SIGTERM", Value: "ignore"}},
				}},
			}},
		}},
	}
}

func (g *Guards) uninstall(t *testing.T) {
	t.Helper()
	objects := guardObjects()
	Must(t, g.bed.Client.Delete(context.Background(), objects[len(objects)-1]))
	Eventually(t, "all guards to leave", func() error {
		pods, err := g.pods(context.Background())
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d are there", len(pods))
		}
		return err
	})
	for _, object := range objects[:len(objects)-1] {
		Must(t, g.bed.Client.Delete(context.Background(), object))
	}
}

func (g *Guards) kubeconfig() string { return filepath.Join(g.dir, "kubeconfig") }

func (g *Guards) pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := g.bed.Client.List(ctx, &list, client.InNamespace(guardNamespace), client.MatchingLabels{guards.Label: guards.Enabled})
	return list.Items, err
}

// follow starts a process for each guard, until ctx ends.
func (g *Guards) follow(ctx context.Context) {
	for ctx.Err() == nil {
		pods, err := g.pods(ctx)
		if err != nil && ctx.Err() == nil {
			g.t.Errorf("listing guards: %v", err)
		}
		for i := range pods {
			if pod := &pods[i]; !g.begun[pod.UID] && pod.Status.Phase == corev1.PodRunning {
				g.begun[pod.UID] = true
				g.begin(ctx, pod)
			}
		}
		pause(ctx)
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
}

// begin starts the guard's process, and ends the pod's container with it.
func (g *Guards) begin(ctx context.Context, pod *corev1.Pod) {
	guard, err := g.launcher.Start(process.Command{
		Name: "targetgate", Binary: os.Getenv(binary), Dir: g.dir, LogPath: g.logOf(pod),
		Args: []string{"guard", "--kubeconfig=" + g.kubeconfig(), "--longest-wait=" + g.longestWait.String()},
		Env:  []string{"POD_NAME=" + pod.Name, "POD_NAMESPACE=" + pod.Namespace},
	})
	if err != nil {
		g.t.Errorf("starting a guard: %v", err)
		return
	}
	go func() {
		for ctx.Err() == nil {
			if _, err := g.bed.MomentOf(pod.UID, kubelet.SIGTERM); err == nil {
				break
			}
			pause(ctx)
		}
		guard.Stop(time.Hour)
		if app, there := g.bed.Kubelet.App(pod.Namespace, pod.Name); there {
			app.Crash()
		}
	}()
}

// isReady reports whether the guard's process heeds SIGTERM: it says so in its log.
func (g *Guards) isReady(pod *corev1.Pod) bool {
	text, err := os.ReadFile(g.logOf(pod))
	return err == nil && len(text) > 0
}

func (g *Guards) logOf(pod *corev1.Pod) string { return filepath.Join(g.dir, pod.Name+".log") }

// On is the guard of the node.
func (g *Guards) On(t *testing.T, node string) *corev1.Pod {
	t.Helper()
	var found *corev1.Pod
	Eventually(t, "a guard on "+node, func() error {
		pods, err := g.pods(t.Context())
		for i := range pods {
			if pods[i].Spec.NodeName == node && pods[i].DeletionTimestamp == nil && g.isReady(&pods[i]) {
				found = &pods[i]
				return nil
			}
		}
		return errors.Join(err, errors.New("none runs"))
	})
	return found
}

// AwaitGone waits until the pod is gone, and returns how long it has lived on after SIGTERM.
func (bed *Bed) AwaitGone(t *testing.T, pod *corev1.Pod) time.Duration {
	t.Helper()
	Eventually(t, "pod "+pod.Name+" to be gone", func() error {
		err := bed.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there"))
	})
	told, err := bed.MomentOf(pod.UID, kubelet.SIGTERM)
	Must(t, err)
	exited, err := bed.MomentOf(pod.UID, kubelet.Exited)
	Must(t, err)
	return exited.Sub(told)
}

// Disrupt has Karpenter begin to replace the node.
func (bed *Bed) Disrupt(t *testing.T, node string) {
	t.Helper()
	Change(t, bed, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, Disrupted)
}

// Disrupted gives the node the taint by which Karpenter begins to replace it.
func Disrupted(node *corev1.Node) {
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule})
}

// Evict evicts the pod, as Karpenter and kubectl drain do.
func (bed *Bed) Evict(t *testing.T, pod *corev1.Pod) error {
	t.Helper()
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	}
	return bed.Client.SubResource("eviction").Create(t.Context(), pod, eviction)
}

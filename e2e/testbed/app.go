// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"cmp"
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/emulator"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// GateLabel on a namespace has gates injected into its pods.
const GateLabel = "elbv2.k8s.aws/pod-readiness-gate-inject"

// AppLabel on a pod names its app.
const AppLabel = "app"

// App is one web application: a namespace of its own, with Service, TargetGroupBinding and Deployment of that name, and
// a load balancer in front.
type App struct {
	Name     string
	Replicas int32
	// Namespace is one that the app shares with others, instead of its own.
	Namespace string
	// Gated labels the namespace.
	Gated bool
	// PreStopSeconds is the sleep before SIGTERM, none when 0. The grace period is 30 s longer.
	PreStopSeconds int64
	// ExplicitGate has the pod template carry the gate itself, for pods that are created while targetgate is down.
	ExplicitGate bool
	// Node has all pods on that node.
	Node string
	// Env steers the app, see package kubelet.
	Env map[string]string
	// HealthCheck of the target group; every 10 s on /healthz by default.
	HealthCheck state.HealthCheck
	// DeregistrationDelay of the target group in seconds, default 60.
	DeregistrationDelay int

	// Unbound has neither load balancer nor binding: an Ingress asks for them.
	Unbound bool

	// Balancer, Service, Change and Template, when set, change what Deploy creates before it is created: load balancer
	// and target group, Service, binding, and the pods' template.
	Balancer func(*emulator.Service)
	Service  func(*corev1.Service)
	Change   func(*v1beta1.TargetGroupBinding)
	Template func(*corev1.PodTemplateSpec)

	// TargetGroup and URL are set by Deploy: the ARN, and the load balancer's front door.
	TargetGroup, URL string
}

const containerPort = 8080

// Gate is the readiness gate of the app's binding.
func (a *App) Gate() corev1.PodConditionType {
	return corev1.PodConditionType("target-health.elbv2.k8s.aws/" + a.Name)
}

// Key names the app's Service, binding and Deployment.
func (a *App) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: a.namespaceName(), Name: a.Name}
}

// Deploy creates everything for the app, the binding before the pods, and does not wait for them.
func (b *Bed) Deploy(ctx context.Context, a *App) (err error) {
	if a.HealthCheck == (state.HealthCheck{}) {
		a.HealthCheck = state.HealthCheck{Interval: 10, Path: "/healthz"}
	}
	if a.DeregistrationDelay == 0 {
		a.DeregistrationDelay = 60
	}
	objects := []client.Object{a.namespace(), a.service()}
	if !a.Unbound {
		balancer := emulator.Service{HealthCheck: a.HealthCheck, DeregistrationDelay: &a.DeregistrationDelay}
		apply(a.Balancer, &balancer)
		if a.TargetGroup, a.URL, err = b.AWS.CreateService(a.Name, balancer); err != nil {
			return err
		}
		objects = append(objects, a.Binding())
	}
	for _, object := range objects {
		err := b.Client.Create(ctx, object)
		if _, shared := object.(*corev1.Namespace); shared && a.Namespace != "" {
			err = client.IgnoreAlreadyExists(err)
		}
		if err != nil {
			return fmt.Errorf("creating %T %s: %w", object, object.GetName(), err)
		}
	}
	if err := b.Client.Create(ctx, a.deployment()); err != nil {
		return fmt.Errorf("creating Deployment %s: %w", a.Name, err)
	}
	return nil
}

// apply makes a change, if there is one.
func apply[T any](change func(*T), object *T) {
	if change != nil {
		change(object)
	}
}

func (a *App) namespace() *corev1.Namespace {
	labels := map[string]string{}
	if a.Gated {
		labels[GateLabel] = "enabled"
	}
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.namespaceName(), Labels: labels}}
}

func (a *App) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: a.namespaceName(), Name: a.Name}
}

func (a *App) namespaceName() string { return cmp.Or(a.Namespace, a.Name) }

func (a *App) labels() map[string]string { return map[string]string{AppLabel: a.Name} }

func (a *App) service() *corev1.Service {
	service := &corev1.Service{ObjectMeta: a.meta(), Spec: corev1.ServiceSpec{
		Selector: a.labels(),
		Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(containerPort)}},
	}}
	apply(a.Service, service)
	return service
}

// Binding is the app's binding, as a user would write it.
func (a *App) Binding() *v1beta1.TargetGroupBinding {
	binding := &v1beta1.TargetGroupBinding{ObjectMeta: a.meta(), Spec: v1beta1.TargetGroupBindingSpec{
		TargetGroupARN: a.TargetGroup,
		ServiceRef:     v1beta1.ServiceReference{Name: a.Name, Port: intstr.FromInt32(80)},
	}}
	apply(a.Change, binding)
	return binding
}

func (a *App) deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: a.meta(), Spec: appsv1.DeploymentSpec{
		Replicas: &a.Replicas,
		Selector: &metav1.LabelSelector{MatchLabels: a.labels()},
		Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: ptr.To(intstr.FromString("25%")), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
		}},
		Template: a.template(),
	}}
}

func (a *App) template() corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: a.labels()}, Spec: a.podSpec()}
	apply(a.Template, &template)
	return template
}

// Pod is one like the Deployment's, by itself.
func (a *App) Pod(name string) *corev1.Pod {
	template := a.template()
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespaceName(), Name: name, Labels: template.Labels}, Spec: template.Spec}
}

func (a *App) podSpec() corev1.PodSpec {
	container := corev1.Container{
		Name: "web", Image: "web", Env: []corev1.EnvVar{{Name: "VERSION", Value: "1"}},
		Ports: []corev1.ContainerPort{{ContainerPort: containerPort}},
		ReadinessProbe: &corev1.Probe{
			PeriodSeconds: 1, FailureThreshold: 2, TimeoutSeconds: 5, // on a busy machine an answer takes its time
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(containerPort)}},
		},
	}
	for name, value := range a.Env {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
	}
	if a.PreStopSeconds > 0 {
		container.Lifecycle = &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: a.PreStopSeconds}},
		}
	}
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To(a.PreStopSeconds + 30), Containers: []corev1.Container{container},
	}
	if a.Node != "" {
		spec.NodeSelector = map[string]string{corev1.LabelHostname: a.Node}
	}
	if a.ExplicitGate {
		spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: a.Gate()}}
	}
	return spec
}

// Scale changes the number of replicas.
func (b *Bed) Scale(ctx context.Context, a *App, replicas int32) error {
	a.Replicas = replicas
	return b.patchDeployment(ctx, a, func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas })
}

// Roll changes the Deployment's template: VERSION, and other env on top of what is there.
func (b *Bed) Roll(ctx context.Context, a *App, version string, env map[string]string) error {
	return b.patchDeployment(ctx, a, func(d *appsv1.Deployment) {
		container := &d.Spec.Template.Spec.Containers[0]
		container.Env[0].Value = version
		for name, value := range env {
			container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
		}
	})
}

func (b *Bed) patchDeployment(ctx context.Context, a *App, change func(*appsv1.Deployment)) error {
	var d appsv1.Deployment
	if err := b.Client.Get(ctx, a.Key(), &d); err != nil {
		return fmt.Errorf("getting Deployment %s: %w", a.Name, err)
	}
	patch := client.MergeFrom(d.DeepCopy())
	change(&d)
	if err := b.Client.Patch(ctx, &d, patch); err != nil {
		return fmt.Errorf("patching Deployment %s: %w", a.Name, err)
	}
	return nil
}

// AwaitRolled returns when every pod is of the newest template and Ready, and no other pod is left.
func (b *Bed) AwaitRolled(ctx context.Context, a *App, timeout time.Duration) error {
	return await(ctx, "Deployment "+a.Name+" to be rolled out", timeout, func(ctx context.Context) error {
		var d appsv1.Deployment
		if err := b.Client.Get(ctx, a.Key(), &d); err != nil {
			return err
		}
		s := d.Status
		if s.ObservedGeneration < d.Generation || s.UpdatedReplicas < a.Replicas || s.ReadyReplicas < a.Replicas ||
			s.Replicas > s.UpdatedReplicas {
			return fmt.Errorf("%d pods, %d of the newest template, %d Ready, want %d",
				s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, a.Replicas)
		}
		return b.allReady(ctx, a) // the Deployment's status may be behind
	})
}

func (b *Bed) allReady(ctx context.Context, a *App) error {
	pods, err := b.Pods(ctx, a)
	if err != nil {
		return err
	}
	ready := 0
	for i := range pods {
		if pods[i].DeletionTimestamp == nil && IsReady(&pods[i]) {
			ready++
		}
	}
	if ready != int(a.Replicas) || len(pods) != ready {
		return fmt.Errorf("%d pods, %d of them Ready and not terminating, want %d", len(pods), ready, a.Replicas)
	}
	return nil
}

// Pods are the app's pods, terminating ones too.
func (b *Bed) Pods(ctx context.Context, a *App) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := b.Client.List(ctx, &list, client.InNamespace(a.namespaceName()), client.MatchingLabels(a.labels())); err != nil {
		return nil, fmt.Errorf("listing pods of %s: %w", a.Name, err)
	}
	return list.Items, nil
}

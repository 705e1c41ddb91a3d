// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	fakeelbv2 "github.com/targetgate/targetgate/aws/elbv2/fake"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

const testARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/web/0123456789abcdef"

// newReader is an API server in memory that holds objects.
func newReader(t testing.TB, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&v1beta1.TargetGroupBinding{}, ownership.IndexGroup, func(o client.Object) []string {
			return []string{ownership.Indexes[ownership.IndexGroup](o.(*v1beta1.TargetGroupBinding))}
		}).Build()
}

// newBinding is of type ip, complete, for Service "web", changed by change.
func newBinding(name string, change ...func(*v1beta1.TargetGroupBinding)) *v1beta1.TargetGroupBinding {
	b := &v1beta1.TargetGroupBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: v1beta1.TargetGroupBindingSpec{
			TargetGroupARN: testARN, TargetType: ptr.To(v1beta1.TargetTypeIP), IPAddressType: ptr.To(v1beta1.IPAddressTypeIPv4),
			TargetGroupProtocol: ptr.To[v1beta1.Protocol]("HTTP"), VpcID: "vpc-0123456789abcdef0",
			ServiceRef: v1beta1.ServiceReference{Name: "web", Port: intstr.FromInt32(80)},
		},
	}
	for _, c := range change {
		c(b)
	}
	return b
}

func newService(name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ServiceSpec{Selector: selector}}
}

// scrape is the value of the metric with that name and labels, empty when there is none.
func scrape(t *testing.T, metric string) string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	for line := range strings.Lines(w.Body.String()) {
		if value, found := strings.CutPrefix(line, metric); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// oneAccount answers every role with the same client and remembers the roles.
type oneAccount struct {
	client *elbv2.Client

	mu    sync.Mutex
	roles []accounts.Role
}

func (a *oneAccount) Client(role accounts.Role) *elbv2.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.roles = append(a.roles, role)
	return a.client
}

// newAWS knows the target group "web" of type targetType.
func newAWS(targetType elbv2types.TargetTypeEnum) (*oneAccount, *fakeelbv2.API) {
	api := &fakeelbv2.API{}
	api.AddGroup(testGroup(testARN, targetType))
	return &oneAccount{client: elbv2.New(api, budget.New("", nil, clock.RealClock{}))}, api
}

// testGroup is attached to a load balancer, and quick to find a target healthy.
func testGroup(arn string, targetType elbv2types.TargetTypeEnum) elbv2types.TargetGroup {
	return elbv2types.TargetGroup{
		TargetGroupArn: aws.String(arn), TargetGroupName: aws.String("web"), TargetType: targetType,
		Protocol: elbv2types.ProtocolEnumHttp, IpAddressType: elbv2types.TargetGroupIpAddressTypeEnumIpv4,
		VpcId: aws.String("vpc-0123456789abcdef0"), HealthCheckIntervalSeconds: aws.Int32(10), HealthCheckTimeoutSeconds: aws.Int32(5),
		LoadBalancerArns: []string{"arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/web/0"},
	}
}

// testFacts are what a new replica asks, of an AWS that knows the target group "web" of type targetType.
func testFacts(targetType elbv2types.TargetTypeEnum) (*facts, *oneAccount, *fakeelbv2.API) {
	clients, api := newAWS(targetType)
	return newFacts(clients, clock.RealClock{}), clients, api
}

// faultsIn are the faults of an Invalid error, in full; none of nil.
func faultsIn(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		t.Fatalf("error %v is no Invalid status", err)
	}
	var out []string
	for _, cause := range status.Status().Details.Causes {
		out = append(out, cause.Field+": "+cause.Message)
	}
	return out
}

func withOperation(ctx context.Context, operation admissionv1.Operation) context.Context {
	return admission.NewContextWithRequest(ctx, admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: operation}})
}

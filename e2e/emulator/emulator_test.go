// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
)

func start(t *testing.T, opts Options) *Emulator {
	t.Helper()
	e, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func client(e *Emulator) *elb.Client {
	return elb.NewFromConfig(awsConfig(e))
}

func awsConfig(e *Emulator) aws.Config {
	return aws.Config{
		Region:       region.DefaultName,
		BaseEndpoint: aws.String(e.URL()),
		Credentials:  credentials.NewStaticCredentialsProvider("AKIATEST", "secret", ""),
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
	}
}

// TestLifeOfATarget goes the whole way with the SDK and real traffic.
func TestLifeOfATarget(t *testing.T) {
	e := start(t, Options{Cloud: cloud.Options{Region: region.Options{Scale: 0.01}}, Wire: wire.Options{Latency: time.Millisecond}})
	delay := 60
	group, url, err := e.CreateService("web", Service{
		HealthCheck: state.HealthCheck{Interval: 5}, DeregistrationDelay: &delay,
	})
	if err != nil {
		t.Fatal(err)
	}
	target := serve(t, "127.9.0.1")
	api := client(e)
	list := []types.TargetDescription{target}
	if _, err := api.RegisterTargets(t.Context(), &elb.RegisterTargetsInput{TargetGroupArn: &group, Targets: list}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, api, group, target, types.TargetHealthStateEnumHealthy)
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "hello" {
		t.Errorf("answer is %d %q", resp.StatusCode, body)
	}
	if _, err := api.DeregisterTargets(t.Context(), &elb.DeregisterTargetsInput{TargetGroupArn: &group, Targets: list}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, api, group, target, types.TargetHealthStateEnumDraining)
	waitFor(t, api, group, target, types.TargetHealthStateEnumUnused)
	key := state.Key{ID: *target.Id, Port: int(*target.Port)}
	if got := e.Traffic(group)[key].Requests; got != 1 {
		t.Errorf("%d requests are on record, want 1", got)
	}
	wantJournal(t, e, []string{"initial/Elb.RegistrationInProgress", "initial/Elb.InitialHealthChecking", "healthy",
		"draining/Target.DeregistrationInProgress", "unused/Target.NotRegistered"})
	if calls := e.Calls(0); calls[0].Operation != "RegisterTargets" || calls[0].Targets[0] != key {
		t.Errorf("first call is %+v", calls[0])
	}
}

// serve runs a pod on a loopback address and returns it as a target in 10.0.0.0/8.
func serve(t *testing.T, host string) types.TargetDescription {
	t.Helper()
	socket, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	pod := &httptest.Server{Listener: socket, Config: &http.Server{Handler: handler}}
	pod.Start()
	t.Cleanup(pod.Close)
	return types.TargetDescription{
		Id:   aws.String("10" + host[len("127"):]),
		Port: aws.Int32(int32(socket.Addr().(*net.TCPAddr).Port)),
	}
}

func waitFor(t *testing.T, api *elb.Client, group string, target types.TargetDescription, want types.TargetHealthStateEnum) {
	t.Helper()
	in := &elb.DescribeTargetHealthInput{TargetGroupArn: &group, Targets: []types.TargetDescription{target}}
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		out, err := api.DescribeTargetHealth(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if out.TargetHealthDescriptions[0].TargetHealth.State == want {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("target never became %s", want)
}

func wantJournal(t *testing.T, e *Emulator, want []string) {
	t.Helper()
	var got []string
	for _, event := range e.Journal(0) {
		if event.Kind == state.Changed {
			got = append(got, event.To.String())
		}
	}
	if len(got) != len(want) {
		t.Fatalf("journal is %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("entry %d is %s, want %s", i, got[i], want[i])
		}
	}
}

func TestCreateService(t *testing.T) {
	cases := map[string]struct {
		service  Service
		wantZone int
		wantURL  string
		wantErr  bool
	}{
		"ALB":               {Service{}, 3, "http://127.0.0.1:", false},
		"NLB in one zone":   {Service{Type: state.Network, Zones: []string{"eu-west-1b"}}, 1, "tcp://127.0.0.1:", false},
		"ALB in one zone":   {Service{Zones: []string{"eu-west-1b"}}, 0, "", true},
		"bad attribute":     {Service{Attributes: map[string]string{"x": "y"}}, 0, "", true},
		"unknown VPC":       {Service{VPC: "vpc-00000000"}, 0, "", true},
		"bad health checks": {Service{HealthCheck: state.HealthCheck{Interval: 1}}, 0, "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := start(t, Options{})
			arn, url, err := e.CreateService("web", tc.service)
			if (err != nil) != tc.wantErr {
				t.Fatalf("error is %v", err)
			}
			if err != nil {
				return
			}
			if len(url) <= len(tc.wantURL) || url[:len(tc.wantURL)] != tc.wantURL {
				t.Errorf("URL is %s", url)
			}
			groups, err := e.ELB.Groups(state.GroupFilter{ARNs: []string{arn}})
			if err != nil {
				t.Fatal(err)
			}
			balancers, err := e.ELB.Balancers("", groups[0].LoadBalancers, nil)
			if err != nil || len(balancers[0].Zones) != tc.wantZone {
				t.Errorf("load balancer is %+v: %v", balancers, err)
			}
		})
	}
}

// TestInstanceService sends checks and traffic to an instance's address and the target's port.
func TestInstanceService(t *testing.T) {
	e := start(t, Options{Cloud: cloud.Options{Region: region.Options{Scale: 0.01}}})
	group, url, err := e.CreateService("nodes", Service{TargetType: state.TypeInstance, HealthCheck: state.HealthCheck{Interval: 5}})
	if err != nil {
		t.Fatal(err)
	}
	target := serve(t, "127.9.0.2")
	const id = "i-0123456789abc0001"
	api := client(e)
	register := func() error {
		list := []types.TargetDescription{{Id: aws.String(id), Port: target.Port}}
		_, err := api.RegisterTargets(t.Context(), &elb.RegisterTargetsInput{TargetGroupArn: &group, Targets: list})
		return err
	}
	if err := register(); err == nil {
		t.Error("an instance that is not known was registered")
	}
	e.EC2.SetInstance(id, ec2.Instance{Address: *target.Id, Zone: "eu-west-1a", Running: true})
	if err := register(); err != nil {
		t.Fatal(err)
	}
	target.Id = aws.String(id)
	waitFor(t, api, group, target, types.TargetHealthStateEnumHealthy)
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("answer is %d", resp.StatusCode)
	}
	e.EC2.SetInstance(id, ec2.Instance{Address: "10.9.0.2", Zone: "eu-west-1a"})
	waitFor(t, api, group, target, types.TargetHealthStateEnumUnused)
}

// TestServiceOfAnotherAccount has its group and load balancer in another account and VPC than the caller and the pods.
func TestServiceOfAnotherAccount(t *testing.T) {
	const role = "arn:aws:iam::210987654321:role/targets"
	vpcs := []ec2.VPC{ec2.DefaultVPC(region.DefaultName), ec2.PeeredVPC(region.DefaultName)}
	e := start(t, Options{
		Cloud: cloud.Options{Region: region.Options{Scale: 0.01}, EC2: ec2.Options{VPCs: vpcs}},
		Wire:  wire.Options{Roles: []wire.Role{{ARN: role}}},
	})
	group, url, err := e.CreateService("web", Service{
		Account: "210987654321", VPC: ec2.PeeredVPCID, HealthCheck: state.HealthCheck{Interval: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	target := serve(t, "127.9.0.3")
	target.AvailabilityZone = aws.String("all")
	in := &elb.RegisterTargetsInput{TargetGroupArn: &group, Targets: []types.TargetDescription{target}}
	if _, err := client(e).RegisterTargets(t.Context(), in); err == nil {
		t.Error("another account registered a target")
	}
	config := awsConfig(e)
	config.Credentials = stscreds.NewAssumeRoleProvider(sts.NewFromConfig(config), role)
	api := elb.NewFromConfig(config)
	if _, err := api.RegisterTargets(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	waitFor(t, api, group, target, types.TargetHealthStateEnumHealthy)
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("answer is %d", resp.StatusCode)
	}
}

func TestSetGroupQuotas(t *testing.T) {
	e := start(t, Options{})
	group, _, err := e.CreateService("web", Service{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.SetGroupQuotas(group, state.GroupQuotas{Targets: 1}); err != nil {
		t.Fatal(err)
	}
	list := []types.TargetDescription{{Id: aws.String("10.0.0.1")}, {Id: aws.String("10.0.0.2")}}
	_, err = client(e).RegisterTargets(t.Context(), &elb.RegisterTargetsInput{TargetGroupArn: &group, Targets: list})
	var refused *types.TooManyTargetsException
	if !errors.As(err, &refused) {
		t.Errorf("answer is %v", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e, err := Start(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), Options{Listen: e.URL()[len("http://"):]}); err == nil {
		t.Error("two emulators on one address")
	}
	cancel()
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if conn, err := net.Dial("tcp", e.URL()[len("http://"):]); err == nil {
		conn.Close()
		t.Error("still answering")
	}
}

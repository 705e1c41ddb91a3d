// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// bed is a served cloud and unmodified SDK clients that talk to it, without retries.
type bed struct {
	t       *testing.T
	cloud   *cloud.Cloud
	machine *state.Machine // of the cloud
	server  *Server
	config  aws.Config
	elb     *elb.Client
}

func newBed(t *testing.T, options cloud.Options, opts Options) *bed {
	t.Helper()
	b := &bed{t: t, cloud: cloud.New(options)}
	b.machine = b.cloud.ELB
	b.server = New(b.cloud, opts)
	served := httptest.NewUnstartedServer(b.server)
	served.Config.ErrorLog = log.New(io.Discard, "", 0)
	served.Start()
	t.Cleanup(served.Close)
	b.config = aws.Config{
		Region:       "eu-west-1",
		BaseEndpoint: aws.String(served.URL),
		Credentials:  credentials.NewStaticCredentialsProvider("AKIATEST", "secret", ""),
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
	}
	b.elb = elb.NewFromConfig(b.config)
	return b
}

func (b *bed) ec2() *awsec2.Client { return awsec2.NewFromConfig(b.config) }
func (b *bed) sts() *sts.Client    { return sts.NewFromConfig(b.config) }

func ctx(t *testing.T) context.Context { return t.Context() }

// must fails the test on an error of a call.
func must[T any](t *testing.T) func(T, error) T {
	return func(out T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

// wantCode checks the error code as the SDK understood it.
func wantCode(t *testing.T, err error, want string) {
	t.Helper()
	var api smithy.APIError
	switch {
	case want == "" && err == nil:
	case !errors.As(err, &api):
		t.Errorf("error is %v, want code %s", err, want)
	case api.ErrorCode() != want:
		t.Errorf("error is %v, want code %s", err, want)
	}
}

func (b *bed) createGroup(name string) string {
	b.t.Helper()
	out := must[*elb.CreateTargetGroupOutput](b.t)(b.elb.CreateTargetGroup(ctx(b.t), &elb.CreateTargetGroupInput{
		Name: &name, Protocol: types.ProtocolEnumHttp, Port: aws.Int32(8080),
		VpcId: aws.String(ec2.DefaultVPCID), TargetType: types.TargetTypeEnumIp,
	}))
	return *out.TargetGroups[0].TargetGroupArn
}

func targets(ids ...string) []types.TargetDescription {
	list := []types.TargetDescription{}
	for _, id := range ids {
		list = append(list, types.TargetDescription{Id: aws.String(id), Port: aws.Int32(8080)})
	}
	return list
}

func (b *bed) register(group string, ids ...string) error {
	_, err := b.elb.RegisterTargets(ctx(b.t), &elb.RegisterTargetsInput{TargetGroupArn: &group, Targets: targets(ids...)})
	return err
}

func (b *bed) health(group string, asked ...types.TargetDescription) ([]types.TargetHealthDescription, error) {
	out, err := b.elb.DescribeTargetHealth(ctx(b.t), &elb.DescribeTargetHealthInput{TargetGroupArn: &group, Targets: asked})
	if err != nil {
		return nil, err
	}
	return out.TargetHealthDescriptions, nil
}

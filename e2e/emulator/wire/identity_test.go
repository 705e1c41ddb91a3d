// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	ec2api "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	stsapi "github.com/aws/aws-sdk-go-v2/service/sts"
	ststypes "github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

const (
	otherAccount = "210987654321"
	role         = "arn:aws:iam::" + otherAccount + ":role/targets"
)

func TestDescribeVpcs(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{})
	for name, in := range map[string]*ec2api.DescribeVpcsInput{
		"all":       {},
		"by id":     {VpcIds: []string{ec2.DefaultVPCID}},
		"by filter": {Filters: []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{ec2.DefaultVPCID}}}},
	} {
		t.Run(name, func(t *testing.T) {
			out := must[*ec2api.DescribeVpcsOutput](t)(b.ec2().DescribeVpcs(ctx(t), in))
			var cidrs []string
			for _, a := range out.Vpcs[0].CidrBlockAssociationSet {
				cidrs = append(cidrs, *a.CidrBlock+" "+string(a.CidrBlockState.State))
			}
			if diff := cmp.Diff([]string{"10.0.0.0/8 associated", "100.64.0.0/16 associated"}, cidrs); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
			if six := out.Vpcs[0].Ipv6CidrBlockAssociationSet; len(six) != 1 || *six[0].Ipv6CidrBlock != "2001:db8:1200::/56" {
				t.Errorf("IPv6 ranges: %v", six)
			}
		})
	}
	_, err := b.ec2().DescribeVpcs(ctx(t), &ec2api.DescribeVpcsInput{VpcIds: []string{"vpc-00000000"}})
	wantCode(t, err, "InvalidVpcID.NotFound")
	_, err = b.ec2().DescribeVolumes(ctx(t), &ec2api.DescribeVolumesInput{})
	wantCode(t, err, "InvalidAction")
}

func TestAssumeRole(t *testing.T) {
	cases := map[string]struct {
		role, externalID, session string
		want                      string
	}{
		"right":             {role, "secret", "targetgate", ""},
		"wrong external id": {role, "guess", "targetgate", "AccessDenied"},
		"no external id":    {role, "", "targetgate", "AccessDenied"},
		"unknown role":      {role + "x", "secret", "targetgate", "AccessDenied"},
		"not a role":        {"arn:aws:iam::210987654321:user/targets", "secret", "targetgate", "ValidationError"},
		"bad session":       {role, "secret", "a b", "ValidationError"},
	}
	b := newBed(t, cloud.Options{}, Options{Roles: []Role{{ARN: role, ExternalID: "secret"}}})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := &stsapi.AssumeRoleInput{RoleArn: &tc.role, RoleSessionName: &tc.session}
			if tc.externalID != "" {
				in.ExternalId = &tc.externalID
			}
			_, err := b.sts().AssumeRole(ctx(t), in)
			wantCode(t, err, tc.want)
		})
	}
}

// A role in another account may let in some sessions only.
func TestTrustPolicyAsksForSession(t *testing.T) {
	tag := func(key, value string) ststypes.Tag { return ststypes.Tag{Key: &key, Value: &value} }
	cases := map[string]struct {
		session string
		tags    []ststypes.Tag
		trust   Role
		want    string
	}{
		"right name":                  {session: "prod+shop+web", trust: Role{SessionName: "prod+shop+*"}},
		"wrong name":                  {session: "prod+shopping+web", trust: Role{SessionName: "prod+shop+*"}, want: "AccessDenied"},
		"name that is a part":         {session: "x-prod", trust: Role{SessionName: "prod"}, want: "AccessDenied"},
		"tags where none are allowed": {session: "ab", tags: []ststypes.Tag{tag("a", "b")}, want: "AccessDenied"},
		"tags where they are allowed": {session: "ab", tags: []ststypes.Tag{tag("a", "b")}, trust: Role{TagSession: true}},
		"right tag": {
			session: "ab", tags: []ststypes.Tag{tag("ns", "shop"), tag("a", "b")}, trust: Role{TagSession: true, Tags: map[string]string{"ns": "shop"}},
		},
		"wrong tag": {
			session: "ab", tags: []ststypes.Tag{tag("ns", "other")}, trust: Role{TagSession: true, Tags: map[string]string{"ns": "shop"}},
			want: "AccessDenied",
		},
		"no tag": {session: "ab", trust: Role{TagSession: true, Tags: map[string]string{"ns": "shop"}}, want: "AccessDenied"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.trust.ARN = role
			b := newBed(t, cloud.Options{}, Options{Roles: []Role{tc.trust}})
			_, err := b.sts().AssumeRole(ctx(t), &stsapi.AssumeRoleInput{
				RoleArn: &tc.trust.ARN, RoleSessionName: &tc.session, Tags: tc.tags,
			})
			wantCode(t, err, tc.want)
		})
	}
}

// assumed returns an ELBv2 client that acts for the role, with the SDK's own credentials provider.
func (b *bed) assumed() *elb.Client {
	config := b.config
	config.Credentials = stscreds.NewAssumeRoleProvider(b.sts(), role)
	return elb.NewFromConfig(config)
}

func TestRoleActsInItsOwnAccount(t *testing.T) {
	b := newBed(t, cloud.Options{}, Options{Roles: []Role{{ARN: role}}})
	ours := b.createGroup("web")
	other := b.assumed()
	_, err := other.DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{Names: []string{"web"}})
	wantCode(t, err, "TargetGroupNotFound")
	_, err = other.DescribeTargetHealth(ctx(t), &elb.DescribeTargetHealthInput{TargetGroupArn: &ours})
	wantCode(t, err, "AccessDenied")
	created := must[*elb.CreateTargetGroupOutput](t)(other.CreateTargetGroup(ctx(t), &elb.CreateTargetGroupInput{
		Name: aws.String("web"), Protocol: "HTTP", Port: aws.Int32(80), VpcId: aws.String(ec2.DefaultVPCID), TargetType: "ip",
	}))
	if got := accountOf(*created.TargetGroups[0].TargetGroupArn); got != otherAccount {
		t.Errorf("the group belongs to %s, want %s", got, otherAccount)
	}
	calls := b.server.Calls(0)
	if got := calls[len(calls)-1].Principal; got != role {
		t.Errorf("principal is %s, want %s", got, role)
	}
}

func TestCredentialsAreChecked(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	b := newBed(t, cloud.Options{}, Options{
		Clock: clock, Roles: []Role{{ARN: role}}, AccessKeys: map[string]string{"AKIATEST": region.DefaultAccount},
	})
	identity := must[*stsapi.GetCallerIdentityOutput](t)(b.sts().GetCallerIdentity(ctx(t), &stsapi.GetCallerIdentityInput{}))
	if *identity.Account != region.DefaultAccount {
		t.Errorf("account is %s", *identity.Account)
	}
	call := func(provider aws.CredentialsProvider) error {
		config := b.config
		config.Credentials = provider
		_, err := elb.NewFromConfig(config).DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{})
		return err
	}
	wantCode(t, call(credentials.NewStaticCredentialsProvider("AKIAOTHER", "secret", "")), "InvalidClientTokenId")
	wantCode(t, call(credentials.NewStaticCredentialsProvider("ASIAOTHER", "secret", "token")), "InvalidClientTokenId")
	wantCode(t, call(aws.AnonymousCredentials{}), "MissingAuthenticationToken")
	session := must[aws.Credentials](t)(stscreds.NewAssumeRoleProvider(b.sts(), role).Retrieve(ctx(t)))
	static := credentials.NewStaticCredentialsProvider(session.AccessKeyID, session.SecretAccessKey, session.SessionToken)
	wantCode(t, call(static), "")
	clock.Step(2 * time.Hour)
	wantCode(t, call(static), "ExpiredToken")
}

func TestRoleCredentialsExpire(t *testing.T) {
	clock := testclock.NewFakeClock(time.Now())
	b := newBed(t, cloud.Options{}, Options{Clock: clock, Roles: []Role{{ARN: role, Lifetime: time.Minute}}})
	provider := stscreds.NewAssumeRoleProvider(b.sts(), role)
	session := must[aws.Credentials](t)(provider.Retrieve(ctx(t)))
	if left := session.Expires.Sub(clock.Now()); left <= 58*time.Second || left > time.Minute {
		t.Errorf("the credentials say they last %v", left)
	}
	config := b.config
	config.Credentials = credentials.StaticCredentialsProvider{Value: session}
	api := elb.NewFromConfig(config)
	list := func() error {
		_, err := api.DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{})
		return err
	}
	wantCode(t, list(), "")
	clock.Step(time.Minute + 1)
	wantCode(t, list(), "ExpiredToken")
	_, err := b.assumed().DescribeTargetGroups(ctx(t), &elb.DescribeTargetGroupsInput{})
	wantCode(t, err, "")
}

func TestGroupOfAnotherAccount(t *testing.T) {
	peer := ec2.PeeredVPC(region.DefaultName)
	peer.Account = otherAccount
	b := newBed(t, cloud.Options{EC2: ec2.Options{VPCs: []ec2.VPC{ec2.DefaultVPC(region.DefaultName), peer}}}, Options{Roles: []Role{{ARN: role}}})
	group := must[state.Group](t)(b.machine.CreateGroup(otherAccount, state.GroupSpec{
		Name: "web", Protocol: state.ProtocolHTTP, Port: 8080, VPC: ec2.PeeredVPCID, TargetType: state.TypeIP,
	}))
	all := []types.TargetDescription{{Id: aws.String("10.0.0.1"), Port: aws.Int32(8080), AvailabilityZone: aws.String("all")}}
	for name, tc := range map[string]struct {
		api  *elb.Client
		want string
	}{
		"without the role": {b.elb, "AccessDenied"},
		"with the role":    {b.assumed(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.api.RegisterTargets(ctx(t), &elb.RegisterTargetsInput{TargetGroupArn: &group.ARN, Targets: all})
			wantCode(t, err, tc.want)
			_, err = tc.api.DescribeTargetHealth(ctx(t), &elb.DescribeTargetHealthInput{TargetGroupArn: &group.ARN})
			wantCode(t, err, tc.want)
			_, err = tc.api.DeregisterTargets(ctx(t), &elb.DeregisterTargetsInput{TargetGroupArn: &group.ARN, Targets: all})
			wantCode(t, err, tc.want)
		})
	}
	_, err := b.ec2().DescribeVpcs(ctx(t), &ec2api.DescribeVpcsInput{VpcIds: []string{ec2.PeeredVPCID}})
	wantCode(t, err, "InvalidVpcID.NotFound")
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

func ec2Tags(tags map[string]string) []types.Tag {
	var list []types.Tag
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return list
}

// createGroupCall asks for a security group of the default VPC.
func createGroupCall(name string, tags map[string]string) *awsec2.CreateSecurityGroupInput {
	in := &awsec2.CreateSecurityGroupInput{GroupName: &name, Description: aws.String("[k8s] Managed"), VpcId: aws.String(ec2.DefaultVPCID)}
	if tags != nil {
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: ec2Tags(tags)}}
	}
	return in
}

func (b *bed) tagsOf(id string) map[string]string { return b.cloud.EC2.ResourceTags("", id) }

func TestSecurityGroupByAPI(t *testing.T) {
	b, _ := newEC2Bed(t, Options{})
	tags := map[string]string{"elbv2.k8s.aws/cluster": "e2e", "ingress.k8s.aws/resource": "ManagedLBSecurityGroup"}
	made := must[*awsec2.CreateSecurityGroupOutput](t)(b.ec2().CreateSecurityGroup(ctx(t), createGroupCall("k8s-web", tags)))
	if diff := cmp.Diff(ec2Tags(tags), made.Tags, ignoreMetadata); diff != "" {
		t.Errorf("tags in the answer (-want +got):\n%s", diff)
	}
	id := *made.GroupId
	found := must[*awsec2.DescribeSecurityGroupsOutput](t)(b.ec2().DescribeSecurityGroups(ctx(t), &awsec2.DescribeSecurityGroupsInput{
		Filters: filters("tag:elbv2.k8s.aws/cluster=e2e", "group-name=k8s-*"),
	}))
	if len(found.SecurityGroups) != 1 || *found.SecurityGroups[0].GroupId != id || *found.SecurityGroups[0].Description != "[k8s] Managed" {
		t.Errorf("found %v by tag and name, want %s", found.SecurityGroups, id)
	}
	_, err := b.ec2().DeleteSecurityGroup(ctx(t), &awsec2.DeleteSecurityGroupInput{GroupId: &id})
	wantCode(t, err, "")
	_, err = b.ec2().DeleteSecurityGroup(ctx(t), &awsec2.DeleteSecurityGroupInput{GroupId: &id})
	wantCode(t, err, "InvalidGroup.NotFound")
}

func TestSecurityGroupRefusals(t *testing.T) {
	b, _ := newEC2Bed(t, Options{})
	with := func(change func(*awsec2.CreateSecurityGroupInput)) *awsec2.CreateSecurityGroupInput {
		in := createGroupCall("new", map[string]string{"a": "b"})
		change(in)
		return in
	}
	for name, tc := range map[string]struct {
		in   *awsec2.CreateSecurityGroupInput
		want string
	}{
		"a name that is taken": {createGroupCall("nodes", nil), "InvalidGroup.Duplicate"},
		"a name like an id":    {createGroupCall("sg-new", nil), "InvalidParameterValue"},
		"a bad character":      {createGroupCall("new<", nil), "InvalidParameterValue"},
		"a reserved tag":       {createGroupCall("new", map[string]string{"aws:a": "b"}), "InvalidParameterValue"},
		"no such VPC":          {with(func(in *awsec2.CreateSecurityGroupInput) { in.VpcId = aws.String("vpc-00000009") }), "InvalidVpcID.NotFound"},
		"no description":       {with(func(in *awsec2.CreateSecurityGroupInput) { in.Description = aws.String("") }), "MissingParameter"},
		"a dry run":            {with(func(in *awsec2.CreateSecurityGroupInput) { in.DryRun = aws.Bool(true) }), "UnknownParameter"},
		"tags of something else": {with(func(in *awsec2.CreateSecurityGroupInput) {
			in.TagSpecifications[0].ResourceType = types.ResourceTypeSubnet
		}), "InvalidParameterValue"},
		"a tag twice": {with(func(in *awsec2.CreateSecurityGroupInput) {
			in.TagSpecifications[0].Tags = append(in.TagSpecifications[0].Tags, in.TagSpecifications[0].Tags...)
		}), "InvalidParameterValue"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.ec2().CreateSecurityGroup(ctx(t), tc.in)
			wantCode(t, err, tc.want)
		})
	}
}

func TestSecurityGroupInUseStays(t *testing.T) {
	b, nodes := newEC2Bed(t, Options{})
	remove := func(id string) error {
		_, err := b.ec2().DeleteSecurityGroup(ctx(t), &awsec2.DeleteSecurityGroupInput{GroupId: &id})
		return err
	}
	source := b.securityGroup(ec2.SecurityGroupSpec{Name: "source"})
	front := b.securityGroup(ec2.SecurityGroupSpec{Name: "front"})
	wantCode(t, b.authorize(nodes, fromGroup(source)), "")
	must[state.Balancer](t)(b.machine.CreateBalancer("", state.BalancerSpec{Name: "lb", Subnets: []string{subnetA, subnetB}, SecurityGroups: []string{front}}))
	wantCode(t, remove(nodes), "DependencyViolation")
	wantCode(t, remove(source), "DependencyViolation")
	wantCode(t, remove(front), "DependencyViolation")
	wantCode(t, b.revoke(nodes, fromGroup(source)), "")
	wantCode(t, remove(source), "")
}

func TestTagsOfSeveralResources(t *testing.T) {
	b, group := newEC2Bed(t, Options{})
	set := func(tags map[string]string, ids ...string) error {
		_, err := b.ec2().CreateTags(ctx(t), &awsec2.CreateTagsInput{Resources: ids, Tags: ec2Tags(tags)})
		return err
	}
	wantCode(t, set(map[string]string{"a": "c", "new": "x"}, group, subnetSix), "")
	wantCode(t, set(map[string]string{"late": "x"}, group, "sg-00000000"), "InvalidGroup.NotFound")
	wantCode(t, set(map[string]string{"late": "x"}, "vpc-00000000"), "InvalidID")
	if diff := cmp.Diff(map[string]string{"a": "c", "new": "x", "kubernetes.io/cluster/e2e": "owned"}, b.tagsOf(group)); diff != "" {
		t.Errorf("tags of the group (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "c", "new": "x"}, b.tagsOf(subnetSix)); diff != "" {
		t.Errorf("tags of the subnet (-want +got):\n%s", diff)
	}
}

func TestTagsAreDeletedByKeyAndValue(t *testing.T) {
	for name, tc := range map[string]struct {
		tags []types.Tag
		want map[string]string
	}{
		"by key":           {[]types.Tag{{Key: aws.String("a")}}, map[string]string{"e": ""}},
		"by key and value": {ec2Tags(map[string]string{"a": "b"}), map[string]string{"e": ""}},
		"another value":    {ec2Tags(map[string]string{"a": "x"}), map[string]string{"a": "b", "e": ""}},
		"an empty value":   {ec2Tags(map[string]string{"a": "", "e": ""}), map[string]string{"a": "b"}},
		"all":              {nil, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, cloud.Options{}, Options{})
			id := b.securityGroup(ec2.SecurityGroupSpec{Name: "g", Tags: map[string]string{"a": "b", "e": ""}})
			must[*awsec2.DeleteTagsOutput](t)(b.ec2().DeleteTags(ctx(t), &awsec2.DeleteTagsInput{Resources: []string{id}, Tags: tc.tags}))
			if diff := cmp.Diff(tc.want, b.tagsOf(id)); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPolicyForSecurityGroups has the incumbent's conditions: the cluster's tag is given at creation, and later never again.
func TestPolicyForSecurityGroups(t *testing.T) {
	const (
		tag    = "elbv2.k8s.aws/cluster"
		groups = "arn:aws:ec2:*:*:security-group/*"
		denied = "UnauthorizedOperation"
	)
	b, foreign := newEC2Bed(t, Options{})
	own := b.securityGroup(ec2.SecurityGroupSpec{Name: "own", Tags: map[string]string{tag: "e2e"}})
	b.server.SetPolicies("AKIATEST", policy(t,
		allows("ec2:CreateSecurityGroup", "*", ""),
		allows("ec2:CreateTags", groups, `"StringEquals": {"ec2:CreateAction": "CreateSecurityGroup"}, "Null": {"aws:RequestTag/`+tag+`": "false"}`),
		`{"Effect": "Allow", "Action": ["ec2:CreateTags", "ec2:DeleteTags"], "Resource": "`+groups+
			`", "Condition": {"Null": {"aws:RequestTag/`+tag+`": "true", "aws:ResourceTag/`+tag+`": "false"}}}`,
		allows("ec2:DeleteSecurityGroup", "*", `"Null": {"aws:ResourceTag/`+tag+`": "false"}`),
	))
	create := func(name string, tags map[string]string) error {
		_, err := b.ec2().CreateSecurityGroup(ctx(t), createGroupCall(name, tags))
		return err
	}
	set := func(id, key string) error {
		_, err := b.ec2().CreateTags(ctx(t), &awsec2.CreateTagsInput{Resources: []string{id}, Tags: ec2Tags(map[string]string{key: "e2e"})})
		return err
	}
	unset := func(id, key string) error {
		_, err := b.ec2().DeleteTags(ctx(t), &awsec2.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: &key}}})
		return err
	}
	remove := func(id string) error {
		_, err := b.ec2().DeleteSecurityGroup(ctx(t), &awsec2.DeleteSecurityGroupInput{GroupId: &id})
		return err
	}
	wantCode(t, create("with the tag", map[string]string{tag: "e2e", "other": "x"}), "")
	wantCode(t, create("without tags", nil), "")
	wantCode(t, create("with another tag", map[string]string{"other": "x"}), denied)
	wantCode(t, set(own, "other"), "")
	wantCode(t, set(own, tag), denied)
	wantCode(t, set(foreign, "other"), denied)
	wantCode(t, set(subnetA, "other"), denied)
	wantCode(t, unset(own, "other"), "")
	wantCode(t, unset(own, tag), denied)
	wantCode(t, remove(foreign), denied)
	wantCode(t, remove(own), "")
	b.server.SetPolicies("AKIATEST", policy(t, allows("ec2:CreateSecurityGroup", groups, "")))
	wantCode(t, create("in a VPC that the policy does not name", nil), denied)
}

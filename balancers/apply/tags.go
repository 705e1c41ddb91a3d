// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/balancers/apply/input"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

// owner tells by tags whether what has the name of a part is that part: an earlier pass has made it and not heard of it.
type owner struct {
	ELB  ELB
	kind stack.Kind
	view View
	free func(steps.Change, steps.Made) string
}

// owner is the stack that the pass is over.
func (d *doing) owner() owner { return owner{d.ELB, d.pass.ID.Kind, d.View, d.pass.Free} }

// has reports whether tags are those by which what these are on is found again: it is the part that the other tags ask for.
func (o owner) has(tags, wanted map[string]string) bool {
	for _, key := range []string{stack.ClusterTag, o.kind.StackTag(), o.kind.ResourceTag(), stack.SharedResourceTag} {
		if tags[key] != wanted[key] {
			return false
		}
	}
	return true
}

// check is the error that is given unless what has the name has the tags of the part that is wanted.
func (o owner) check(ctx context.Context, wanted map[string]string, foreign *foreignError) error {
	out, err := o.ELB.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: []string{foreign.holder}})
	if err != nil {
		return err
	}
	tags := map[string]string{}
	for _, description := range out.TagDescriptions {
		for _, tag := range description.Tags {
			tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
	}
	if foreign.bare = len(tags) == 0; !o.has(tags, wanted) {
		return foreign
	}
	return nil
}

// orUnshown is the error that is given unless the name is taken by what AWS hides only for a while: an earlier pass, or one over another
// stack, has just made it, or it is being deleted.
func (o owner) orUnshown(err error, hidden bool, name string) error {
	if hidden && o.view.Await(name) {
		return errUnshown
	}
	return err
}

// named creates something by its name or, when somebody else's has that, by the free one. What has no tags at all is somebody else's when
// it has had none for a while: it may be ours, and AWS may not show its tags yet.
func (o owner) named(change steps.Change, name string, create func(name string) (steps.Made, error)) (steps.Made, error) {
	made, err := create(name)
	var foreign *foreignError
	isOthers := errors.As(err, &foreign) && !o.view.IsGone(foreign.holder) && (!foreign.bare || !o.view.Await(name))
	if isOthers && o.free != nil {
		if free := o.free(change, made); free != "" {
			name = free
			made, err = create(name)
		}
	}
	if err == nil {
		made.Name = name
	}
	return made, err
}

// checkMade tells whether a create call has made what it answers with. AWS answers the same if there is one with this name and these
// settings, whoever made it. If this one may have existed before, its tags decide, and what it has is to be read.
func (o owner) checkMade(
	ctx context.Context, made steps.Made, isOld bool, wanted map[string]string, what, name string,
) (steps.Made, error) {
	if made.Adopted = isOld || o.view.Exists(made.ID); !made.Adopted {
		return made, nil
	}
	return made, o.check(ctx, wanted, &foreignError{what: what, name: name, holder: made.ID})
}

// tags does the changes of tags.
type tags struct {
	ELB ELB
	EC2 SecurityGroups
}

// isSecurityGroup tells the IDs of EC2 from the ARNs of Elastic Load Balancing.
func isSecurityGroup(id string) bool { return strings.HasPrefix(id, "sg-") }

// tag leaves out the cluster's tag but of listeners and rules. Where it counts it is there from the beginning: the policy that we ship
// forbids to set it later.
func (t tags) tag(ctx context.Context, c steps.Tag) (err error) {
	tags := maps.Clone(c.Tags)
	if !strings.Contains(c.Of.ID, ":listener") { // nor rules: listener-rule
		delete(tags, stack.ClusterTag)
	}
	switch {
	case len(tags) == 0:
	case isSecurityGroup(c.Of.ID):
		_, err = t.EC2.CreateTags(ctx, &awsec2.CreateTagsInput{Resources: []string{c.Of.ID}, Tags: input.EC2Tags(tags)})
	default:
		_, err = t.ELB.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: []string{c.Of.ID}, Tags: input.Tags(tags)})
	}
	return err
}

// untag never takes the cluster's tag.
func (t tags) untag(ctx context.Context, c steps.Untag) (err error) {
	keys := slices.DeleteFunc(slices.Clone(c.Keys), func(key string) bool { return key == stack.ClusterTag })
	switch {
	case len(keys) == 0:
	case isSecurityGroup(c.Of.ID):
		in := &awsec2.DeleteTagsInput{Resources: []string{c.Of.ID}}
		for _, key := range keys {
			in.Tags = append(in.Tags, ec2types.Tag{Key: aws.String(key)})
		}
		_, err = t.EC2.DeleteTags(ctx, in)
	default:
		_, err = t.ELB.RemoveTags(ctx, &elbv2.RemoveTagsInput{ResourceArns: []string{c.Of.ID}, TagKeys: keys})
	}
	return err
}

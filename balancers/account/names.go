// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/targetgate/targetgate/aws/awserr"
)

// misses are names that stood for nothing when they were asked for. The zero value knows of none. It is safe for concurrent use.
type misses struct {
	mu    sync.Mutex // guards what follows; held for no call
	all   map[string]miss
	swept time.Time // when old ones were dropped last
}

// miss is for how long the last answer counts, and until when.
type miss struct {
	age   time.Duration
	until time.Time
}

// ageOf is for how long an answer counts: foundAge if something was found, else missedAge, and twice as long each time, up to foundAge. It
// begins anew when nobody has asked for that long.
func (m *misses) ageOf(question string, found bool, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, isKnown := m.all[question]
	if delete(m.all, question); found {
		return foundAge
	}
	age := missedAge
	if isKnown && now.Sub(before.until) < foundAge {
		age = min(2*before.age, foundAge)
	}
	if m.all == nil {
		m.all = map[string]miss{}
	}
	if now.Sub(m.swept) >= missedAge {
		m.swept = now
		maps.DeleteFunc(m.all, func(_ string, other miss) bool { return now.Sub(other.until) >= foundAge })
	}
	m.all[question] = miss{age, now.Add(age)}
	return age
}

// Answers are what names stand for: those that were found, and those that could not be looked up, each with why. Others stand for nothing.
type Answers[T any] struct {
	Found  map[string]T
	Failed map[string]error
}

// namer looks up what names of one kind stand for.
type namer[T any] struct {
	kind    string
	answers *remembered[T]
	// one asks for a single name, many for several: of those that it could not ask for together it is false, and one is called for each.
	one    func(ctx context.Context, name string) (T, error)
	many   func(ctx context.Context, names []string) (found map[string]T, all bool, err error)
	atOnce int // how many names a call has
}

// namesOf looks names up that are not known. A call that is throttled is not made for each of its names, as it would be again.
func namesOf[T any](ctx context.Context, n *Network, kind namer[T], names []string) Answers[T] {
	out := Answers[T]{Found: map[string]T{}, Failed: map[string]error{}}
	var unknown []string
	for _, name := range names {
		if value, ok := kind.answers.known(name, n.Clock.Now()); !ok {
			unknown = append(unknown, name)
		} else {
			out.Found[name] = value
		}
	}
	for chunk := range slices.Chunk(unknown, kind.atOnce) {
		if len(chunk) > 1 && askMany(ctx, n, kind, chunk, &out) {
			continue
		}
		for _, name := range chunk {
			if value, err := kind.one(ctx, name); err != nil {
				out.Failed[name] = err
			} else {
				out.Found[name] = value
			}
		}
	}
	return out
}

// askMany reports whether nothing is to be asked for one by one.
func askMany[T any](ctx context.Context, n *Network, kind namer[T], names []string, out *Answers[T]) bool {
	began := n.Clock.Now()
	type answer struct {
		found map[string]T
		all   bool
	}
	got, err := readShared(ctx, &kind.answers.flights, strings.Join(names, "\x00"), sweepTimeout, func(ctx context.Context) (answer, error) {
		found, all, err := kind.many(ctx, names)
		return answer{found, all}, err
	})
	switch {
	case err != nil && (ctx.Err() != nil || awserr.IsThrottled(err)):
		for _, name := range names {
			out.Failed[name] = err
		}
		return true
	case err != nil || !got.all:
		return false
	}
	for _, name := range names {
		value, found := got.found[name]
		kind.answers.keep(name, answerOf(value, began.Add(n.missed.ageOf(kind.kind+" "+name, found, began))), began)
		out.Found[name] = value
	}
	return true
}

func answerOf[T any](value T, until time.Time) answer[T] { return answer[T]{value, until} }

// SecurityGroupsNamed are the IDs of those of the VPC whose Name tags are these, in as few calls as AWS takes.
func (n *Network) SecurityGroupsNamed(ctx context.Context, names []string) Answers[[]string] {
	const most = 200 // values of a filter
	return namesOf(ctx, n, namer[[]string]{"security group", &n.groups, n.SecurityGroups, n.manySecurityGroups, most}, names)
}

func (n *Network) manySecurityGroups(ctx context.Context, names []string) (map[string][]string, bool, error) {
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = escaped(name)
	}
	out, err := n.EC2.DescribeSecurityGroups(ctx, &awsec2.DescribeSecurityGroupsInput{
		Filters: append(n.inVPC(), ec2types.Filter{Name: aws.String("tag:Name"), Values: values}),
	})
	if err != nil {
		return nil, false, err
	}
	found := map[string][]string{}
	for _, group := range out.SecurityGroups {
		for _, tag := range group.Tags {
			if name := aws.ToString(tag.Value); aws.ToString(tag.Key) == "Name" {
				found[name] = append(found[name], aws.ToString(group.GroupId))
			}
		}
	}
	return found, true, nil
}

// namesAtOnce is how many names a call of Elastic Load Balancing has.
const namesAtOnce = 20

// TargetGroupsNamed are the ARNs of the target groups of these names.
func (n *Network) TargetGroupsNamed(ctx context.Context, names []string) Answers[string] {
	return namesOf(ctx, n, namer[string]{"target group", &n.targetGroups, n.TargetGroup, func(
		ctx context.Context, names []string,
	) (map[string]string, bool, error) {
		return n.namedOrAll(ctx, &n.allTargetGroups, names, n.listTargetGroups)
	}, namesAtOnce}, names)
}

// TargetGroupTags are the tags of target groups by their ARNs, none of those that there are not. They count for the longer the longer they
// have been asked for, as if there was nothing.
func (n *Network) TargetGroupTags(ctx context.Context, arns []string) Answers[map[string]string] {
	out := Answers[map[string]string]{Found: map[string]map[string]string{}, Failed: map[string]error{}}
	var unknown []string
	for _, arn := range arns {
		if tags, ok := n.groupTags.known(arn, n.Clock.Now()); ok {
			out.Found[arn] = tags
		} else {
			unknown = append(unknown, arn)
		}
	}
	slices.Sort(unknown) // so that those who ask for the same share a call
	for chunk := range slices.Chunk(unknown, tagsAtOnce) {
		began := n.Clock.Now()
		tags, err := readShared(ctx, &n.groupTags.flights, strings.Join(chunk, "\x00"), sweepTimeout,
			func(ctx context.Context) (map[string]map[string]string, error) { return n.readGroupTags(ctx, chunk) })
		for _, arn := range chunk {
			if err != nil {
				out.Failed[arn] = err
				continue
			}
			out.Found[arn] = tags[arn]
			n.groupTags.keep(arn, answerOf(tags[arn], began.Add(n.missed.ageOf("tags "+arn, false, began))), began)
		}
	}
	return out
}

// readGroupTags reads the tags of as many target groups as a call has. If AWS refuses it because of one of them it does not say which: then
// all target groups are listed, and the tags are read of those that there are.
func (n *Network) readGroupTags(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	found, err := TagReader{n.ELB}.Tags(ctx, arns)
	if !isNone(err) {
		return found, err
	}
	all, err := n.allTargetGroups.get(ctx, n.Clock.Now, "", func(ctx context.Context) (map[string]string, time.Duration, error) {
		found, err := n.listTargetGroups(ctx, nil)
		return found, allAge, err
	})
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for _, arn := range all {
		listed[arn] = true
	}
	there := slices.DeleteFunc(slices.Clone(arns), func(arn string) bool { return !listed[arn] })
	if len(there) == 0 {
		return nil, nil
	}
	return TagReader{n.ELB}.Tags(ctx, there)
}

// TagReader reads tags of load balancers and their parts.
type TagReader struct{ ELB ELB }

// Tags are those of tagsAtOnce things at most, by their ARNs. AWS refuses the call if one of them is not there.
func (r TagReader) Tags(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	out, err := r.ELB.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: arns})
	if err != nil {
		return nil, err
	}
	found := map[string]map[string]string{}
	for _, d := range out.TagDescriptions {
		found[aws.ToString(d.ResourceArn)] = tagsOf(d.Tags)
	}
	return found, nil
}

// listTargetGroups are the ARNs of the target groups of these names, of all without any.
func (n *Network) listTargetGroups(ctx context.Context, names []string) (map[string]string, error) {
	out, err := n.ELB.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{Names: names})
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, group := range out.TargetGroups {
		found[aws.ToString(group.TargetGroupName)] = aws.ToString(group.TargetGroupArn)
	}
	return found, nil
}

// TrustStoresNamed are the ARNs of the trust stores of these names.
func (n *Network) TrustStoresNamed(ctx context.Context, names []string) Answers[string] {
	return namesOf(ctx, n, namer[string]{"trust store", &n.trustStores, n.TrustStore, func(
		ctx context.Context, names []string,
	) (map[string]string, bool, error) {
		return n.namedOrAll(ctx, &n.allTrustStores, names, func(ctx context.Context, names []string) (map[string]string, error) {
			out, err := n.ELB.DescribeTrustStores(ctx, &elbv2.DescribeTrustStoresInput{Names: names})
			if err != nil {
				return nil, err
			}
			found := map[string]string{}
			for _, store := range out.TrustStores {
				found[aws.ToString(store.Name)] = aws.ToString(store.TrustStoreArn)
			}
			return found, nil
		})
	}, namesAtOnce}, names)
}

// allAge is for how long a list of all names counts for those that were not asked for before.
const allAge = 5 * time.Second

// namedOrAll asks for these names. If one stands for nothing AWS refuses the call and does not say which, and then all names are read: in
// fewer calls than each by itself.
func (n *Network) namedOrAll(
	ctx context.Context, all *remembered[map[string]string], names []string, list func(context.Context, []string) (map[string]string, error),
) (map[string]string, bool, error) {
	found, err := list(ctx, names)
	if !isNone(err) {
		return found, true, err
	}
	found, err = all.get(ctx, n.Clock.Now, "", func(ctx context.Context) (map[string]string, time.Duration, error) {
		found, err := list(ctx, nil)
		return found, allAge, err
	})
	return found, true, err
}

// isNone reports whether a name stands for nothing, or can stand for nothing as AWS does not take it.
func isNone(err error) bool {
	return awserr.IsGone(err) || awserr.HasCode(err, "TrustStoreNotFound") || awserr.HasCode(err, "ValidationError")
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package call

import (
	"maps"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/refusal"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/tag"
)

// LargestBody is how many bytes of a call are read at most.
const LargestBody = 1 << 20

// Principal is who makes a call.
type Principal struct {
	Name    string // for the log: access key or role
	ARN     string
	Account string
}

// Request is a call on its way to its service, with its parameters.
type Request struct {
	*Tree
	ID        string
	Cloud     *cloud.Cloud
	Service   *Service
	Operation string
	Caller    Principal
	// Permit refuses an action on a resource that the caller's policies do not allow, with Keys or more than these.
	Permit func(action, resource string, keys map[string]string) error
	// Omit is how many targets, the last ones, are left out of the answer to DescribeTargetHealth.
	Omit int
	// For the log of calls: the ARN of the target group that the call is about, "" if none or several, the targets that it names, the ids of
	// security groups that it names, also in its filters, and the rules that it is to add or to remove.
	TargetGroup    string
	Targets        []state.Key
	SecurityGroups []string
	Rules          []ec2.Rule
}

// Keys are what conditions of policies may ask about: the tags of the resource and those in the call.
func (q *Request) Keys(resource string) map[string]string {
	keys := map[string]string{}
	for key, value := range q.resourceTags(resource) {
		keys["aws:ResourceTag/"+key] = value
	}
	tags := Tags
	if q.Service.Tags != nil {
		tags = q.Service.Tags
	}
	given, _ := tags(q) // what is wrong with them is answered by the operation
	for key, value := range given {
		keys["aws:RequestTag/"+key] = value
	}
	if q.Service.Conditions != nil {
		maps.Copy(keys, q.Service.Conditions(q))
	}
	return keys
}

// resourceTags are the tags of what an ARN names, none of what has none here.
func (q *Request) resourceTags(arn string) map[string]string {
	switch {
	case strings.HasPrefix(arn, "arn:aws:ec2:"):
		return q.Cloud.EC2.ResourceTags(q.Caller.Account, arn[strings.LastIndex(arn, "/")+1:])
	case strings.HasPrefix(arn, "arn:aws:acm:"):
		c, _ := q.Cloud.ACM.Certificate(arn) // what is not there has no tags
		return c.Tags
	}
	tags, _ := q.Cloud.ELB.Tags(arn)
	return tags
}

// Tags reads the tags of calls of the query protocol that tag or create.
func Tags(q *Request) (map[string]string, error) {
	tags := map[string]string{}
	for _, t := range q.List("Tags.member") {
		if _, twice := tags[t.Text("Key")]; twice {
			return nil, refusal.New("DuplicateTagKeys", "Tag key '%s' was specified more than once", t.Text("Key"))
		}
		tags[t.Text("Key")] = t.Text("Value")
	}
	if len(tags) > tag.Most {
		return nil, refusal.New("TooManyTags", "A resource can have at most %d tags", tag.Most)
	}
	return tags, tag.Check(tags)
}

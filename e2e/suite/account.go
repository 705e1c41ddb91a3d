// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator"
	emulated "github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// emptied is how long the account may take to be empty after the last test: its objects are being deleted, and AWS keeps security groups
// busy for a while.
const emptied = 3 * time.Minute

// nothingIsLeft waits until AWS has nothing any more that targetgate has made for the cluster's objects, which are all gone or going.
func (bed *Bed) nothingIsLeft() error {
	for begun := time.Now(); ; time.Sleep(testbed.NextLook(time.Since(begun))) {
		left, err := MadeFor(bed.AWS)
		if err == nil && len(left) == 0 {
			return nil
		}
		if time.Since(begun) > emptied {
			return errors.Join(err, fmt.Errorf("%s after the last test AWS still has: %s", emptied, strings.Join(left, "; ")))
		}
	}
}

// MadeFor are the load balancers, target groups and security groups that have the tag of a cluster, with their tags.
func MadeFor(aws *emulator.Emulator) (left []string, err error) {
	tags, err := Tagged(aws)
	for _, id := range slices.Sorted(maps.Keys(tags)) {
		if tags[id]["elbv2.k8s.aws/cluster"] != "" {
			left = append(left, fmt.Sprint(id, " ", tags[id]))
		}
	}
	return left, err
}

// Tagged are the tags of all load balancers, target groups and security groups, by ARN or ID.
func Tagged(aws *emulator.Emulator) (map[string]map[string]string, error) {
	out := map[string]map[string]string{}
	var arns []string
	balancers, balancersErr := aws.ELB.Balancers("", nil, nil)
	for _, b := range balancers {
		arns = append(arns, b.ARN)
	}
	groups, groupsErr := aws.ELB.Groups(emulated.GroupFilter{})
	for _, g := range groups {
		arns = append(arns, g.ARN)
	}
	security, securityErr := aws.EC2.DescribeSecurityGroups("")
	for _, g := range security {
		out[g.ID] = g.Tags
	}
	for _, arn := range arns {
		if tags, err := aws.ELB.Tags(arn); err == nil { // or it is gone by now
			out[arn] = tags
		}
	}
	return out, errors.Join(balancersErr, groupsErr, securityErr)
}

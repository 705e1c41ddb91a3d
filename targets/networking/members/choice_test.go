// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/targetgate/targetgate/aws/ec2"
)

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

const (
	testCluster = "shop"
	clusterTag  = clusterTagPrefix + testCluster
)

func TestChoiceOfTheSecurityGroup(t *testing.T) {
	tagged := func(tags ...string) map[string]string {
		out := map[string]string{}
		for i := 0; i < len(tags); i += 2 {
			out[tags[i]] = tags[i+1]
		}
		return out
	}
	const none = "expected exactly one securityGroup tagged with kubernetes.io/cluster/shop for eni eni-1, got: [] (clusterName: shop)"
	tests := map[string]struct {
		groups  []string
		tags    map[string]map[string]string
		extra   map[string]string
		want    string
		wantErr string
	}{
		"the only one, whatever its tags": {groups: []string{"sg-a"}, want: "sg-a"},
		"none at all":                     {wantErr: none},
		"none with the tag":               {groups: []string{"sg-a", "sg-b"}, wantErr: none},
		"the one with the tag":            {groups: []string{"sg-a", "sg-b"}, tags: map[string]map[string]string{"sg-b": tagged(clusterTag, "owned")}, want: "sg-b"},
		"an empty value will do":          {groups: []string{"sg-a", "sg-b"}, tags: map[string]map[string]string{"sg-b": tagged(clusterTag, "")}, want: "sg-b"},
		"N-6: two with the tag":           {groups: []string{"sg-b", "sg-a"}, tags: map[string]map[string]string{"sg-a": tagged(clusterTag, ""), "sg-b": tagged(clusterTag, "")}, wantErr: "expected exactly one securityGroup tagged with kubernetes.io/cluster/shop for eni eni-1, got: [sg-a sg-b] (clusterName: shop)"},
		"an extra tag decides":            {groups: []string{"sg-a", "sg-b"}, extra: tagged("role", "pods"), tags: map[string]map[string]string{"sg-a": tagged(clusterTag, ""), "sg-b": tagged(clusterTag, "", "role", "pods")}, want: "sg-b"},
		"all extra tags are needed":       {groups: []string{"sg-a", "sg-b"}, extra: tagged("role", "pods", "x", "y"), tags: map[string]map[string]string{"sg-b": tagged(clusterTag, "", "role", "pods")}, wantErr: "expected exactly one securityGroup tagged with kubernetes.io/cluster/shop and map[role:pods x:y] for eni eni-1, got: [] (clusterName: shop)"},
		"an extra tag of another value":   {groups: []string{"sg-a", "sg-b"}, extra: tagged("role", "pods"), tags: map[string]map[string]string{"sg-b": tagged(clusterTag, "", "role", "nodes")}, wantErr: "expected exactly one securityGroup tagged with kubernetes.io/cluster/shop and map[role:pods] for eni eni-1, got: [] (clusterName: shop)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			groups := map[string]ec2.SecurityGroup{}
			for _, id := range tc.groups {
				groups[id] = ec2.SecurityGroup{ID: id, Tags: tc.tags[id]}
			}
			got, err := Choice{Cluster: testCluster, Tags: tc.extra}.of(ec2.Interface{ID: "eni-1", Groups: tc.groups}, groups)
			if got != tc.want {
				t.Errorf("chosen %q, want %q", got, tc.want)
			}
			if diff := cmp.Diff(tc.wantErr, textOf(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

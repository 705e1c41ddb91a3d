// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package input

import "github.com/targetgate/targetgate/balancers/stack"

// ID is whose the stack of the group is.
func (in *Input) ID() stack.ID {
	return stack.ID{Cluster: in.Options.Cluster, Kind: stack.Ingresses, Name: in.Group.String()}
}

// TagsOf are all tags of a part of the stack. Users' tags count the less the earlier they come; what finds the part again counts most.
func (in *Input) TagsOf(part string, users ...map[string]string) map[string]string {
	return in.Options.TagsOf(in.ID(), part, users...)
}

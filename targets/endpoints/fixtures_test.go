// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"github.com/targetgate/targetgate/targets/fixture"
)

const testGate = fixture.Gate

var (
	noon, one = fixture.Noon, fixture.One

	newBinding, newPod, newNode, newSlice = fixture.Binding, fixture.Pod, fixture.Node, fixture.Slice
)

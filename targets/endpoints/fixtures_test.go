// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package endpoints

import (
	"time"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/fixture"
)

const testGate = fixture.Gate

var (
	noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	one  = elbv2.Target{ID: "10.0.0.1", Port: 8080}

	newBinding, newPod, newNode, newSlice = fixture.Binding, fixture.Pod, fixture.Node, fixture.Slice
)

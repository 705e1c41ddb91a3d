// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package gates

import (
	"testing"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// bed is what all tests of the package run on.
var bed = &suite.Bed{}

func TestMain(m *testing.M) { bed.Main(m, testbed.Options{Scale: suite.Scale}) }

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package leaving

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/targetgate/targetgate/e2e/suite"
)

// wantMargin fails the test unless targetgate tells that each deregistration since its start was in time. The tests that need this
// run after the last restart.
func wantMargin(t *testing.T) {
	t.Helper()
	const name = "targetgate_deregistration_margin_least_seconds"
	suite.Eventually(t, "targetgate to tell the least margin", func() error {
		told, err := bed.MetricLines(t, name+" ")
		if err != nil {
			return err
		}
		if len(told) == 0 {
			return errors.New("there is no " + name)
		}
		least, err := strconv.ParseFloat(strings.TrimPrefix(told[0], name+" "), 64)
		suite.Must(t, err)
		if least <= 0 {
			t.Errorf("%s is %g: one was late", name, least)
		}
		return nil
	})
}

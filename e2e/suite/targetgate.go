// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// WantMetric is an error when targetgate's metrics do not have the line.
func (bed *Bed) WantMetric(t *testing.T, line string) error {
	t.Helper()
	name, _, _ := strings.Cut(line, "{")
	found, err := bed.MetricLines(t, name)
	if err != nil || slices.Contains(found, line) {
		return err
	}
	return fmt.Errorf("no line %q among %q", line, found)
}

// MetricLines are those of targetgate's metrics that begin so.
func (bed *Bed) MetricLines(t *testing.T, prefix string) ([]string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, bed.Targetgate.MetricsURL(), http.NoBody)
	Must(t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var found []string
	scanner := bufio.NewScanner(resp.Body)
	for scanner.Scan() {
		if strings.HasPrefix(scanner.Text(), prefix) {
			found = append(found, scanner.Text())
		}
	}
	return found, scanner.Err()
}

// WithFlags runs targetgate with these flags until the end of the test, and then with those of before.
func (bed *Bed) WithFlags(t *testing.T, args ...string) {
	t.Helper()
	before := bed.Targetgate.Flags()
	t.Cleanup(func() { Must(t, bed.Targetgate.RestartWith(context.Background(), before...)) })
	Must(t, bed.Targetgate.RestartWith(t.Context(), args...))
}

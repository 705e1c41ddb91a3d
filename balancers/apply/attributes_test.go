// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

func TestABadAttributeKeepsNoneOfAnotherKindOut(t *testing.T) {
	bucket := map[string]string{"access_logs.s3.bucket": "b", "access_logs.s3.enabled": "true", "idle_timeout.timeout_seconds": "5"}
	many := map[string]string{}
	for i := range 21 {
		many[fmt.Sprint("key", i)] = "v"
	}
	for name, tc := range map[string]struct {
		attributes map[string]string
		refused    string // by AWS: calls with such a key
		err        error
		calls      int
		want       []string // the attributes that are named
	}{
		"none is refused":           {attributes: bucket, calls: 1},
		"one kind is refused":       {attributes: bucket, refused: "access_logs", err: &smithy.GenericAPIError{Code: "InvalidConfigurationRequest"}, calls: 3, want: []string{"access_logs.s3.bucket", "access_logs.s3.enabled"}},
		"all are refused":           {attributes: bucket, refused: "", err: &smithy.GenericAPIError{Code: "InvalidConfigurationRequest"}, calls: 3, want: []string{"access_logs.s3.bucket", "access_logs.s3.enabled"}},
		"the only kind is refused":  {attributes: map[string]string{"waf": "x"}, refused: "waf", err: &smithy.GenericAPIError{Code: "ValidationError"}, calls: 1, want: []string{"waf"}},
		"AWS throttles":             {attributes: bucket, refused: "access_logs", err: &smithy.GenericAPIError{Code: "Throttling"}, calls: 1},
		"more than AWS ever takes":  {attributes: many, refused: "key", err: &smithy.GenericAPIError{Code: "ValidationError"}, calls: 1},
		"we may not set attributes": {attributes: bucket, refused: "idle", err: &smithy.GenericAPIError{Code: "AccessDenied"}, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			err := setKinds(tc.attributes, func(some map[string]string) error {
				calls++
				if tc.err != nil && slices.ContainsFunc(slices.Collect(maps.Keys(some)), func(key string) bool { return strings.HasPrefix(key, tc.refused) }) {
					return tc.err
				}
				return nil
			})
			var named *AttributesError
			var got []string
			if errors.As(err, &named) {
				got = named.Keys
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || calls != tc.calls || !errors.Is(err, tc.err) {
				t.Errorf("%d calls, want %d; error %v; attributes (-want +got):\n%s", calls, tc.calls, err, diff)
			}
		})
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"errors"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestIsRefusal(t *testing.T) {
	group := corev1.Resource("targetgroupbindings")
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"a conflict": {apierrors.NewConflict(group, "web", nil), true}, "no right": {apierrors.NewForbidden(group, "web", nil), true},
		"a timeout": {apierrors.NewTimeoutError("slow", 1), false}, "a fault of the server": {apierrors.NewInternalError(errors.New("etcd")), false},
		"no answer": {context.DeadlineExceeded, false}, "no status": {apierrors.FromObject(&metav1.Status{Code: http.StatusOK}), false},
	} {
		if got := isRefusal(tc.err); got != tc.want {
			t.Errorf("%s is a refusal: %t, want %t", name, got, tc.want)
		}
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Category is whose failure it was, as the incumbent's metric calls it.
type Category string

// The values of the label error_category.
const (
	AWS        Category = "aws_error"
	Kubernetes Category = "kubernetes_error"
)

// ControllerName is the incumbent's, as a label of metrics.
const ControllerName = "targetGroupBinding"

// failures has the incumbent's name and labels.
var failures = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "awslbc_controller_reconcile_errors_total",
	Help: "Failures while bindings were reconciled: calls to AWS (aws_error) and to the API server (kubernetes_error).",
}, []string{"controller", "error_category"})

func init() {
	metrics.Registry.MustRegister(failures)
	for _, category := range []Category{AWS, Kubernetes} {
		failures.WithLabelValues(ControllerName, string(category))
	}
}

// CountFailure counts err unless it is nil.
func CountFailure(category Category, err error) {
	if err != nil {
		failures.WithLabelValues(ControllerName, string(category)).Inc()
	}
}

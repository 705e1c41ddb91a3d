// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"errors"
	"strconv"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
)

// The names and labels are the incumbent's, so that existing dashboards go on working. A call is what the program
// asked for; a request is one HTTP attempt of it.
var (
	callLabels = []string{"service", "operation"}
	codeLabels = []string{"service", "operation", "status_code", "error_code"}

	callsTotal      = counter("aws_api_calls_total", "Calls to AWS, however many requests each of them took.")
	requestsTotal   = counter("aws_api_requests_total", "HTTP requests to AWS, retries included.")
	throttledTotal  = counter("aws_api_call_throttled_errors_total", "Calls to AWS that failed because of their rate.")
	permissionTotal = counter("aws_api_call_permission_errors_total", "Calls to AWS that IAM refused.")
	limitTotal      = counter("aws_api_call_service_limit_exceeded_errors_total", "Calls to AWS that would exceed a quota.")
	validationTotal = counter("aws_api_call_validation_errors_total", "Calls to AWS with parameters it refused.")

	callSeconds = histogram("aws_api_call_duration_seconds", "Time of a call to AWS, from the budget's queue to the last answer.",
		prometheus.DefBuckets)
	requestSeconds = histogram("aws_api_request_duration_seconds", "Time of an HTTP request to AWS.", prometheus.DefBuckets)
	callRetries    = histogram("aws_api_call_retries", "Retries of a call to AWS.", []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
)

func counter(name, help string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, codeLabels)
	metrics.Registry.MustRegister(c)
	return c
}

func histogram(name, help string, buckets []float64) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, callLabels)
	metrics.Registry.MustRegister(h)
	return h
}

// addMetrics observes every call of an SDK client, and behind the retry loop every attempt.
func addMetrics(stack *middleware.Stack) error {
	if err := stack.Initialize.Add(middleware.InitializeMiddlewareFunc("targetgateCallMetrics", observeCall), middleware.After); err != nil {
		return err
	}
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("targetgateRequestMetrics", observeRequest), "Retry", middleware.After)
}

func observeCall(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	start := time.Now()
	out, metadata, err := next.HandleInitialize(ctx, in)
	service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
	callSeconds.WithLabelValues(service, operation).Observe(time.Since(start).Seconds())
	if attempts, ok := retry.GetAttemptResults(metadata); ok {
		callRetries.WithLabelValues(service, operation).Observe(float64(len(attempts.Results) - 1))
	}
	status, code := codes(err)
	callsTotal.WithLabelValues(service, operation, status, code).Inc()
	if total := errorTotal(err); total != nil {
		total.WithLabelValues(service, operation, status, code).Inc()
	}
	return out, metadata, err
}

func observeRequest(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	middleware.FinalizeOutput, middleware.Metadata, error,
) {
	start := time.Now()
	out, metadata, err := next.HandleFinalize(ctx, in)
	service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
	requestSeconds.WithLabelValues(service, operation).Observe(time.Since(start).Seconds())
	status, code := codes(err)
	requestsTotal.WithLabelValues(service, operation, status, code).Inc()
	return out, metadata, err
}

// codes are the HTTP status and AWS's error code: 200 and empty for a success, 0 when no answer came.
func codes(err error) (status, code string) {
	if err == nil {
		return "200", ""
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		return strconv.Itoa(response.HTTPStatusCode()), code
	}
	return "0", code
}

func errorTotal(err error) *prometheus.CounterVec {
	switch {
	case err == nil:
		return nil
	case awserr.IsThrottled(err):
		return throttledTotal
	case awserr.IsPermission(err):
		return permissionTotal
	case awserr.IsQuota(err):
		return limitTotal
	case awserr.IsInvalid(err):
		return validationTotal
	}
	return nil
}

// A bucket is named by its account, empty for the program's own, and its rule's pattern of operations. Accounts are those of
// roles that were assumed lately, and bounded (accountsKept).

var _ prometheus.Collector = (*Accounts)(nil)

// Describe implements prometheus.Collector.
func (a *Accounts) Describe(descs chan<- *prometheus.Desc) { budget.Describe(descs) }

// Collect implements prometheus.Collector: the state of the buckets of each account that is known to be one.
func (a *Accounts) Collect(out chan<- prometheus.Metric) {
	for _, b := range a.allBudgets() {
		b.Collect(out)
	}
}

func (a *Accounts) allBudgets() []*budget.Budget {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append(a.budgets.values(), a.own.Budget())
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/targetgate/targetgate/charts/rules"
)

// scenario is what Prometheus has read, one sample a minute in the notation of promtool's tests, and what comes of it.
type scenario struct {
	series []string
	at     time.Duration
	want   []string // a word of the summary of each result for which the alert fires, in order; none when empty
}

// The labels that Prometheus adds to the series of two replicas.
const (
	podA = `pod="a",instance="10.0.0.1:8080",job="targetgate-metrics"`
	podB = `pod="b",instance="10.0.0.2:8080",job="targetgate-metrics"`
)

// What each alert fires for, and what it must not fire for.
var scenarios = map[string]map[string]scenario{
	"TargetgateDown": {
		"never there":            {at: 10 * time.Minute, want: []string{"No replica"}},
		"gone":                   {series: []string{`targetgate_gates_injected_total{` + podA + `} 5x5 stale`}, at: 12 * time.Minute, want: []string{"No replica"}},
		"gone without a word":    {series: []string{`targetgate_gates_injected_total{` + podA + `} 5x5`}, at: 16 * time.Minute, want: []string{"No replica"}},
		"gone for four minutes":  {series: []string{`targetgate_gates_injected_total{` + podA + `} 5x5 stale _x3 5x9`}, at: 10 * time.Minute},
		"one replica is left":    {series: []string{`targetgate_gates_injected_total{` + podA + `} 5x5 stale`, `targetgate_gates_injected_total{` + podB + `} 0x30`}, at: 20 * time.Minute},
		"there, without traffic": {series: []string{`targetgate_gates_injected_total{` + podA + `} 0x30`}, at: 20 * time.Minute},
	},
	"TargetgateNoLeader": {
		"nobody leads":              {series: []string{`targetgate_leader{` + podA + `} 1x5 0x10`, `targetgate_leader{` + podB + `} 0x15`}, at: 10 * time.Minute, want: []string{"leads"}},
		"the leader is gone":        {series: []string{`targetgate_leader{` + podA + `} 1x5 stale`, `targetgate_leader{` + podB + `} 0x15`}, at: 10 * time.Minute, want: []string{"leads"}},
		"the other one leads":       {series: []string{`targetgate_leader{` + podA + `} 1x5 stale`, `targetgate_leader{` + podB + `} 0x5 1x10`}, at: 10 * time.Minute},
		"the other one leads later": {series: []string{`targetgate_leader{` + podA + `} 1x5 stale`, `targetgate_leader{` + podB + `} 0x7 1x10`}, at: 9 * time.Minute},
		"the old one vanishes late": {series: []string{`targetgate_leader{` + podA + `} 1x5`, `targetgate_leader{` + podB + `} 0x4 1x20`}, at: 12 * time.Minute},
		"just started":              {series: []string{`targetgate_leader{` + podA + `} 0x1 1x5`, `targetgate_leader{` + podB + `} 0x6`}, at: 3 * time.Minute},
	},
	"TargetgateNoHealthyTarget": {
		"all are unhealthy": {
			series: []string{ofTargets("shop", "web", "unhealthy", "3x30"), ofTargets("shop", "web", "healthy", "0x30"), ofTargets("shop", "api", "healthy", "3x30")},
			at:     15 * time.Minute, want: []string{"shop/web"},
		},
		"none was ever healthy": {series: []string{ofTargets("shop", "web", "initial", "3x30"), ofTargets("shop", "web", "healthy", "0x30")}, at: 15 * time.Minute, want: []string{"shop/web"}},
		"initial, then unhealthy": {
			series: []string{ofTargets("shop", "web", "initial", "3x5 0x20"), ofTargets("shop", "web", "unhealthy", "0x5 3x20"), ofTargets("shop", "web", "healthy", "0x30")},
			at:     15 * time.Minute, want: []string{"shop/web"},
		},
		"new behind a slow load balancer": {series: []string{ofTargets("shop", "web", "initial", "3x5 0x20"), ofTargets("shop", "web", "healthy", "0x5 3x20")}, at: 15 * time.Minute},
		"for nine minutes":                {series: []string{ofTargets("shop", "web", "unhealthy", "0x3 3x8 0x20"), ofTargets("shop", "web", "healthy", "3x3 0x8 3x20")}, at: 12 * time.Minute},
		"one is healthy":                  {series: []string{ofTargets("shop", "web", "unhealthy", "3x30"), ofTargets("shop", "web", "healthy", "1x30")}, at: 20 * time.Minute},
		"scaled to zero":                  {series: []string{ofTargets("shop", "web", "draining", "3x30"), ofTargets("shop", "web", "healthy", "0x30")}, at: 20 * time.Minute},
		"attached to no load balancer":    {series: []string{ofTargets("shop", "web", "unused", "3x30"), ofTargets("shop", "web", "healthy", "0x30")}, at: 20 * time.Minute},
	},
	"TargetgateGatesWaiting": {
		"since minute 1":           {series: []string{waiting("web", podA, "60x30")}, at: 20 * time.Minute, want: []string{"shop/web has waited for its load balancer for 19m0s"}},
		"the leader has changed":   {series: []string{waiting("web", podA, "60x10 stale"), waiting("web", podB, "_x10 60x20")}, at: 20 * time.Minute, want: []string{"shop/web"}},
		"of two bindings":          {series: []string{waiting("web", podA, "60x30"), waiting("api", podA, "600x30")}, at: 20 * time.Minute, want: []string{"shop/web"}},
		"for sixteen minutes":      {series: []string{waiting("web", podA, "60x30")}, at: 17 * time.Minute},
		"a rollout that goes on":   {series: []string{waiting("web", podA, "0+60x30")}, at: 25 * time.Minute},
		"nobody waits any more":    {series: []string{waiting("web", podA, "60x18 stale")}, at: 20 * time.Minute},
		"nobody has waited at all": {at: 20 * time.Minute},
	},
	"TargetgateBindingNotReady": {
		"AWS refuses": {
			series: []string{condition("web", "Ready", "False", "AccessDenied", "1x30"), condition("web", "Degraded", "True", "AccessDenied", "1x30"), condition("api", "Ready", "True", "Reconciled", "1x30")},
			at:     15 * time.Minute, want: []string{"shop/web is not Ready: AccessDenied"},
		},
		"again after a leader change": {
			series: []string{
				strings.Replace(condition("web", "Ready", "False", "AWSError", "1x12 stale"), `"}`, `",`+podA+`}`, 1),
				strings.Replace(condition("web", "Ready", "False", "AWSError", "_x12 1x30"), `"}`, `",`+podB+`}`, 1),
			},
			at: 20 * time.Minute, want: []string{"AWSError"},
		},
		"for nine minutes":              {series: []string{condition("web", "Ready", "False", "AWSError", "_x2 1x8 stale"), condition("web", "Ready", "True", "Reconciled", "1x2 stale _x7 1x20")}, at: 11 * time.Minute},
		"a long rollout":                {series: []string{condition("web", "Ready", "False", "Reconciling", "1x30")}, at: 20 * time.Minute},
		"a deletion that takes a while": {series: []string{condition("web", "Ready", "False", "Deleting", "1x30")}, at: 20 * time.Minute},
		"Degraded, and yet Ready":       {series: []string{condition("web", "Ready", "True", "Reconciled", "1x30"), condition("web", "Degraded", "True", "NotSupported", "1x30")}, at: 20 * time.Minute},
	},
	"TargetgateUnreadyPodsKept": {
		"it is":            {series: []string{condition("web", "Degraded", "True", "UnreadyPodsKept", "1x30")}, at: 5 * time.Minute, want: []string{"shop/web"}},
		"for a moment":     {series: []string{condition("web", "Degraded", "True", "UnreadyPodsKept", "_x3 1 stale")}, at: 4 * time.Minute},
		"other trouble":    {series: []string{condition("web", "Degraded", "True", "AWSError", "1x30")}, at: 5 * time.Minute},
		"nothing is wrong": {series: []string{condition("web", "Degraded", "False", "Healthy", "1x30")}, at: 5 * time.Minute},
	},
	"TargetgateUngatedPods": {
		"for an hour":    {series: []string{ofBinding("targetgate_ungated_pods", "2x90")}, at: 70 * time.Minute, want: []string{"2 pods of shop/web"}},
		"half an hour":   {series: []string{ofBinding("targetgate_ungated_pods", "0x30 2x30 0x30")}, at: 60 * time.Minute},
		"all have gates": {series: []string{ofBinding("targetgate_ungated_pods", "0x90")}, at: 70 * time.Minute},
	},
	"TargetgateDeregistrationLate": {
		"two were late":           {series: []string{late("0x20 2x20")}, at: 25 * time.Minute, want: []string{"too late"}},
		"they were late long ago": {series: []string{late("0x20 2x40")}, at: 45 * time.Minute},
		"none was":                {series: []string{late("0x40")}, at: 30 * time.Minute},
		"of an earlier leader":    {series: []string{withPod(late("2x10 stale"), podA), withPod(late("_x10 0x40"), podB)}, at: 30 * time.Minute},
	},
	"TargetgateDeregistrationSlow": {
		"for an hour":             {series: deregistered("0+0x60", "0+2x60"), at: 40 * time.Minute, want: []string{"at once"}},
		"counted again from 0":    {series: deregistered("0x60", "0+2x30 0+2x30"), at: 40 * time.Minute, want: []string{"at once"}},
		"one pod once":            {series: deregistered("0x60", "0x20 1x40"), at: 30 * time.Minute},
		"two pods in a minute":    {series: deregistered("0x60", "0x20 2x40"), at: 29 * time.Minute},
		"one in twenty":           {series: deregistered("0+19x60", "0+20x60"), at: 40 * time.Minute},
		"no pod has left":         {series: deregistered("0x60", "0x60"), at: 40 * time.Minute},
		"pods left long ago":      {series: deregistered("5x60", "9x60"), at: 40 * time.Minute},
		"the new leader has none": {series: append(ofPods(podA, deregistered("0+2x20 stale", "0+2x20 stale")), ofPods(podB, deregistered("0x60", "0x60"))...), at: 40 * time.Minute},
	},
	"TargetgateDrift": {
		"five in a while":      {series: []string{drift("web", "foreign", "0+1x5 5x60")}, at: 40 * time.Minute, want: []string{"shop/web"}},
		"on both leaders":      {series: []string{withPod(drift("web", "missing", "0+1x3 3x10 stale"), podA), withPod(drift("web", "missing", "_x15 0x2 3x40"), podB)}, at: 40 * time.Minute, want: []string{"shop/web"}},
		"one, repaired":        {series: []string{drift("web", "foreign", "0x5 1x60")}, at: 40 * time.Minute},
		"many, long ago":       {series: []string{drift("web", "foreign", "9x90")}, at: 80 * time.Minute},
		"counted again from 0": {series: []string{drift("web", "foreign", "9x20 0x40")}, at: 40 * time.Minute},
		"one of each":          {series: []string{drift("web", "foreign", "0x5 2x60"), drift("web", "missing", "0x5 2x60"), drift("api", "missing", "0x5 2x60")}, at: 40 * time.Minute},
	},
	"TargetgateForeignTargets": {
		"for twenty minutes":  {series: []string{ofBinding("targetgate_foreign_targets", "3x40")}, at: 20 * time.Minute, want: []string{"3 targets of shop/web"}},
		"while a group moves": {series: []string{ofBinding("targetgate_foreign_targets", "3x10 0x30")}, at: 20 * time.Minute},
		"none":                {series: []string{ofBinding("targetgate_foreign_targets", "0x40")}, at: 20 * time.Minute},
	},
	"TargetgateOverwritten": {
		"a tool that goes on":    {series: []string{overwritten("gate", podA, "0+2x60"), overwritten("status", podA, "0x60")}, at: 40 * time.Minute, want: []string{"(kind gate)"}},
		"on both leaders":        {series: []string{overwritten("finalizer", podA, "0+1x8 8x2 stale"), overwritten("finalizer", podB, "_x11 0+1x40")}, at: 30 * time.Minute, want: []string{"(kind finalizer)"}},
		"now and then":           {series: []string{overwritten("gate", podA, "0x20 1x20 2x40")}, at: 60 * time.Minute},
		"some of each kind":      {series: []string{overwritten("gate", podA, "0x5 8x60"), overwritten("status", podA, "0x5 8x60")}, at: 40 * time.Minute},
		"over for an hour":       {series: []string{overwritten("binding", podA, "0x5 30x100")}, at: 80 * time.Minute},
		"counted again from 0":   {series: []string{overwritten("record", podA, "30x20 0x40")}, at: 40 * time.Minute},
		"never, since the start": {series: []string{overwritten("gate", podA, "0x60")}, at: 40 * time.Minute},
	},
	"TargetgateIngressGroupFailing": {
		"for half an hour":         {series: []string{failing("shop", podA, "0x5 1x30"), failing("blog", podA, "0x40")}, at: 30 * time.Minute, want: []string{"group shop"}},
		"after a leader change":    {series: []string{failing("shop", podA, "1x10 stale"), failing("shop", podB, "_x10 1x30")}, at: 20 * time.Minute, want: []string{"group shop"}},
		"for fourteen minutes":     {series: []string{failing("shop", podA, "0x5 1x14 0x30")}, at: 19 * time.Minute},
		"none":                     {series: []string{failing("shop", podA, "0x40")}, at: 30 * time.Minute},
		"of a leader that is gone": {series: []string{failing("shop", podA, "1x10 stale"), failing("shop", podB, "_x10 0x40")}, at: 30 * time.Minute},
	},
	"TargetgateLoadBalancersWithoutIngress": {
		"one, on the leader": {series: []string{`targetgate_load_balancer_without_ingresses{` + podA + `} 1x30`, `targetgate_load_balancer_without_ingresses{` + podB + `} 0x30`}, at: 20 * time.Minute, want: []string{"1 load balancers"}},
		"for ten minutes":    {series: []string{`targetgate_load_balancer_without_ingresses{` + podA + `} 0x5 1x10 0x20`}, at: 14 * time.Minute},
		"none":               {series: []string{`targetgate_load_balancer_without_ingresses{` + podA + `} 0x30`}, at: 20 * time.Minute},
	},
	"TargetgateLoadBalancerQuotaNearlyUsed": {
		"nearly":                   {series: []string{quota("used", "shop", podA, "91x40"), quota("limit", "", podA, "100x40")}, at: 20 * time.Minute, want: []string{"group shop uses 91 of its rules"}},
		"of two replicas":          {series: []string{quota("used", "shop", podA, "91x40"), quota("limit", "", podA, "100x40"), quota("limit", "", podB, "100x40")}, at: 20 * time.Minute, want: []string{"group shop"}},
		"nine tenths":              {series: []string{quota("used", "shop", podA, "90x40"), quota("limit", "", podA, "100x40")}, at: 20 * time.Minute},
		"for a moment":             {series: []string{quota("used", "shop", podA, "50x5 99x5 50x30"), quota("limit", "", podA, "100x40")}, at: 20 * time.Minute},
		"of a leader that is gone": {series: []string{quota("used", "shop", podA, "99x10 stale"), quota("limit", "", podB, "100x40")}, at: 30 * time.Minute},
	},
	"TargetgateLoadBalancerCertificateExpires": {
		"in a day":   {series: []string{expiring("shop", podA, "90000x100")}, at: 80 * time.Minute, want: []string{"group shop expires in 23h"}},
		"in a month": {series: []string{expiring("shop", podA, "2600000x100")}, at: 80 * time.Minute},
		"renewed":    {series: []string{expiring("shop", podA, "90000x30 9000000x70")}, at: 80 * time.Minute},
	},
	"TargetgateSecurityGroupRulesMissing": {
		"for half an hour":         {series: []string{withPod(missingRules("0x5 2x30"), podA), withPod(missingRules("0x40"), podB)}, at: 30 * time.Minute, want: []string{"Security groups"}},
		"for nine minutes":         {series: []string{withPod(missingRules("0x5 2x9 0x30"), podA)}, at: 14 * time.Minute},
		"none":                     {series: []string{withPod(missingRules("0x40"), podA)}, at: 30 * time.Minute},
		"of a leader that is gone": {series: []string{withPod(missingRules("0x5 2x3 stale"), podA), withPod(missingRules("0x40"), podB)}, at: 30 * time.Minute},
	},
	"TargetgateReconcileErrors": {
		"a pod that cannot be written to": {series: []string{failures("kubernetes_error", "0+30x30")}, at: 20 * time.Minute, want: []string{"API server"}},
		"conflicts now and then":          {series: []string{failures("kubernetes_error", "0x5 1x5 2x20")}, at: 20 * time.Minute},
		"an API server that restarts":     {series: []string{failures("kubernetes_error", "0x17 15x20")}, at: 19 * time.Minute},
		"AWS's errors":                    {series: []string{failures("aws_error", "0+30x30")}, at: 20 * time.Minute},
		"none":                            {series: []string{failures("kubernetes_error", "0x30")}, at: 20 * time.Minute},
		"counted again from 0":            {series: []string{failures("kubernetes_error", "500x15 0x30")}, at: 20 * time.Minute},
	},
	"TargetgatePermissionDenied": {
		"tried again and again":             {series: []string{answers("aws_api_call_permission_errors_total", "RegisterTargets", "AccessDenied", "_x5 1+2x30")}, at: 10 * time.Minute, want: []string{"refuses RegisterTargets: AccessDenied"}},
		"credentials that were renewed":     {series: []string{answers("aws_api_call_permission_errors_total", "RegisterTargets", "ExpiredToken", "0x5 1x30")}, at: 10 * time.Minute},
		"of a user who has left it at that": {series: []string{answers("aws_api_call_permission_errors_total", "DescribeTargetGroups", "AccessDenied", "_x5 1x5 2x30")}, at: 14 * time.Minute},
		"mended":                            {series: []string{answers("aws_api_call_permission_errors_total", "RegisterTargets", "AccessDenied", "0+2x10 20x30")}, at: 40 * time.Minute},
		"what nothing needs":                {series: []string{answers("aws_api_call_permission_errors_total", "DescribeTargetGroupAttributes", "AccessDenied", "0+5x40")}, at: 20 * time.Minute},
		"none":                              {at: 10 * time.Minute},
	},
	"TargetgateThrottled": {
		"for half an hour": {series: []string{answers("aws_api_requests_total", "RegisterTargets", "Throttling", "0+1x40")}, at: 30 * time.Minute, want: []string{"throttles RegisterTargets"}},
		"of two replicas":  {series: []string{withPod(answers("aws_api_requests_total", "DescribeTargetHealth", "RequestLimitExceeded", "0+1x20 stale"), podA), withPod(answers("aws_api_requests_total", "DescribeTargetHealth", "RequestLimitExceeded", "_x20 0+1x40"), podB)}, at: 40 * time.Minute, want: []string{"DescribeTargetHealth"}},
		"once":             {series: []string{answers("aws_api_requests_total", "RegisterTargets", "Throttling", "0x10 3x30")}, at: 19 * time.Minute},
		"others' errors":   {series: []string{answers("aws_api_requests_total", "RegisterTargets", "InvalidTarget", "0+1x40"), answers("aws_api_requests_total", "RegisterTargets", "", "0+10x40")}, at: 30 * time.Minute},
	},
	"TargetgateBudgetExhausted": {
		"for half an hour":    {series: waits("deregister", "0x40", "0+5x40"), at: 35 * time.Minute, want: []string{"deregister"}},
		"a rush":              {series: waits("register", "0x40", "0x10 0+9x8 81x30"), at: 25 * time.Minute},
		"calls that may wait": {series: waits("other", "0x40", "0+5x40"), at: 35 * time.Minute},
		"nobody waits":        {series: waits("deregister", "0+5x40", "0+5x40"), at: 35 * time.Minute},
		"no calls":            {series: waits("deregister", "7x40", "9x40"), at: 35 * time.Minute},
	},
	"TargetgateCertificateExpires": {
		"tomorrow":                        {series: []string{expires("serving", podA, "90000x120")}, at: 2 * time.Hour, want: []string{"(serving)"}},
		"on one replica":                  {series: []string{expires("serving", podA, "90000x120"), expires("serving", podB, "600000x120")}, at: 2 * time.Hour, want: []string{"(serving)"}},
		"renewed":                         {series: []string{expires("serving", podA, "90000x80 600000x40")}, at: 2 * time.Hour},
		"less than half an hour":          {series: []string{expires("serving", podA, "90000x120")}, at: 85 * time.Minute},
		"the CA, in a year":               {series: []string{expires("ca", podA, "31536000x120")}, at: 2 * time.Hour},
		"certificates of somebody else's": {at: 2 * time.Hour},
	},
	"TargetgateWebhookErrors": {
		"pods":            {series: []string{failed("mutation", "/mutate-v1-pod", "Internal Server Error", "0x10 6x20")}, at: 15 * time.Minute, want: []string{"/mutate-v1-pod"}},
		"bindings":        {series: []string{failed("validation", "/validate-elbv2-k8s-aws-v1beta1-targetgroupbinding", "Internal Server Error", "0x10 6x20")}, at: 15 * time.Minute, want: []string{"/validate-"}},
		"on two replicas": {series: []string{withPod(failed("mutation", "/mutate-v1-pod", "Service Unavailable", "0x10 3x20"), podA), withPod(failed("mutation", "/mutate-v1-pod", "Service Unavailable", "0x10 3x20"), podB)}, at: 15 * time.Minute, want: []string{"/mutate-v1-pod"}},
		"two calls":       {series: []string{failed("mutation", "/mutate-v1-pod", "Internal Server Error", "0x10 2x20")}, at: 15 * time.Minute},
		"over":            {series: []string{failed("mutation", "/mutate-v1-pod", "Internal Server Error", "0x10 6x40")}, at: 25 * time.Minute},
		"users' faults":   {series: []string{failed("validation", "/validate-elbv2-k8s-aws-v1beta1-targetgroupbinding", "Unprocessable Entity", "0+5x30"), failed("mutation", "/mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding", "Forbidden", "0+5x30")}, at: 15 * time.Minute},
		"a restart":       {series: []string{failed("mutation", "/mutate-v1-pod", "Internal Server Error", "9x10 0x20")}, at: 15 * time.Minute},
	},
	"TargetgateWebhookSlow": {
		"for half an hour":        {series: reviews("/mutate-v1-pod", "0+8x40", "0+10x40"), at: 30 * time.Minute, want: []string{"/mutate-v1-pod"}},
		"for a minute":            {series: reviews("/mutate-v1-pod", "0+10x18 180x3 180+10x20", "0+10x60"), at: 22 * time.Minute},
		"bindings, which ask AWS": {series: reviews("/mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding", "0+8x40", "0+10x40"), at: 30 * time.Minute},
		"fast":                    {series: reviews("/mutate-v1-pod", "0+10x40", "0+10x40"), at: 30 * time.Minute},
		"no pods":                 {series: reviews("/mutate-v1-pod", "3x40", "5x40"), at: 30 * time.Minute},
	},
	"TargetgateCABundleContested": {
		"put back all the time": {series: []string{`targetgate_webhook_ca_bundle_writes_total 0+1x90`}, at: 80 * time.Minute, want: []string{"caBundle"}},
		"installed":             {series: []string{`targetgate_webhook_ca_bundle_writes_total 0x5 2x90`}, at: 60 * time.Minute},
		"renewed":               {series: []string{`targetgate_webhook_ca_bundle_writes_total 2x30 4x30 6x90`}, at: 60 * time.Minute},
		"from files":            {series: []string{`targetgate_webhook_ca_bundle_writes_total 0x90`}, at: 60 * time.Minute},
	},
	"TargetgateWebhookNotTrusted": {
		"deleted":    {series: notTrusted("0x30"), at: 15 * time.Minute, want: []string{"ValidatingWebhookConfiguration"}},
		"put back":   {series: notTrusted("0x5 1x30"), at: 15 * time.Minute},
		"trusted":    {series: notTrusted("1x30"), at: 15 * time.Minute},
		"from files": {at: 15 * time.Minute},
	},
}

func notTrusted(validating string) []string {
	return []string{
		`targetgate_webhook_trusted{` + podA + `,configuration="MutatingWebhookConfiguration"} 1x30`,
		`targetgate_webhook_trusted{` + podA + `,configuration="ValidatingWebhookConfiguration"} ` + validating,
	}
}

func ofTargets(namespace, name, state, values string) string {
	return `targetgate_targets{namespace="` + namespace + `",name="` + name + `",state="` + state + `"} ` + values
}

func ofBinding(metric, values string) string {
	return metric + `{namespace="shop",name="web"} ` + values
}

func waiting(name, pod, values string) string {
	return withPod(`targetgate_gate_waiting_since_timestamp_seconds{namespace="shop",name="`+name+`"} `+values, pod)
}

func condition(name, kind, status, reason, values string) string {
	return `targetgate_binding_condition{namespace="shop",name="` + name + `",type="` + kind + `",status="` + status + `",reason="` + reason + `"} ` + values
}

func failing(group, pod, values string) string {
	return `targetgate_ingress_group_failing{group="` + group + `",` + pod + `} ` + values
}

func quota(metric, group, pod, values string) string {
	if group != "" {
		group = `group="` + group + `",`
	}
	return `targetgate_load_balancer_quota_` + metric + `{` + group + `quota="rules",` + pod + `} ` + values
}

func expiring(group, pod, values string) string {
	return `targetgate_ingress_group_certificate_expiration_timestamp_seconds{group="` + group + `",` + pod + `} ` + values
}

func missingRules(values string) string {
	return `targetgate_missing_security_group_rules{namespace="targetgate-system"} ` + values
}

func drift(name, kind, values string) string {
	return `targetgate_drift_repaired_total{namespace="shop",name="` + name + `",kind="` + kind + `"} ` + values
}

func overwritten(kind, pod, values string) string {
	return withPod(`targetgate_overwritten_total{kind="`+kind+`"} `+values, pod)
}

func failures(category, values string) string {
	return `awslbc_controller_reconcile_errors_total{controller="targetGroupBinding",error_category="` + category + `"} ` + values
}

func answers(metric, operation, code, values string) string {
	return metric + `{service="Elastic Load Balancing v2",operation="` + operation + `",status_code="400",error_code="` + code + `"} ` + values
}

func failed(kind, hook, what, values string) string {
	return `awslbc_webhook_` + kind + `_failure_total{webhook_name="` + hook + `",error_type="` + what + `"} ` + values
}

func expires(which, pod, values string) string {
	return withPod(`targetgate_webhook_certificate_expiration_timestamp_seconds{certificate="`+which+`"} `+values, pod)
}

func late(values string) string {
	return `targetgate_deregistrations_late_total{namespace="targetgate-system"} ` + values
}

// deregistered is the histogram: how many took less than 8 s, and how many less than 30 s, which is all.
func deregistered(fast, all string) []string {
	return histogram(`targetgate_pod_deregistered_seconds_bucket{`, `8`, `30`, fast, all)
}

func waits(class, fast, all string) []string {
	return histogram(`targetgate_aws_budget_wait_seconds_bucket{account="",operations="^Register",class="`+class+`",`, `1`, `10`, fast, all)
}

func reviews(hook, fast, all string) []string {
	return histogram(`targetgate_webhook_seconds_bucket{webhook_name="`+hook+`",`, `1`, `3`, fast, all)
}

func histogram(name, fastBound, slowBound, fast, all string) []string {
	return []string{name + `le="` + fastBound + `"} ` + fast, name + `le="` + slowBound + `"} ` + all, name + `le="+Inf"} ` + all}
}

// withPod adds the labels of a pod, if any, to a series.
func withPod(notation, pod string) string {
	if pod == "" {
		return notation
	}
	return strings.Replace(notation, `"} `, `",`+pod+`} `, 1)
}

func ofPods(pod string, notations []string) []string {
	var out []string
	for _, notation := range notations {
		out = append(out, withPod(notation, pod))
	}
	return out
}

func alerts(t *testing.T) []rules.Alert {
	t.Helper()
	var out []rules.Alert
	for _, file := range []string{"alerts.yaml", "load-balancer-alerts.yaml"} {
		found, err := rules.ReadAlerts(filepath.Join(chart, "files", file))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

// summaries are those of the results for which the alert fires. All its texts must be complete.
func summaries(t *testing.T, alert rules.Alert, notations []string, at time.Duration) []string {
	t.Helper()
	series := &rules.Series{}
	if err := series.Write(notations...); err != nil {
		t.Fatal(err)
	}
	results, err := series.Firing(t.Context(), alert, at)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, result := range results {
		for name := range alert.Annotations {
			if _, err := alert.Text(name, result); err != nil {
				t.Error(err)
			}
		}
		summary, _ := alert.Text("summary", result)
		out = append(out, summary)
	}
	slices.Sort(out)
	return out
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	for _, alert := range alerts(t) {
		fires, rests := false, false
		for name, tc := range scenarios[alert.Name] {
			t.Run(alert.Name+"/"+name, func(t *testing.T) {
				got := summaries(t, alert, tc.series, tc.at)
				matched := len(got) == len(tc.want)
				for i := 0; matched && i < len(got); i++ {
					matched = strings.Contains(got[i], tc.want[i])
				}
				if !matched {
					t.Errorf("fires with %q, want %q", got, tc.want)
				}
			})
			fires, rests = fires || len(tc.want) > 0, rests || len(tc.want) == 0
		}
		if !fires || !rests {
			t.Errorf("%s has no scenario in which it fires, or none in which it does not", alert.Name)
		}
	}
}

func TestAlertsThatAreTestedExist(t *testing.T) {
	var names []string
	for _, alert := range alerts(t) {
		names = append(names, alert.Name)
	}
	for name := range scenarios {
		if !slices.Contains(names, name) {
			t.Errorf("there is no alert %s", name)
		}
	}
}

// What is as it should be wakes nobody.
func TestNoAlertFiresWhenNothingIsWrong(t *testing.T) {
	settled := ofPods(podA, slices.Concat([]string{
		condition("web", "Ready", "True", "Reconciled", "1x90"), condition("web", "Degraded", "False", "Healthy", "1x90"),
		ofTargets("shop", "web", "healthy", "5x90"), ofTargets("shop", "web", "unhealthy", "0x90"), ofTargets("shop", "web", "initial", "0x90"),
		ofBinding("targetgate_foreign_targets", "0x90"), ofBinding("targetgate_ungated_pods", "0x90"), ofBinding("targetgate_gated_pods_waiting", "0x90"),
		drift("web", "foreign", "0x90"), drift("web", "missing", "0x90"), failures("aws_error", "0x90"),
		answers("aws_api_requests_total", "DescribeTargetHealth", "", "0+1x90"),
	}, deregistered("0+1x90", "0+1x90"), waits("deregister", "0+1x90", "0+1x90"), reviews("/mutate-v1-pod", "0+1x90", "0+1x90")))
	fresh := func(pod, leads string) []string {
		return append(ofPods(pod, []string{failures("kubernetes_error", "0x90"), failed("mutation", "/mutate-v1-pod", "Internal Server Error", "0x90"), expires("serving", "", "600000x120")}),
			`targetgate_gates_injected_total{`+pod+`} 0x90`, `targetgate_leader{`+pod+`} `+leads, `targetgate_webhook_ca_bundle_writes_total{`+pod+`} 2x90`)
	}
	tests := map[string][]string{
		"a new deployment without traffic": slices.Concat(fresh(podA, "1x90"), fresh(podB, "0x90"), ofPods(podA, deregistered("0x90", "0x90"))),
		"all is well":                      slices.Concat(fresh(podA, "1x90"), fresh(podB, "0x90"), settled),
		"a rolling update of targetgate": {
			`targetgate_gates_injected_total{` + podA + `} 100x60 stale`, `targetgate_gates_injected_total{` + podB + `} _x60 0x60`,
			`targetgate_leader{` + podA + `} 1x60 stale`, `targetgate_leader{` + podB + `} _x60 0x1 1x60`,
			withPod(failures("kubernetes_error", "40x60 stale"), podA), withPod(failures("kubernetes_error", "_x60 2x60"), podB),
			withPod(drift("web", "foreign", "40x60 stale"), podA), withPod(drift("web", "foreign", "_x60 0x60"), podB),
			withPod(condition("web", "Ready", "True", "Reconciled", "1x60 stale"), podA), withPod(condition("web", "Ready", "True", "Reconciled", "_x62 1x60"), podB),
		},
	}
	for name, notations := range tests {
		t.Run(name, func(t *testing.T) {
			for _, alert := range alerts(t) {
				for _, minute := range []time.Duration{5, 10, 20, 40, 59, 60, 61, 62, 63, 64, 65, 70, 80, 90} {
					if got := summaries(t, alert, notations, minute*time.Minute); len(got) > 0 {
						t.Fatalf("after %d minutes fires %q", minute, got)
					}
				}
			}
		})
	}
}

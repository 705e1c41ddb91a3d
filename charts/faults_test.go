// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"strings"
	"testing"
)

func TestContradictoryValuesFailTheRender(t *testing.T) {
	tests := map[string]struct {
		values []string
		want   string
	}{
		"no cluster name":          {[]string{`clusterName=""`}, "clusterName is required: "},
		"a certificate, no key":    {[]string{`webhookTLS={"caCert":"a","cert":"b"}`}, "webhookTLS needs caCert, cert and key: "},
		"two certificates":         {[]string{certManager, `webhookTLS={"caCert":"a","cert":"b","key":"c"}`}, "enableCertManager and webhookTLS exclude each other: "},
		"lifetime of another's":    {[]string{certManager, `webhookCADuration="1h"`}, "webhookCADuration and webhookCertDuration work only with certificates that targetgate creates: "},
		"grace period too short":   {[]string{`terminationGracePeriodSeconds=24`}, "terminationGracePeriodSeconds is 24: it must be at least 15 more than shutdownDelaySeconds (10), "},
		"two budgets":              {[]string{`podDisruptionBudget={"minAvailable":0,"maxUnavailable":0}`}, "podDisruptionBudget has minAvailable and maxUnavailable: "},
		"a budget of all":          {[]string{`podDisruptionBudget.minAvailable=2`}, "podDisruptionBudget.minAvailable is 2 of 2 replicas: "},
		"a budget of all, scaled":  {[]string{`podDisruptionBudget.minAvailable=3`, `autoscaling={"enabled":true,"minReplicas":3}`}, "podDisruptionBudget.minAvailable is 3 of 3 replicas: "},
		"a budget of all percent":  {[]string{`podDisruptionBudget.minAvailable="100%"`}, "podDisruptionBudget.minAvailable is 100% of 2 replicas: "},
		"a budget rounded up":      {[]string{`podDisruptionBudget.minAvailable="51%"`}, "podDisruptionBudget.minAvailable is 51% of 2 replicas: "},
		"a budget of none":         {[]string{`podDisruptionBudget.maxUnavailable=0`}, "podDisruptionBudget.maxUnavailable is 0: "},
		"a budget of no percent":   {[]string{`podDisruptionBudget.maxUnavailable="0%"`}, "podDisruptionBudget.maxUnavailable is 0%: "},
		"least above most":         {[]string{`autoscaling={"enabled":true,"minReplicas":6}`}, "autoscaling.minReplicas (6) is more than maxReplicas (5)."},
		"scaled by no request":     {[]string{`autoscaling.enabled=true`, `resources={"requests":null}`}, "autoscaling needs resources.requests.cpu: "},
		"account without a name":   {[]string{`serviceAccount.create=false`}, "serviceAccount.create is false: set serviceAccount.name "},
		"monitor without metrics":  {[]string{`metricsBindAddr="0"`, serviceMonitor}, "serviceMonitor and prometheusRule need metrics: "},
		"rules without metrics":    {[]string{`metricsBindAddr="0"`, `prometheusRule.enabled=true`}, "serviceMonitor and prometheusRule need metrics: "},
		"one port for two":         {[]string{`webhookBindPort=8080`}, "Ports collide: webhookBindPort 8080, metricsBindAddr 8080, probes 61779."},
		"the probes' port":         {[]string{`metricsBindAddr=":61779"`}, "Ports collide: "},
		"policy on the host":       {[]string{`hostNetwork=true`, `networkPolicy.enabled=true`}, "networkPolicy has no effect on pods with hostNetwork: "},
		"peers without a policy":   {[]string{`networkPolicy.metricsFrom=[{}]`}, "networkPolicy.metricsFrom has no effect "},
		"a lease without a right":  {[]string{`extraArgs=["--leader-election-id=a"]`}, "extraArgs has --leader-election-id: set leaderElectionID"},
		"their lease beside them":  {[]string{beside, `leaderElectionID="aws-load-balancer-controller-leader"`}, "beside.enabled needs a lease of its own: "},
		"beside, with half a view": {[]string{beside, `watchNamespace=["a","b"]`}, "beside.enabled and watchNamespace exclude each other: "},
		"beside nobody":            {[]string{beside, `beside.incumbentUser=""`}, "beside.incumbentUser must be the user name of aws-load-balancer-controller"},
		"their gates, alone":       {[]string{`beside.openIncumbentGates=true`}, "beside.openIncumbentGates has no effect without beside.enabled."},
		"beside without a policy":  {[]string{`extraArgs=["--beside"]`}, "extraArgs has --beside: set beside.enabled"},
		"secret paths by others":   {[]string{`webhookSecretPaths=true`, `enableCertManager=true`}, "webhookSecretPaths works only with certificates that targetgate creates"},
		"callers without a policy": {[]string{`networkPolicy.webhookFrom=[{}]`}, "networkPolicy.webhookFrom has no effect "},
		"a guard that stays":       {[]string{nodeGuard, `nodeGuard.tolerations=[{"operator":"Exists"}]`}, `nodeGuard.tolerations: {"operator":"Exists"} tolerates the taints of nodes that go, `},
		"a guard of Karpenter's":   {[]string{nodeGuard, `nodeGuard.tolerations=[{"key":"karpenter.sh/disrupted","operator":"Exists","effect":"NoSchedule"}]`}, "nodeGuard.tolerations: "},
		"a guard that comes back":  {[]string{nodeGuard, `nodeGuard.tolerations=[{"key":"ToBeDeletedByClusterAutoscaler","operator":"Exists"}]`}, "nodeGuard.tolerations: "},
		"a critical guard":         {[]string{nodeGuard, `nodeGuard.priorityClassName="system-node-critical"`}, "nodeGuard.priorityClassName is system-node-critical: "},
		"a guard nobody answers":   {[]string{nodeGuard, `watchNamespace=["a","b"]`}, "nodeGuard.enabled needs targetgate-system in watchNamespace: "},
		"another's image":          {[]string{`image.repository="public.ecr.aws/eks/aws-load-balancer-controller"`}, "image.repository is public.ecr.aws/eks/aws-load-balancer-controller, "},
		"no image":                 {[]string{`image.repository=""`}, "image.repository is required, as no image is published yet: build one "},
		"an image of null":         {[]string{`image.repository=null`}, "image.repository is required, "},
		"a repository with a tag":  {[]string{`image.repository="here:5000/tg:v1"`}, "image.repository is here:5000/tg:v1, with a tag or a digest: "},
		"one with a digest":        {[]string{`image.repository="here/tg@` + digest + `"`}, "image.repository is here/tg@" + digest + ", with a tag or a digest: "},
		"a digest cut short":       {[]string{`image.digest="sha256:0123"`}, "at '/image/digest': 'sha256:0123' does not match pattern '^(sha256:[0-9a-f]{64})?$'"},
		"a digest without a kind":  {[]string{`image.digest="` + strings.TrimPrefix(digest, "sha256:") + `"`}, "at '/image/digest': "},
		"a digest with capitals":   {[]string{`image.digest="` + strings.ToUpper(digest) + `"`}, "at '/image/digest': "},
		"a slip of the pen":        {[]string{`clusterNmae="a"`}, "No such value: clusterNmae. If it comes from aws-load-balancer-controller's chart, "},
		"two of theirs":            {[]string{`theirs={"a":1}`, `another=null`, `other=false`}, "No such value: another, other, theirs. If "},
		"a slip below":             {[]string{`serviceMonitor={"enable":true}`}, "additional properties 'enable' not allowed"},
		"a policy that is none":    {[]string{`podMutatorWebhookConfig.failurePolicy="fail"`}, "value must be one of 'Ignore', 'Fail'"},
		"replicas that are no int": {[]string{`replicaCount="2"`}, "got string, want integer"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, stderr, err := template(t, append([]string{named}, tc.values...)...)
			if err == nil {
				t.Fatal("it is rendered")
			}
			if !strings.Contains(stderr, tc.want) {
				t.Errorf("the error does not say %q:\n%s", tc.want, stderr)
			}
		})
	}
}

func TestContradictionsAreToldAllAtOnce(t *testing.T) {
	_, stderr, _ := template(t, `clusterName=""`, `serviceAccount.create=false`)
	for _, want := range []string{"clusterName is required", "image.repository is required", "serviceAccount.create is false"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the error does not say %q:\n%s", want, stderr)
		}
	}
}

// One replica can go without a budget of its own being wrong, and metrics can be off where nobody reads them.
func TestOddValuesThatAreRightAreRendered(t *testing.T) {
	tests := map[string][]string{
		"one replica":              {`replicaCount=1`},
		"a registry with a port":   {`image.repository="here:5000/tg"`},
		"no metrics":               {`metricsBindAddr="0"`},
		"guards and a namespace":   {nodeGuard, `watchNamespace="shop, targetgate-system"`},
		"no guard, odd toleration": {`nodeGuard.tolerations=[{"operator":"Exists"}]`, `watchNamespace="shop"`},
		"alone, as BESIDE.md says": {`beside={"enabled":false,"openIncumbentGates":false}`},
		"beside, as it says":       {beside, `provision=false`, `watchNamespace=""`, `leaderElectionID=""`},
		"budget off":               {`podDisruptionBudget={"enabled":false,"minAvailable":2}`},
		"a budget of half":         {`podDisruptionBudget.minAvailable="50%"`},
		"a budget of one percent":  {`podDisruptionBudget.maxUnavailable="1%"`},
		"values of theirs": {
			`ingressClass="alb"`, `createIngressClassResource=true`, `enableEndpointSlices=null`, `keepTLSSecret=true`, `topologySpreadConstraints={}`,
			`env=null`, `serviceAccount={"name":null,"imagePullSecrets":null}`, `region=null`, `webhookTLS={"caCert":null,"cert":null,"key":null}`,
			`awsApiThrottle=null`, `podDisruptionBudget={}`, `updateStrategy={}`, `objectSelector={"matchExpressions":null,"matchLabels":null}`,
		},
	}
	for name, values := range tests {
		t.Run(name, func(t *testing.T) {
			objects(t, []byte(render(t, values...)))
		})
	}
}

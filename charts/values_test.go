// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// provision gives values of load balancers their effect.
const provision = "provision=true"

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// Each value changes what is rendered. want is a line, without its indentation, that is not there with the defaults.
var valueCases = map[string]struct {
	value string   // as JSON
	with  []string // other values that it needs
	want  string
}{
	"clusterName":                               {value: `"other"`, want: `- "--cluster-name=other"`},
	"region":                                    {value: `"eu-west-1"`, want: `- "--aws-region=eu-west-1"`},
	"vpcId":                                     {value: `"vpc-1"`, want: `- "--aws-vpc-id=vpc-1"`},
	"watchNamespace":                            {value: `["a","b"]`, want: `- "--watch-namespace=a,b"`},
	"replicaCount":                              {value: `3`, want: `replicas: 3`},
	"image.repository":                          {value: `"here/tg"`, want: `image: "here/tg:v0.1.0"`},
	"image.tag":                                 {value: `"v9"`, want: `image: "registry.example/targetgate:v9"`},
	"image.digest":                              {value: `"` + digest + `"`, with: []string{`image.tag="v9"`}, want: `image: "registry.example/targetgate@` + digest + `"`},
	"image.pullPolicy":                          {value: `"Always"`, want: `imagePullPolicy: Always`},
	"imagePullSecrets":                          {value: `[{"name":"pull"}]`, want: `- name: pull`},
	"nameOverride":                              {value: `"other"`, want: `name: targetgate-other`},
	"fullnameOverride":                          {value: `"tg"`, want: `- "--webhook-ca-secret-name=tg-webhook-ca"`},
	"additionalLabels":                          {value: `{"team":"a"}`, want: `team: a`},
	"beside.enabled":                            {value: `true`, want: `- "--beside=true"`},
	"beside.incumbentUser":                      {value: `"lbc"`, with: []string{beside}, want: `expression: "request.userInfo.username == 'lbc'"`},
	"beside.openIncumbentGates":                 {value: `true`, with: []string{beside}, want: `- "--open-incumbent-gates=true"`},
	"provision":                                 {value: `true`, want: `- "--provision=true"`},
	"ingressClass":                              {value: `"edge"`, with: []string{provision}, want: `- "--ingress-class=edge"`},
	"createIngressClassResource":                {value: `false`, with: []string{provision}},
	"ingressClassConfig.default":                {value: `true`, with: []string{provision}, want: `ingressclass.kubernetes.io/is-default-class: "true"`},
	"ingressClassParams.create":                 {value: `false`, with: []string{provision, `ingressClassParams.name="own"`}},
	"ingressClassParams.name":                   {value: `"own"`, with: []string{provision}, want: `name: own`},
	"ingressClassParams.spec":                   {value: `{"scheme":"internal"}`, with: []string{provision}, want: `scheme: internal`},
	"defaultLoadBalancerScheme":                 {value: `"internet-facing"`, with: []string{provision}, want: `- "--default-load-balancer-scheme=internet-facing"`},
	"defaultTargetType":                         {value: `"ip"`, with: []string{provision}, want: `- "--default-target-type=ip"`},
	"defaultSSLPolicy":                          {value: `"strict"`, with: []string{provision}, want: `- "--default-ssl-policy=strict"`},
	"defaultTags":                               {value: `{"team":"web"}`, with: []string{provision}, want: `- "--default-tags=team=web"`},
	"externalManagedTags":                       {value: `["cost"]`, with: []string{provision}, want: `- "--external-managed-tags=cost"`},
	"enableBackendSecurityGroup":                {value: `false`, with: []string{provision}, want: `- "--enable-backend-security-group=false"`},
	"backendSecurityGroup":                      {value: `"sg-1"`, with: []string{provision}, want: `- "--backend-security-group=sg-1"`},
	"enableManageBackendSecurityGroupRules":     {value: `true`, with: []string{provision}, want: `- "--enable-manage-backend-security-group-rules=true"`},
	"tolerateNonExistentBackendService":         {value: `false`, with: []string{provision}, want: `- "--tolerate-non-existent-backend-service=false"`},
	"tolerateNonExistentBackendAction":          {value: `false`, with: []string{provision}, want: `- "--tolerate-non-existent-backend-action=false"`},
	"addZones":                                  {value: `true`, with: []string{provision}, want: `- "--add-zones=true"`},
	"resetAttributes":                           {value: `true`, with: []string{provision}, want: `- "--reset-attributes=true"`},
	"requiredSecretsLabel":                      {value: `"team=web"`, with: []string{provision}, want: `- "--required-secrets-label=team=web"`},
	"clusterSecretsPermissions.allowAllSecrets": {value: `true`, with: []string{provision}, want: `resources: [secrets] # for logins`},
	"certManagement.defaultPCAARN": {value: `"arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1a2b"`, with: []string{provision},
		want: `- "--default-pca-arn=arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1a2b"`},
	"certDiscovery.allowedCertificateAuthorityARNs": {value: `"arn:a,arn:b"`, with: []string{provision}, want: `- "--allowed-certificate-authority-arns=arn:a,arn:b"`},
	"enableShield":                                     {value: `false`, with: []string{provision}, want: `- "--enable-shield=false"`},
	"enableWaf":                                        {value: `false`, with: []string{provision}, want: `- "--enable-waf=false"`},
	"enableWafv2":                                      {value: `false`, with: []string{provision}, want: `- "--enable-wafv2=false"`},
	"disableIngressClassAnnotation":                    {value: `true`, with: []string{provision}, want: `- "--disable-ingress-class-annotation=true"`},
	"ignoreIngressClassAnnotation":                     {value: `true`, with: []string{provision}, want: `- "--ignore-ingress-class-annotation=true"`},
	"disableIngressGroupNameAnnotation":                {value: `true`, with: []string{provision}, want: `- "--disable-ingress-group-name-annotation=true"`},
	"ingressMaxConcurrentReconciles":                   {value: `9`, with: []string{provision}, want: `- "--ingress-max-concurrent-reconciles=9"`},
	"orphanGrace":                                      {value: `"48h"`, with: []string{provision}, want: `- "--orphan-grace=48h"`},
	"ingressDriftInterval":                             {value: `"2h"`, with: []string{provision}, want: `- "--ingress-drift-interval=2h"`},
	"loadBalancerRuleQuota":                            {value: `200`, with: []string{provision}, want: `- "--load-balancer-rule-quota=200"`},
	"loadBalancerCertificateQuota":                     {value: `50`, with: []string{provision}, want: `- "--load-balancer-certificate-quota=50"`},
	"frontendNlbTargetQuota":                           {value: `1000`, with: []string{provision}, want: `- "--frontend-nlb-target-quota=1000"`},
	"webhookConfig.disableIngressValidation":           {value: `true`, with: []string{provision}},
	"webhookConfig.ingressValdationFailurePolicy":      {value: `"Fail"`, with: []string{provision}},
	"webhookConfig.ingressValidationObjectSelector":    {value: `{"matchLabels":{"tier":"web"}}`, with: []string{provision}, want: `tier: web`},
	"webhookConfig.ingressValidationNamespaceSelector": {value: `{"matchLabels":{"tier":"web"}}`, with: []string{provision}, want: `tier: web`},
	"loadBalancerSettleTime":                           {value: `"1m"`, with: []string{provision}, want: `- "--load-balancer-settle-time=1m"`},
	"terminationDelayALB":                              {value: `"45s"`, want: `- "--termination-delay-alb=45s"`},
	"terminationDelayNLB":                              {value: `"0"`, want: `- "--termination-delay-nlb=0"`},
	"deregistrationLeadALB":                            {value: `"15s"`, want: `- "--deregistration-lead-alb=15s"`},
	"deregistrationLeadNLB":                            {value: `"0"`, want: `- "--deregistration-lead-nlb=0"`},
	"keepUntilReplaced":                                {value: `false`, want: `- "--keep-until-replaced=false"`},
	"minReadyPercent":                                  {value: `0`, want: `- "--min-ready-percent=0"`},
	"loadBalancerGatePrefixes":                         {value: `["cloud.google.com/","example.com/lb"]`, want: `- "--load-balancer-gate-prefixes=cloud.google.com/,example.com/lb"`},
	"replacementTimeout":                               {value: `"1m"`, want: `- "--replacement-timeout=1m"`},
	"unattachedTargetGroup":                            {value: `"wait"`, want: `- "--unattached-target-group=wait"`},
	"readinessTimeout":                                 {value: `"1m"`, want: `- "--readiness-timeout=1m"`},
	"readinessTwoWay":                                  {value: `true`, want: `- "--readiness-two-way=true"`},
	"targetGroupConsent":                               {value: `"warn"`, want: `- "--target-group-consent=warn"`},
	"roleAllowlist":                                    {value: `{"shop":["arn:aws:iam::123456789012:role/shop"]}`, want: `- arn:aws:iam::123456789012:role/shop`},
	"driftInterval":                                    {value: `"1m"`, want: `- "--drift-interval=1m"`},
	"serviceTargetENISGTags":                           {value: `"role=node,tier=web"`, want: `- "--service-target-eni-security-group-tags=role=node,tier=web"`},
	"securityGroupRuleQuota":                           {value: `100`, want: `- "--security-group-rule-quota=100"`},
	"securityGroupRules":                               {value: `false`, want: `- "--security-group-rules=false"`},
	"maxTargetsPerTargetGroup":                         {value: `1000000`, want: `- "--max-targets-per-target-group=1000000"`},
	"syncPeriod":                                       {value: `"1h"`, want: `- "--sync-period=1h"`},
	"awsApiEndpoints":                                  {value: `"EC2=https://a,STS=https://b"`, want: `- "--aws-api-endpoints=EC2=https://a,STS=https://b"`},
	"awsApiThrottle":                                   {value: `["EC2:.*=1:2","STS:.*=3:4"]`, want: `- "--aws-api-throttle=EC2:.*=1:2,STS:.*=3:4"`},
	"awsRoleSessionName":                               {value: `"cluster"`, want: `- "--aws-role-session-name=cluster"`},
	"awsRoleSessionTags":                               {value: `true`, want: `- "--aws-role-session-tags=true"`},
	"awsMaxRetries":                                    {value: `0`, want: `- "--aws-max-retries=0"`},
	"serviceAccount.name":                              {value: `"other"`, want: `serviceAccountName: other`},
	"serviceAccount.create":                            {value: `false`, with: []string{`serviceAccount.name="theirs"`}, want: `serviceAccountName: theirs`},
	"webhookBindPort":                                  {value: `443`, want: `- {name: webhook, containerPort: 443, protocol: TCP}`},
	"webhookNamespaceSelectors":                        {value: `[{"key":"tier","operator":"Exists"}]`, want: `- key: tier`},
	"webhookCADuration":                                {value: `"9h"`, want: `- "--webhook-ca-duration=9h"`},
	"webhookCertDuration":                              {value: `"1h"`, want: `- "--webhook-cert-duration=1h"`},
	"enableCertManager":                                {value: `true`, want: `kind: Issuer`},
	"nodeSelector":                                     {value: `{"disk":"ssd"}`, want: `disk: ssd`},
	"tolerations":                                      {value: `[{"key":"only"}]`, want: `- key: only`},
	"affinity":                                         {value: `{"nodeAffinity":{}}`, want: `nodeAffinity: {}`},
	"topologySpreadConstraints":                        {value: `[{"maxSkew":1}]`, want: `- maxSkew: 1`},
	"priorityClassName":                                {value: `"high"`, want: `priorityClassName: "high"`},
	"podLabels":                                        {value: `{"sidecar":"no"}`, want: `sidecar: "no"`},
	"podAnnotations":                                   {value: `{"note":"a"}`, want: `note: a`},
	"deploymentAnnotations":                            {value: `{"note":"a"}`, want: `note: a`},
	"serviceAnnotations":                               {value: `{"note":"a"}`, want: `note: a`},
	"revisionHistoryLimit":                             {value: `3`, want: `revisionHistoryLimit: 3`},
	"env":                                              {value: `{"A":"true"}`, want: `value: "true"`},
	"envFrom":                                          {value: `[{"secretRef":{"name":"s"}}]`, want: `- secretRef:`},
	"extraArgs":                                        {value: `["--webhook-bind-port=1"]`, want: `- "--webhook-bind-port=1"`},
	"leaderElectionID":                                 {value: `"a"`, want: `- "--leader-election-id=a"`},
	"webhookSecretPaths":                               {value: `true`, want: `- "--webhook-secret-paths=true"`},
	"sharedTargetGroups":                               {value: `true`, want: `name: targetgate-shared-groups`},
	"extraVolumes":                                     {value: `[{"name":"v","emptyDir":{}}]`, want: `name: v`},
	"extraVolumeMounts":                                {value: `[{"name":"v","mountPath":"/v"}]`, want: `- mountPath: /v`},
	"hostNetwork":                                      {value: `true`, want: `hostNetwork: true`},
	"dnsPolicy":                                        {value: `"Default"`, want: `dnsPolicy: Default`},
	"updateStrategy":                                   {value: `{"type":"Recreate"}`, want: `type: Recreate`},
	"resources":                                        {value: `{"limits":{"memory":"1Gi"}}`, want: `memory: 1Gi`},
	"securityContext":                                  {value: `{"privileged":false}`, want: `privileged: false`},
	"podSecurityContext":                               {value: `{"fsGroup":1}`, want: `fsGroup: 1`},
	"shutdownDelaySeconds":                             {value: `20`, want: `- "--shutdown-delay=20s"`},
	"logLevel":                                         {value: `"debug"`, want: `- "--log-level=debug"`},
	"metricsBindAddr":                                  {value: `"127.0.0.1:9090"`, want: `- {name: metrics, containerPort: 9090, protocol: TCP}`},
	"crds.enabled":                                     {value: `false`},
	"configureDefaultAffinity":                         {value: `false`},
	"rbac.create":                                      {value: `false`},

	"disableRestrictedSecurityGroupRules":          {value: `true`, want: `- "--disable-restricted-sg-rules=true"`},
	"enablePodReadinessGateInject":                 {value: `false`, want: `- "--enable-pod-readiness-gate-inject=false"`},
	"targetgroupbindingMaxConcurrentReconciles":    {value: `3`, want: `- "--targetgroupbinding-max-concurrent-reconciles=3"`},
	"targetgroupbindingMaxExponentialBackoffDelay": {value: `"9s"`, want: `- "--targetgroupbinding-max-exponential-backoff-delay=9s"`},
	"controllerConfig.featureGates":                {value: `{"EndpointsFailOpen":false}`, want: `- "--feature-gates=EndpointsFailOpen=false"`},
	"serviceAccount.annotations":                   {value: `{"eks.amazonaws.com/role-arn":"arn"}`, want: `eks.amazonaws.com/role-arn: arn`},
	"serviceAccount.automountServiceAccountToken":  {value: `false`, want: `automountServiceAccountToken: false`},
	"serviceAccount.imagePullSecrets":              {value: `[{"name":"pull"}]`, want: `- name: pull`},
	"objectSelector.matchExpressions":              {value: `[{"key":"tier","operator":"Exists"}]`, want: `- key: tier`},
	"objectSelector.matchLabels":                   {value: `{"tier":"web"}`, want: `tier: web`},
	"podMutatorWebhookConfig.failurePolicy":        {value: `"Fail"`},
	"terminationGracePeriodSeconds":                {value: `60`, want: `terminationGracePeriodSeconds: 60`},

	"certManager.duration":             {value: `"24h"`, with: []string{certManager}, want: `duration: 24h`},
	"certManager.renewBefore":          {value: `"8h"`, with: []string{certManager}, want: `renewBefore: 8h`},
	"certManager.issuerRef":            {value: `{"name":"ca"}`, with: []string{certManager}, want: `name: ca`},
	"certManager.revisionHistoryLimit": {value: `2`, with: []string{certManager}, want: `revisionHistoryLimit: 2`},
	"cluster.dnsDomain":                {value: `"a.b"`, with: []string{certManager}, want: `- targetgate-webhook.targetgate-system.svc.a.b`},
	"webhookTLS.caCert":                {value: `"CA"`, with: []string{`webhookTLS={"cert":"C","key":"K"}`}, want: `caBundle: Q0E=`},
	"webhookTLS.cert":                  {value: `"C"`, with: []string{`webhookTLS={"caCert":"CA","key":"K"}`}, want: `tls.crt: Qw==`},
	"webhookTLS.key":                   {value: `"K"`, with: []string{`webhookTLS={"caCert":"CA","cert":"C"}`}, want: `tls.key: Sw==`},

	"podDisruptionBudget.enabled":        {value: `false`},
	"podDisruptionBudget.minAvailable":   {value: `1`, want: `minAvailable: 1`},
	"podDisruptionBudget.maxUnavailable": {value: `"50%"`, want: `maxUnavailable: 50%`},

	"autoscaling.enabled":                        {value: `true`, want: `kind: HorizontalPodAutoscaler`},
	"autoscaling.minReplicas":                    {value: `3`, with: []string{`autoscaling.enabled=true`}, want: `minReplicas: 3`},
	"autoscaling.maxReplicas":                    {value: `9`, with: []string{`autoscaling.enabled=true`}, want: `maxReplicas: 9`},
	"autoscaling.targetCPUUtilizationPercentage": {value: `50`, with: []string{`autoscaling.enabled=true`}, want: `target: {type: Utilization, averageUtilization: 50}`},

	"nodeGuard.enabled":            {value: `true`, want: `kind: DaemonSet`},
	"nodeGuard.longestWaitSeconds": {value: `60`, with: []string{nodeGuard}, want: `args: [guard, "--longest-wait=60s"]`},
	"nodeGuard.nodeSelector":       {value: `{"disk":"ssd"}`, with: []string{nodeGuard}, want: `disk: ssd`},
	"nodeGuard.tolerations":        {value: `[{"key":"only"}]`, with: []string{nodeGuard}, want: `- key: only`},
	"nodeGuard.resources":          {value: `{"limits":{"memory":"32Mi"}}`, with: []string{nodeGuard}, want: `memory: 32Mi`},
	"nodeGuard.priorityClassName":  {value: `"high"`, with: []string{nodeGuard}, want: `priorityClassName: "high"`},
	"nodeGuard.podLabels":          {value: `{"sidecar":"no"}`, with: []string{nodeGuard}, want: `sidecar: "no"`},
	"nodeGuard.podAnnotations":     {value: `{"note":"a"}`, with: []string{nodeGuard}, want: `note: a`},
	"nodeGuard.updateStrategy":     {value: `{"type":"OnDelete"}`, with: []string{nodeGuard}, want: `type: OnDelete`},

	"serviceMonitor.enabled":           {value: `true`, want: `kind: ServiceMonitor`},
	"serviceMonitor.namespace":         {value: `"mon"`, with: []string{serviceMonitor}, want: `namespace: mon`},
	"serviceMonitor.additionalLabels":  {value: `{"prom":"a"}`, with: []string{serviceMonitor}, want: `prom: a`},
	"serviceMonitor.interval":          {value: `"9s"`, with: []string{serviceMonitor}, want: `interval: 9s`},
	"serviceMonitor.scrapeTimeout":     {value: `"9s"`, with: []string{serviceMonitor}, want: `scrapeTimeout: 9s`},
	"serviceMonitor.honorLabels":       {value: `false`, with: []string{serviceMonitor}, want: `honorLabels: false`},
	"serviceMonitor.relabelings":       {value: `[{"action":"drop"}]`, with: []string{serviceMonitor}, want: `- action: drop`},
	"serviceMonitor.metricRelabelings": {value: `[{"action":"drop"}]`, with: []string{serviceMonitor}, want: `- action: drop`},
	"prometheusRule.enabled":           {value: `true`, want: `- alert: TargetgateGatesWaiting`},
	"prometheusRule.namespace":         {value: `"mon"`, with: []string{`prometheusRule.enabled=true`}, want: `namespace: mon`},
	"prometheusRule.additionalLabels":  {value: `{"prom":"a"}`, with: []string{`prometheusRule.enabled=true`}, want: `prom: a`},
	"dashboard.enabled":                {value: `true`, want: `targetgate.json: |`},
	"dashboard.namespace":              {value: `"mon"`, with: []string{`dashboard.enabled=true`}, want: `namespace: mon`},
	"dashboard.labels":                 {value: `{"graf":"a"}`, with: []string{`dashboard.enabled=true`}, want: `graf: a`},
	"dashboard.annotations":            {value: `{"folder":"a"}`, with: []string{`dashboard.enabled=true`}, want: `folder: a`},
	"networkPolicy.enabled":            {value: `true`, want: `kind: NetworkPolicy`},
	"networkPolicy.webhookFrom":        {value: `[{"ipBlock":{"cidr":"10.9.0.0/24"}}]`, with: []string{`networkPolicy.enabled=true`}, want: `cidr: 10.9.0.0/24`},
	"networkPolicy.metricsFrom":        {value: `[{"podSelector":{}}]`, with: []string{`networkPolicy.enabled=true`}, want: `- podSelector: {}`},
	"networkPolicy.extraEgress":        {value: `[{"ports":[{"port":8443}]}]`, with: []string{`networkPolicy.enabled=true`}, want: `- port: 8443`},
}

const (
	certManager    = `enableCertManager=true`
	serviceMonitor = `serviceMonitor.enabled=true`
)

func TestValuesChangeWhatIsRendered(t *testing.T) {
	plain := render(t)
	for name, tc := range valueCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := render(t, append(tc.with, name+"="+tc.value)...)
			if got == plain {
				t.Error("it changes nothing")
			}
			objects(t, []byte(got)) // which fails on what is no YAML
			if tc.want == "" {
				return
			}
			if hasLine(plain, tc.want) {
				t.Errorf("line %q is there by default", tc.want)
			}
			if !hasLine(got, tc.want) {
				t.Errorf("there is no line %q", tc.want)
			}
		})
	}
}

// Values are floats, and are printed with an exponent unless told otherwise.
func TestNumbersAreWrittenOut(t *testing.T) {
	for _, number := range []string{"0.25", "2", "1000000", "1234567.5"} {
		if want := `value: "` + number + `"`; !hasLine(render(t, `env={"A":`+number+`}`), want) {
			t.Errorf("there is no line %q", want)
		}
	}
}

// An installation that is down must not keep out bindings of namespaces that are none of its own.
func TestBindingHooksAreAskedAboutWatchedNamespacesOnly(t *testing.T) {
	const selector = `values: ["a","b"]`
	for _, value := range []string{`["a","b"]`, `"a, b"`, `"a b,"`} {
		rendered := render(t, "watchNamespace="+value)
		if n := strings.Count(rendered, selector); n != 2 || !strings.Contains(rendered, `"--watch-namespace=a,b"`) {
			t.Errorf("with watchNamespace %s %d hooks have %s, want 2, and the flag the same", value, n, selector)
		}
	}
}

func hasLine(text, want string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == want {
			return true
		}
	}
	return false
}

// The schema, which is made from values.yaml, knows every value.
func TestEveryValueHasACase(t *testing.T) {
	root := readSchema(t)
	names := map[string]bool{}
	root.leaves("", names)
	for name := range names {
		if _, ok := valueCases[name]; !ok {
			t.Errorf("value %s has no case", name)
		}
	}
	for name := range valueCases {
		if !names[name] {
			t.Errorf("there is a case for %s, and no such value", name)
		}
	}
}

// property is a part of a JSON schema.
type property struct {
	Properties  map[string]property
	Description string
}

func readSchema(t *testing.T) (root property) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &root); err != nil {
		t.Fatal(err)
	}
	return root
}

func (p property) leaves(name string, into map[string]bool) {
	for child, below := range p.Properties {
		below.leaves(strings.TrimPrefix(name+"."+child, "."), into)
	}
	if len(p.Properties) == 0 && name != "global" && !strings.HasSuffix(p.Description, "Ignored.") {
		into[name] = true
	}
}

// The node guard and the job before an uninstall run what the Deployment runs.
func TestAllPodsHaveOneImage(t *testing.T) {
	for name, tc := range map[string]struct {
		values []string
		want   string
	}{
		"by its tag":    {[]string{`image.tag="v9"`}, "registry.example/targetgate:v9"},
		"by its digest": {[]string{`image.tag="v9"`, `image.digest="` + digest + `"`}, "registry.example/targetgate@" + digest},
	} {
		manifest := render(t, append(tc.values, nodeGuard, beside)...)
		found := regexp.MustCompile(`(?m)^ +image: "(.*)"$`).FindAllStringSubmatch(manifest, -1)
		if len(found) < 3 {
			t.Errorf("%s: %d containers, want those of the Deployment, the guard and the job", name, len(found))
		}
		for _, image := range found {
			if image[1] != tc.want {
				t.Errorf("%s: a container has %s, want %s", name, image[1], tc.want)
			}
		}
	}
}

// contract are the values of aws-load-balancer-controller's chart (v3.5) that keep name and meaning.
var contract = []string{
	"clusterName", "region", "vpcId", "replicaCount", "image.repository", "image.tag", "image.pullPolicy",
	"serviceAccount.create", "serviceAccount.name", "serviceAccount.annotations", "rbac.create", "resources", "nodeSelector", "tolerations", "affinity",
	"topologySpreadConstraints", "priorityClassName", "podLabels", "podAnnotations", "enablePodReadinessGateInject", "webhookBindPort",
	"webhookTLS.caCert", "webhookTLS.cert", "webhookTLS.key", "enableCertManager", "certManager.duration", "certManager.renewBefore",
	"certManager.issuerRef", "webhookNamespaceSelectors", "objectSelector", "podMutatorWebhookConfig.failurePolicy",
	"targetgroupbindingMaxConcurrentReconciles", "targetgroupbindingMaxExponentialBackoffDelay", "maxTargetsPerTargetGroup", "syncPeriod",
	"watchNamespace", "awsApiEndpoints", "awsApiThrottle", "awsMaxRetries", "metricsBindAddr", "serviceMonitor.enabled", "podDisruptionBudget",
	"disableRestrictedSecurityGroupRules", "serviceTargetENISGTags", "ingressClass", "createIngressClassResource", "ingressClassConfig.default",
	"ingressClassParams.create", "ingressClassParams.name", "ingressClassParams.spec", "defaultTargetType", "defaultLoadBalancerScheme",
	"defaultSSLPolicy", "defaultTags", "externalManagedTags", "enableShield", "enableWaf", "enableWafv2", "ingressMaxConcurrentReconciles",
	"disableIngressClassAnnotation", "disableIngressGroupNameAnnotation", "tolerateNonExistentBackendService", "tolerateNonExistentBackendAction",
	"webhookConfig.disableIngressValidation", "webhookConfig.ingressValdationFailurePolicy",
	"webhookConfig.ingressValidationObjectSelector", "webhookConfig.ingressValidationNamespaceSelector",
	"enableBackendSecurityGroup", "backendSecurityGroup", "enableManageBackendSecurityGroupRules", "certDiscovery.allowedCertificateAuthorityARNs",
	"certManagement.defaultPCAARN", "autoscaling.enabled", "autoscaling.minReplicas", "autoscaling.maxReplicas", "autoscaling.targetCPUUtilizationPercentage",
	"env", "envFrom", "extraVolumes", "extraVolumeMounts", "hostNetwork", "dnsPolicy", "controllerConfig.featureGates",
}

// A value that the chart lost, together with its case, would be missed here.
func TestValuesOfTheContractAreKept(t *testing.T) {
	root := readSchema(t)
	for _, name := range contract {
		p := root
		for part := range strings.SplitSeq(name, ".") {
			p = p.Properties[part]
		}
		if p.Description == "" && len(p.Properties) == 0 || strings.HasSuffix(p.Description, "Ignored.") {
			t.Errorf("there is no value %s, or it is ignored", name)
		}
	}
}

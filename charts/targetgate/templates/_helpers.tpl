{{- define "targetgate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Name of the webhooks' Service and of both configurations, and prefix of their Secrets' names. */}}
{{- define "targetgate.webhook" -}}
{{ include "targetgate.fullname" . }}-webhook
{{- end -}}

{{- define "targetgate.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "targetgate.fullname" .) }}
{{- end -}}

{{/* targetgate finds its own pods by the first label, whatever the release is called. */}}
{{- define "targetgate.selectorLabels" -}}
app.kubernetes.io/name: targetgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "targetgate.labels" -}}
{{ include "targetgate.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Metadata of an object: name, namespace, labels. */}}
{{- define "targetgate.metadata" -}}
name: {{ include "targetgate.fullname" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "targetgate.labels" . | nindent 2 }}
{{- end -}}

{{/* Annotations of what stays. Argo CD needs the second: by the first alone it deletes what the values no longer render. */}}
{{- define "targetgate.keep" -}}
helm.sh/resource-policy: keep
argocd.argoproj.io/sync-options: Delete=false,Prune=false
{{- end -}}

{{/* selfmade, cert-manager or given: where the webhooks' certificate comes from. */}}
{{- define "targetgate.certificates" -}}
{{- if .Values.enableCertManager -}}cert-manager
{{- else if .Values.webhookTLS.cert -}}given
{{- else -}}selfmade
{{- end -}}
{{- end -}}

{{/* Name of the lease, as targetgate chooses it by default. */}}
{{- define "targetgate.lease" -}}
{{ .Values.leaderElectionID | default (ternary "targetgate-leader" "aws-load-balancer-controller-leader" .Values.beside.enabled) }}
{{- end -}}

{{- define "targetgate.webhookPort" -}}
{{ .Values.webhookBindPort | default 9443 | int }}
{{- end -}}

{{/* The image, by its digest if that is given, else by its tag. */}}
{{- define "targetgate.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Secrets for pulling the image. Pods that name some do not get those of their service account. */}}
{{- define "targetgate.imagePullSecrets" -}}
{{- with concat (.Values.imagePullSecrets | default list) (.Values.serviceAccount.imagePullSecrets | default list) | uniq -}}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* The metrics port; 0 if metrics are disabled. */}}
{{- define "targetgate.metricsPort" -}}
{{ .Values.metricsBindAddr | default ":8080" | toString | splitList ":" | last | int }}
{{- end -}}

{{- define "targetgate.probePort" -}}
61779
{{- end -}}

{{/* Egress of pods that ask the API server alone. */}}
{{- define "targetgate.apiServerEgress" -}}
- ports:
    - {port: 443, protocol: TCP}
    - {port: 6443, protocol: TCP}
{{- with .Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A flag's value as text. Numbers from a values file are floats, which JSON writes out; lists are joined by commas. */}}
{{- define "targetgate.text" -}}
{{- if kindIs "slice" . -}}{{ join "," . }}
{{- else if kindIs "float64" . -}}{{ toJson . }}
{{- else if not (kindIs "invalid" .) -}}{{ . }}
{{- end -}}
{{- end -}}

{{/* The namespaces, with a comma between each two. */}}
{{- define "targetgate.watchNamespaces" -}}
{{- with include "targetgate.text" .Values.watchNamespace }}{{ regexSplit "[, ]+" (trimAll ", " .) -1 | join "," }}{{ end -}}
{{- end -}}

{{/* Bindings in namespaces that are not watched belong to another installation, and must not depend on this one running. */}}
{{- define "targetgate.bindingNamespaces" -}}
{{- with include "targetgate.watchNamespaces" . }}
namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: In
      values: {{ splitList "," . | toJson }}
{{- end }}
{{- end -}}

{{/* The arguments. Unset values keep targetgate's own defaults. */}}
{{- define "targetgate.args" -}}
{{- $gates := list -}}
{{- range $gate, $on := .Values.controllerConfig.featureGates -}}
{{- $gates = append $gates (printf "%s=%v" $gate $on) -}}
{{- end -}}
{{- $selfmade := eq (include "targetgate.certificates" .) "selfmade" -}}
{{- $flags := list
  (list "cluster-name" .Values.clusterName)
  (list "aws-region" .Values.region)
  (list "aws-vpc-id" .Values.vpcId)
  (list "aws-api-endpoints" .Values.awsApiEndpoints)
  (list "aws-api-throttle" .Values.awsApiThrottle)
  (list "aws-max-retries" .Values.awsMaxRetries)
  (list "aws-role-session-name" .Values.awsRoleSessionName)
  (list "aws-role-session-tags" (ternary true nil (eq true .Values.awsRoleSessionTags)))
  (list "beside" (ternary true nil .Values.beside.enabled))
  (list "open-incumbent-gates" (ternary true nil (eq true .Values.beside.openIncumbentGates)))
  (list "enable-pod-readiness-gate-inject" .Values.enablePodReadinessGateInject)
  (list "termination-delay-alb" .Values.terminationDelayALB)
  (list "termination-delay-nlb" .Values.terminationDelayNLB)
  (list "deregistration-lead-alb" .Values.deregistrationLeadALB)
  (list "deregistration-lead-nlb" .Values.deregistrationLeadNLB)
  (list "keep-until-replaced" (ternary false nil (eq false .Values.keepUntilReplaced)))
  (list "min-ready-percent" .Values.minReadyPercent)
  (list "load-balancer-gate-prefixes" .Values.loadBalancerGatePrefixes)
  (list "replacement-timeout" .Values.replacementTimeout)
  (list "unattached-target-group" .Values.unattachedTargetGroup)
  (list "readiness-timeout" .Values.readinessTimeout)
  (list "readiness-two-way" (ternary true nil (eq true .Values.readinessTwoWay)))
  (list "target-group-consent" (ternary nil .Values.targetGroupConsent (eq "false" (toString .Values.targetGroupConsent))))
  (list "role-allowlist" (ternary nil "/etc/targetgate/roles/roles.yaml" (kindIs "invalid" .Values.roleAllowlist)))
  (list "drift-interval" .Values.driftInterval)
  (list "security-group-rules" (ternary false nil (eq false .Values.securityGroupRules)))
  (list "disable-restricted-sg-rules" (ternary true nil (eq true .Values.disableRestrictedSecurityGroupRules)))
  (list "service-target-eni-security-group-tags" .Values.serviceTargetENISGTags)
  (list "security-group-rule-quota" .Values.securityGroupRuleQuota)
  (list "targetgroupbinding-max-concurrent-reconciles" .Values.targetgroupbindingMaxConcurrentReconciles)
  (list "targetgroupbinding-max-exponential-backoff-delay" .Values.targetgroupbindingMaxExponentialBackoffDelay)
  (list "max-targets-per-target-group" .Values.maxTargetsPerTargetGroup)
  (list "sync-period" .Values.syncPeriod)
  (list "watch-namespace" (include "targetgate.watchNamespaces" .))
  (list "feature-gates" $gates)
  (list "webhook-bind-port" .Values.webhookBindPort)
  (list "webhook-cert-dir" (ternary nil "/etc/targetgate/webhook" $selfmade))
  (list "webhook-service-name" (ternary (include "targetgate.webhook" .) nil $selfmade))
  (list "webhook-configuration-name" (include "targetgate.webhook" .))
  (list "webhook-ca-secret-name" (ternary (printf "%s-ca" (include "targetgate.webhook" .)) nil $selfmade))
  (list "webhook-ca-duration" .Values.webhookCADuration)
  (list "webhook-cert-duration" .Values.webhookCertDuration)
  (list "webhook-secret-paths" (ternary true nil (eq true .Values.webhookSecretPaths)))
  (list "leader-election-id" .Values.leaderElectionID)
  (list "metrics-bind-addr" .Values.metricsBindAddr)
  (list "shutdown-delay" (printf "%ds" (int .Values.shutdownDelaySeconds)))
  (list "log-level" .Values.logLevel)
-}}
{{- if .Values.provision -}}
{{- $tags := list -}}
{{- range $key, $value := .Values.defaultTags -}}
{{- $tags = append $tags (printf "%s=%v" $key $value) -}}
{{- end -}}
{{- $flags = concat $flags (list
  (list "provision" true)
  (list "default-load-balancer-scheme" .Values.defaultLoadBalancerScheme)
  (list "default-target-type" .Values.defaultTargetType)
  (list "default-ssl-policy" .Values.defaultSSLPolicy)
  (list "default-tags" $tags)
  (list "external-managed-tags" .Values.externalManagedTags)
  (list "enable-backend-security-group" .Values.enableBackendSecurityGroup)
  (list "backend-security-group" .Values.backendSecurityGroup)
  (list "enable-manage-backend-security-group-rules" .Values.enableManageBackendSecurityGroupRules)
  (list "tolerate-non-existent-backend-service" .Values.tolerateNonExistentBackendService)
  (list "tolerate-non-existent-backend-action" .Values.tolerateNonExistentBackendAction)
  (list "add-zones" .Values.addZones)
  (list "reset-attributes" .Values.resetAttributes)
  (list "required-secrets-label" .Values.requiredSecretsLabel)
  (list "allowed-certificate-authority-arns" .Values.certDiscovery.allowedCertificateAuthorityARNs)
  (list "default-pca-arn" .Values.certManagement.defaultPCAARN)
  (list "enable-shield" .Values.enableShield)
  (list "enable-waf" .Values.enableWaf)
  (list "enable-wafv2" .Values.enableWafv2)
  (list "disable-ingress-class-annotation" .Values.disableIngressClassAnnotation)
  (list "ignore-ingress-class-annotation" .Values.ignoreIngressClassAnnotation)
  (list "disable-ingress-group-name-annotation" .Values.disableIngressGroupNameAnnotation)
  (list "ingress-max-concurrent-reconciles" .Values.ingressMaxConcurrentReconciles)
  (list "ingress-drift-interval" .Values.ingressDriftInterval)
  (list "load-balancer-rule-quota" .Values.loadBalancerRuleQuota)
  (list "load-balancer-certificate-quota" .Values.loadBalancerCertificateQuota)
  (list "frontend-nlb-target-quota" .Values.frontendNlbTargetQuota)
  (list "orphan-grace" .Values.orphanGrace)
  (list "load-balancer-settle-time" .Values.loadBalancerSettleTime)
) -}}
{{- end -}}
{{- range $flags }}
{{- $text := include "targetgate.text" (last .) }}
{{- if $text }}
- {{ printf "--%s=%s" (first .) $text | quote }}
{{- end }}
{{- end }}
{{- if .Values.provision }}
- {{ printf "--ingress-class=%s" .Values.ingressClass | quote }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Values that contradict each other fail the render: all of them at once, each with a sentence. */}}
{{- define "targetgate.validate" -}}
{{- $faults := list -}}
{{- $tls := .Values.webhookTLS -}}
{{- $given := compact (list $tls.caCert $tls.cert $tls.key) | len -}}
{{- $budget := .Values.podDisruptionBudget -}}
{{- $metrics := include "targetgate.metricsPort" . | int -}}
{{- $webhook := include "targetgate.webhookPort" . | int -}}
{{- $probes := include "targetgate.probePort" . | int -}}
{{- $replicas := ternary .Values.autoscaling.minReplicas .Values.replicaCount .Values.autoscaling.enabled | int -}}
{{- $known := concat (.Files.Get "files/known-values.yaml" | fromYamlArray) (.Files.Get "files/ignored-values.yaml" | fromYamlArray) -}}
{{- $unknown := list -}}
{{- range keys .Values | sortAlpha -}}
{{- if not (has . $known) -}}{{- $unknown = append $unknown . -}}{{- end -}}
{{- end -}}
{{- with $unknown -}}
{{- $faults = append $faults (printf "No such value: %s. If it is of aws-load-balancer-controller's chart, targetgate has no use for it: leave it out." (join ", " .)) -}}
{{- end -}}
{{- if has "envSecretName" $unknown -}}
{{- $faults = append $faults "In place of envSecretName give a Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY by envFrom." -}}
{{- end -}}
{{- if not .Values.clusterName -}}
{{- $faults = append $faults "clusterName is required: set it to the name of the EKS cluster." -}}
{{- end -}}
{{- if contains "aws-load-balancer-controller" .Values.image.repository -}}
{{- $faults = append $faults (printf "image.repository is %s: that is another program's; set image.repository and image.tag to targetgate's, or leave them out." .Values.image.repository) -}}
{{- end -}}
{{- if not (has $given (list 0 3)) -}}
{{- $faults = append $faults "webhookTLS needs caCert, cert and key: set all three, or none and targetgate makes its own." -}}
{{- end -}}
{{- if and .Values.enableCertManager $given -}}
{{- $faults = append $faults "enableCertManager and webhookTLS exclude each other: the certificate comes from one of them." -}}
{{- end -}}
{{- if and .Values.webhookSecretPaths (ne (include "targetgate.certificates" .) "selfmade") -}}
{{- $faults = append $faults "webhookSecretPaths is for certificates that targetgate makes: with enableCertManager or webhookTLS it writes no webhook configuration." -}}
{{- end -}}
{{- if and (or .Values.webhookCADuration .Values.webhookCertDuration) (ne (include "targetgate.certificates" .) "selfmade") -}}
{{- $faults = append $faults "webhookCADuration and webhookCertDuration are for certificates that targetgate makes: with enableCertManager or webhookTLS they mean nothing." -}}
{{- end -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) (add 15 (int .Values.shutdownDelaySeconds) | int) -}}
{{- $faults = append $faults (printf "terminationGracePeriodSeconds is %d: it has to be 15 more than shutdownDelaySeconds (%d), or targetgate is killed while it still answers the API server." (int .Values.terminationGracePeriodSeconds) (int .Values.shutdownDelaySeconds)) -}}
{{- end -}}
{{- if and $budget.enabled (not (kindIs "invalid" $budget.minAvailable)) (not (kindIs "invalid" $budget.maxUnavailable)) -}}
{{- $faults = append $faults "podDisruptionBudget has minAvailable and maxUnavailable: Kubernetes takes one of them." -}}
{{- end -}}
{{- if and $budget.enabled (or (kindIs "float64" $budget.minAvailable) (kindIs "int64" $budget.minAvailable)) -}}
{{- if ge (int $budget.minAvailable) $replicas -}}
{{- $faults = append $faults (printf "podDisruptionBudget.minAvailable is %d of %d replicas: no node with one of them could be drained." (int $budget.minAvailable) $replicas) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- $faults = append $faults (printf "autoscaling.minReplicas (%d) is more than maxReplicas (%d)." (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (not (dig "requests" "cpu" "" .Values.resources)) -}}
{{- $faults = append $faults "autoscaling needs resources.requests.cpu: it scales by the CPU in percent of that." -}}
{{- end -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- $faults = append $faults "serviceAccount.create is false: set serviceAccount.name to the one that exists, or every pod of the namespace would get targetgate's permissions." -}}
{{- end -}}
{{- range .Values.extraArgs -}}
{{- if hasPrefix "--leader-election-id" (toString .) -}}
{{- $faults = append $faults "extraArgs has --leader-election-id: set leaderElectionID, which grants the right to that lease, too." -}}
{{- end -}}
{{- end -}}
{{- if and (eq $metrics 0) (or .Values.serviceMonitor.enabled .Values.prometheusRule.enabled) -}}
{{- $faults = append $faults "serviceMonitor and prometheusRule need metrics: metricsBindAddr switches them off." -}}
{{- end -}}
{{- if ne (list $metrics $webhook $probes | uniq | len) 3 -}}
{{- $faults = append $faults (printf "Ports collide: webhookBindPort %d, metricsBindAddr %d, probes %d." $webhook $metrics $probes) -}}
{{- end -}}
{{- if and .Values.hostNetwork .Values.networkPolicy.enabled -}}
{{- $faults = append $faults "networkPolicy has no effect on pods with hostNetwork: use one of them." -}}
{{- end -}}
{{- range list "metricsFrom" "webhookFrom" -}}
{{- if and (get $.Values.networkPolicy .) (not $.Values.networkPolicy.enabled) -}}
{{- $faults = append $faults (printf "networkPolicy.%s limits nothing while networkPolicy.enabled is false." .) -}}
{{- end -}}
{{- end -}}
{{- if $faults -}}
{{- fail (printf "\n\n%s\n" (join "\n" $faults)) -}}
{{- end -}}
{{- end -}}

{{/* Contradictory values fail the render with one message each, all at once. */}}
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
{{- $faults = append $faults (printf "No such value: %s. If it comes from aws-load-balancer-controller's chart, remove it: targetgate does not use it." (join ", " .)) -}}
{{- end -}}
{{- if has "envSecretName" $unknown -}}
{{- $faults = append $faults "Instead of envSecretName, set envFrom to a Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY." -}}
{{- end -}}
{{- if not .Values.clusterName -}}
{{- $faults = append $faults "clusterName is required: set it to the name of the EKS cluster." -}}
{{- end -}}
{{- $repository := .Values.image.repository | default "" -}}
{{- if not $repository -}}
{{- $faults = append $faults "image.repository is required, as no image is published yet: build one of config/image/Dockerfile, push it to a registry that your nodes pull from, and set image.repository to its name and image.tag or image.digest to what you have pushed." -}}
{{- else if contains "aws-load-balancer-controller" $repository -}}
{{- $faults = append $faults (printf "image.repository is %s, which is not targetgate: set image.repository, and image.tag or image.digest, to targetgate's image." $repository) -}}
{{- else if or (contains "@" $repository) (contains ":" (splitList "/" $repository | last)) -}}
{{- $faults = append $faults (printf "image.repository is %s, with a tag or a digest: leave the name alone there, and set image.tag or image.digest." $repository) -}}
{{- end -}}
{{- if not (has $given (list 0 3)) -}}
{{- $faults = append $faults "webhookTLS needs caCert, cert and key: set all three, or none to have targetgate create its own certificate." -}}
{{- end -}}
{{- if and .Values.enableCertManager $given -}}
{{- $faults = append $faults "enableCertManager and webhookTLS exclude each other: set one of them." -}}
{{- end -}}
{{- if and .Values.webhookSecretPaths (ne (include "targetgate.certificates" .) "selfmade") -}}
{{- $faults = append $faults "webhookSecretPaths works only with certificates that targetgate creates: with enableCertManager or webhookTLS, targetgate does not write the webhook configurations." -}}
{{- end -}}
{{- if and (or .Values.webhookCADuration .Values.webhookCertDuration) (ne (include "targetgate.certificates" .) "selfmade") -}}
{{- $faults = append $faults "webhookCADuration and webhookCertDuration work only with certificates that targetgate creates: remove them, or enableCertManager or webhookTLS." -}}
{{- end -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) (add 15 (int .Values.shutdownDelaySeconds) | int) -}}
{{- $faults = append $faults (printf "terminationGracePeriodSeconds is %d: it must be at least 15 more than shutdownDelaySeconds (%d), or targetgate is killed while it still answers the API server." (int .Values.terminationGracePeriodSeconds) (int .Values.shutdownDelaySeconds)) -}}
{{- end -}}
{{- if and $budget.enabled (not (kindIs "invalid" $budget.minAvailable)) (not (kindIs "invalid" $budget.maxUnavailable)) -}}
{{- $faults = append $faults "podDisruptionBudget has minAvailable and maxUnavailable: Kubernetes accepts only one of them." -}}
{{- end -}}
{{- if and $budget.enabled (not (kindIs "invalid" $budget.minAvailable)) -}}
{{- $least := toString $budget.minAvailable -}}
{{- $kept := int $least -}}
{{- if hasSuffix "%" $least -}}
{{- $kept = div (add 99 (mul $replicas (trimSuffix "%" $least | int))) 100 | int -}}
{{- end -}}
{{- if ge $kept $replicas -}}
{{- $faults = append $faults (printf "podDisruptionBudget.minAvailable is %s of %d replicas: no node with a replica could be drained." $least $replicas) -}}
{{- end -}}
{{- end -}}
{{- if and $budget.enabled (has (toString $budget.maxUnavailable) (list "0" "0%")) -}}
{{- $faults = append $faults (printf "podDisruptionBudget.maxUnavailable is %v: no node with a replica could be drained." $budget.maxUnavailable) -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- $faults = append $faults (printf "autoscaling.minReplicas (%d) is more than maxReplicas (%d)." (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) -}}
{{- end -}}
{{- if and .Values.autoscaling.enabled (not (dig "requests" "cpu" "" .Values.resources)) -}}
{{- $faults = append $faults "autoscaling needs resources.requests.cpu: it scales by CPU in percent of that request." -}}
{{- end -}}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) -}}
{{- $faults = append $faults "serviceAccount.create is false: set serviceAccount.name to an existing service account, or every pod in the namespace gets targetgate's permissions." -}}
{{- end -}}
{{- if .Values.beside.enabled -}}
{{- if semverCompare "<1.30-0" .Capabilities.KubeVersion.Version -}}
{{- $faults = append $faults "beside needs Kubernetes 1.30, for ValidatingAdmissionPolicy." -}}
{{- end -}}
{{- if eq (include "targetgate.lease" .) "aws-load-balancer-controller-leader" -}}
{{- $faults = append $faults "beside.enabled needs a lease of its own: remove leaderElectionID, aws-load-balancer-controller holds that one." -}}
{{- end -}}
{{- if include "targetgate.text" .Values.watchNamespace -}}
{{- $faults = append $faults "beside.enabled and watchNamespace exclude each other: bindings of other namespaces may have the same target group, and must be seen. Remove watchNamespace: the label targetgate.dev/register says in which namespaces targetgate registers." -}}
{{- end -}}
{{- if or (not .Values.beside.incumbentUser) (contains "'" .Values.beside.incumbentUser) -}}
{{- $faults = append $faults "beside.incumbentUser must be the user name of aws-load-balancer-controller, such as system:serviceaccount:NAMESPACE:NAME." -}}
{{- end -}}
{{- end -}}
{{- if and .Values.provision .Values.beside.enabled -}}
{{- $faults = append $faults "provision and beside.enabled exclude each other: aws-load-balancer-controller makes the load balancers there." -}}
{{- end -}}
{{- if and .Values.beside.openIncumbentGates (not .Values.beside.enabled) -}}
{{- $faults = append $faults "beside.openIncumbentGates has no effect without beside.enabled." -}}
{{- end -}}
{{- range .Values.extraArgs -}}
{{- if eq "--beside" (toString . | splitList "=" | first) -}}
{{- $faults = append $faults "extraArgs has --beside: set beside.enabled, which also installs the policy that keeps aws-load-balancer-controller from bindings." -}}
{{- end -}}
{{- if eq "--provision" (toString . | splitList "=" | first) -}}
{{- $faults = append $faults "extraArgs has --provision: set provision, which also grants what it needs." -}}
{{- end -}}
{{- if hasPrefix "--leader-election-id" (toString .) -}}
{{- $faults = append $faults "extraArgs has --leader-election-id: set leaderElectionID, which also grants access to that lease." -}}
{{- end -}}
{{- end -}}
{{- if and (eq $metrics 0) (or .Values.serviceMonitor.enabled .Values.prometheusRule.enabled) -}}
{{- $faults = append $faults "serviceMonitor and prometheusRule need metrics: metricsBindAddr disables them." -}}
{{- end -}}
{{- if ne (list $metrics $webhook $probes | uniq | len) 3 -}}
{{- $faults = append $faults (printf "Ports collide: webhookBindPort %d, metricsBindAddr %d, probes %d." $webhook $metrics $probes) -}}
{{- end -}}
{{- if and .Values.hostNetwork .Values.networkPolicy.enabled -}}
{{- $faults = append $faults "networkPolicy has no effect on pods with hostNetwork: set one of them." -}}
{{- end -}}
{{- range list "metricsFrom" "webhookFrom" -}}
{{- if and (get $.Values.networkPolicy .) (not $.Values.networkPolicy.enabled) -}}
{{- $faults = append $faults (printf "networkPolicy.%s has no effect while networkPolicy.enabled is false." .) -}}
{{- end -}}
{{- end -}}
{{- with .Values.nodeGuard -}}
{{- if .enabled -}}
{{- range .tolerations -}}
{{- $key := .key | default "" -}}
{{- if and (has (.effect | default "") (list "" "NoSchedule")) (has $key (list "" "karpenter.sh/disrupted" "ToBeDeletedByClusterAutoscaler")) -}}
{{- $faults = append $faults (printf "nodeGuard.tolerations: %s tolerates the taints of nodes that go, so that Karpenter would not wait for the guard, and a new one would come after it: name each other taint by its key." (toJson .)) -}}
{{- end -}}
{{- end -}}
{{- if has .priorityClassName (list "system-node-critical" "system-cluster-critical") -}}
{{- $faults = append $faults (printf "nodeGuard.priorityClassName is %s: guards would leave together with the pods that forward requests on the node. Remove it, or name a class with a value below 2000000000." .priorityClassName) -}}
{{- end -}}
{{- with include "targetgate.watchNamespaces" $ -}}
{{- if not (has $.Release.Namespace (splitList "," .)) -}}
{{- $faults = append $faults (printf "nodeGuard.enabled needs %s in watchNamespace: targetgate answers the guards, which are there." $.Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $faults -}}
{{- fail (printf "\n\n%s\n" (join "\n" $faults)) -}}
{{- end -}}
{{- end -}}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

const intro = `<!-- Generated from values.yaml by ` + "`make generate`" + `. -->
# Chart targetgate

` + "```sh" + `
helm install targetgate charts/targetgate --namespace targetgate-system --create-namespace \
  --set image.repository=IMAGE,image.tag=TAG,clusterName=NAME,region=REGION,vpcId=VPC-ID
  # with IRSA also: --set 'serviceAccount.annotations.eks\.amazonaws\.com/role-arn=ARN'
` + "```" + `

The [README](../../README.md#install) says how to build the image and create the IAM role.

**Does aws-load-balancer-controller run in this cluster, in any namespace? Then follow [BESIDE.md](BESIDE.md), to work beside it, or
[MOVING.md](MOVING.md), to replace it.** Otherwise both would register and deregister. If only its CRD is left, add
` + "`--take-ownership`" + ` (Helm 3.17 or later), and with Helm 4 also ` + "`--force-conflicts`" + `, so that the CRD gets this chart's
status fields and columns.

Contradictory and unknown values fail the render with a message for each.

## Upgrade, rollback and uninstall

` + "`helm upgrade`" + ` replaces the replicas one by one and upgrades the CRD. The other replicas keep answering admission reviews, and the
leader hands over when it terminates. Open gates stay open, and ` + "`caBundle`" + ` is left alone, because targetgate owns it.
` + "`helm rollback`" + ` does the same with the older chart and also rolls back the CRD: bindings lose the fields that the older CRD does
not know.

` + "`helm uninstall`" + ` keeps bindings and registered targets, with ` + "`provision`" + ` also Ingresses and load balancers, and these
objects:

- the CRD of bindings; with ` + "`provision`" + ` the CRD of IngressClassParams, the IngressClass and its IngressClassParams;
- the ConfigMap ` + "`targetgate-security-group-rules`" + `, the Secret ` + "`targetgate-webhook-ca`" + `, the Lease and the ConfigMaps
  ` + "`aws-lbc-targets-*`" + `.

From then on pods are created without gates, new pods are not registered and old pods are not deregistered: the next rollout loses
requests. Therefore:

- To continue with aws-load-balancer-controller, follow [MOVING.md](MOVING.md#move-back) if both are in the same namespace: that
  controller then waits for the lease. In another namespace nothing keeps it from working beside targetgate, so start it right after the
  uninstall. It takes over bindings, targets and finalizers.
- To stop for good, first delete the bindings, so that targetgate deregisters their targets and opens their gates. With
  ` + "`provision`" + `, first delete the Ingresses: targetgate makes their bindings again, and their finalizers go only with their
  load balancers.
  Uninstall when no binding is left, no Ingress of targetgate's class, and no security group with the tag
  ` + "`elbv2.k8s.aws/cluster`" + ` ([INGRESS.md](INGRESS.md)): AWS lets these go some minutes after their load balancers.
- A pod that waits for its gate keeps waiting. Delete it: its replacement has no gate.

With ` + "`nodeGuard.enabled`" + `, guards notice an uninstall and leave some 10 s later. Nodes that go then are not kept.

With ` + "`beside.enabled`" + `, an uninstall first gives all bindings back to aws-load-balancer-controller
([BESIDE.md](BESIDE.md#move-it-back)).

A binding that you delete after the uninstall stays in deletion, and so does its namespace: the finalizer
` + "`elbv2.k8s.aws/resources`" + ` waits until its targets are deregistered. An Ingress waits in the same way until its load
balancer is deleted. Install targetgate again, and it does both. Otherwise deregister the targets yourself, then release the binding
as below. An Ingress that is released like that leaves its load balancer, which ` + "`kubectl targetgate orphans`" + ` lists and deletes.

` + "```sh" + `
kubectl patch targetgroupbinding NAME --namespace NAMESPACE --type merge --patch '{"metadata":{"finalizers":null}}'
` + "```" + `
`

const ignoredIntro = `
## Ignored

These values of aws-load-balancer-controller's chart are accepted and ignored:
`

// readme returns a table of the values for each section, in the order of the file.
func readme(values []*value, ignored []string) []byte {
	out := bytes.NewBufferString(intro)
	for _, v := range values {
		if v.section != "" {
			fmt.Fprintf(out, "\n## %s\n\n| value | default | meaning |\n|---|---|---|\n", v.section)
		}
		writeRows(out, "", v)
	}
	out.WriteString(ignoredIntro)
	for i, name := range ignored {
		separator := ",\n"
		if i == len(ignored)-1 {
			separator = ".\n"
		}
		fmt.Fprintf(out, "`%s`%s", name, separator)
	}
	return out.Bytes()
}

func writeRows(out *bytes.Buffer, prefix string, v *value) {
	name := prefix + v.name
	if v.text != "" { // a map with documented entries need not have one
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", name, shown(v), strings.ReplaceAll(v.text, "|", `\|`))
	}
	for _, child := range v.children {
		writeRows(out, name+".", child)
	}
}

// shown returns a default as JSON, or "" if there is none or its entries are documented one by one.
func shown(v *value) string {
	if !v.leaf() || v.fallback == nil || v.fallback == "" {
		return ""
	}
	content, err := json.Marshal(v.fallback)
	if err != nil {
		return fmt.Sprint(v.fallback)
	}
	return "`" + string(content) + "`"
}

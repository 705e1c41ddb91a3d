// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

const intro = `<!-- Made from values.yaml by ` + "`make generate`" + `. -->
# Chart targetgate

` + "```sh" + `
helm install targetgate charts/targetgate --namespace targetgate-system --create-namespace \
  --set image.repository=IMAGE,image.tag=TAG,clusterName=NAME,region=REGION,vpcId=VPC-ID
  # with IRSA also: --set 'serviceAccount.annotations.eks\.amazonaws\.com/role-arn=ARN'
` + "```" + `

The [README](../../README.md#install) says how to make the image and the IAM role.

**Does aws-load-balancer-controller run in this cluster, in whatever namespace? Then follow [MOVING.md](MOVING.md).** Only in
its own namespace do the two share a lease; elsewhere both would register and deregister. Where only its CRD is left, add
` + "`--take-ownership`" + ` (from Helm 3.17 on), and with Helm 4 also ` + "`--force-conflicts`" + `, so that the CRD gets this chart's
status fields and columns.

Values that contradict each other, and unknown ones, fail the render with a sentence.

## Upgrade, rollback and uninstall

` + "`helm upgrade`" + ` replaces one replica after another, and upgrades the CRD. The others go on answering admission reviews, and the
one that works on bindings hands that over when it goes. Gates that are open stay open, and ` + "`caBundle`" + ` is left alone, as it
is targetgate's. ` + "`helm rollback`" + ` does the same with the older chart, and takes back the CRD, too: what that one does not know
is no longer in bindings.

` + "`helm uninstall`" + ` leaves bindings, their CRD and registered targets as they are, and what targetgate has made itself: the Secret
` + "`targetgate-webhook-ca`" + `, its Lease, the ConfigMaps ` + "`aws-lbc-targets-*`" + `. From then on pods are created without gates, and
nobody registers a new pod or deregisters an old one: the next rollout loses requests. Therefore:

- To go on with aws-load-balancer-controller, start it right after. It takes over bindings, targets and finalizers.
- To stop for good, delete the bindings while targetgate is there to deregister their targets and open their gates, and
  uninstall when none is left.
- A pod that was waiting for its gate goes on waiting. Delete it: the next one has no gate.

A binding that is deleted after the uninstall stays, being deleted, and so does its namespace: the finalizer
` + "`elbv2.k8s.aws/resources`" + ` waits for somebody to deregister its targets. Install targetgate again, and it does that. Otherwise
deregister them yourself, and then release the binding:

` + "```sh" + `
kubectl patch targetgroupbinding NAME --namespace NAMESPACE --type merge --patch '{"metadata":{"finalizers":null}}'
` + "```" + `
`

const ignoredIntro = `
## Ignored

These values of aws-load-balancer-controller's chart are accepted and mean nothing here:
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

// shown is a default as JSON; nothing when there is none, or when it is told entry by entry.
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

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package admission

import (
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// fieldValues are what a field of a spec is set to, as JSON; "" takes it away.
var fieldValues = map[string][]string{
	"serviceRef": {
		``, `"x"`, `{}`, `null`, `{"name":"","port":80}`, `{"name":"web"}`, `{"name":5,"port":80}`, `{"name":"web","port":true}`, `{"name":"web","port":1.5}`,
		`{"name":"web","port":80.0}`, `{"name":"web","port":null}`, `{"name":"` + long(254) + `","port":80}`, `{"name":"web","port":"` + long(254) + `"}`,
	},
	"targetGroupARN":          {``, `""`, `"arn"`, `5`, `"` + long(2049) + `"`, `"arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/none/0123456789abcdef"`},
	"targetGroupName":         {`"none"`, `"` + long(33) + `"`, `{}`, `"ä"`},
	"targetType":              {``, `""`, `"alb"`, `"instance"`, `["ip"]`},
	"ipAddressType":           {``, `""`, `"ipv5"`, `"ipv6"`, `4`},
	"targetGroupProtocol":     {``, `""`, `"GENEVE"`, `"QUIC"`, `"TCP"`, `null`},
	"vpcID":                   {``, `""`, `"vpc-1"`, `"vpc-11111111"`, `true`},
	"iamRoleArnToAssume":      {`"shared"`, `"` + long(2049) + `"`, `[]`},
	"assumeRoleExternalId":    {`"` + long(1225) + `"`, `5`},
	"multiClusterTargetGroup": {`"true"`, `null`, `true`},
	"nodeSelector": {
		`{}`, `{"matchLabels":5}`, `{"matchLabels":{"a":5}}`, `{"matchExpressions":[{}]}`, `{"matchExpressions":[{"key":"a","operator":"In","values":[5]}]}`,
		`{"matchExpressions":[` + repeated(`{"key":"a","operator":"Exists"}`, 33) + `]}`,
	},
	"networking": {
		`5`, `{"ingress":{}}`, `{"ingress":null}`, `{"ingress":[{}]}`, `{"ingress":[null]}`, `{"ingress":[{"from":null,"ports":[]}]}`,
		rule(`{"ipBlock":{"cidr":"10.0.0.0/33"}}`, ``), rule(`{"ipBlock":{}}`, ``), rule(`{}`, ``), rule(`{"ipBlock":{"cidr":"10.0.0.0/8"},"securityGroup":{"groupID":"sg-1"}}`, ``),
		rule(`{"securityGroup":{"groupID":"`+long(256)+`"}}`, ``), rule(``, `{"protocol":"ICMP"}`), rule(``, `{"port":1.5}`), rule(``, repeated(`{}`, 251)),
		rule(repeated(`{"ipBlock":{"cidr":"10.0.0.0/8"}}`, 1001), ``), rule(`{"ipBlock":{"cidr":"`+long(65)+`"}}`, ``),
	},
}

func long(n int) string               { return strings.Repeat("a", n) }
func repeated(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }
func rule(peers, ports string) string {
	return `{"ingress":[{"from":[` + peers + `],"ports":[` + ports + `]}]}`
}

// Whatever the CRD would refuse of a new binding or of a change, alone or together: the mutating webhook refuses it first, with 403, unless
// all that is wrong is that the change takes a new binding.
func TestWhatTheCRDRefusesIsRefusedBefore(t *testing.T) {
	letPastAdmission(t)
	asked, unasked := suite.NewApp("asked"), suite.NewApp("not-asked")
	unasked.Change = func(b *v1beta1.TargetGroupBinding) {
		b.Labels = map[string]string{pastAdmission: ""}
		suite.Complete(&b.Spec)
	}
	for _, app := range []*testbed.App{asked, unasked} {
		app.Replicas = 0
		bed.Deploy(t, app)
	}
	random := rand.New(rand.NewPCG(1, 2))
	fields := slices.Sorted(maps.Keys(fieldValues))
	refused := 0
	for i := range 300 {
		changes := map[string]string{}
		for range 1 + random.IntN(2) {
			field := fields[random.IntN(len(fields))]
			changes[field] = fieldValues[field][random.IntN(len(fieldValues[field]))]
		}
		for _, operation := range []func(*testing.T, *testbed.App, map[string]string) error{createRaw, updateRaw} {
			byCRD, byUs := operation(t, unasked, changes), operation(t, asked, changes)
			if !apierrors.IsInvalid(byCRD) {
				continue
			}
			refused++
			if why := answeredWrong(byUs); why != "" && (byUs != nil || !isFilledInAgain(byCRD)) {
				t.Errorf("%d: %.300v %s: %.300v, the CRD says %.300v", i, changes, why, byUs, byCRD)
			}
		}
	}
	if refused < 200 {
		t.Errorf("the CRD refuses %d of 600, which is too few to show anything", refused)
	}
}

// isFilledInAgain reports whether the CRD refuses nothing but that a field was left out that targetgate fills in again.
func isFilledInAgain(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	return !slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return !strings.Contains(c.Message, "is immutable") })
}

// answeredWrong says what is wrong with an answer to what the CRD refuses, "" if nothing is.
func answeredWrong(err error) string {
	switch {
	case err == nil:
		return "is admitted"
	case !strings.Contains(err.Error(), "admission webhook"):
		return "is answered by somebody else"
	case strings.Contains(err.Error(), "is immutable"), strings.Contains(err.Error(), "immutable field"):
		return "is answered by what Flux takes for a change that takes a new object"
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err) && strings.Contains(err.Error(), "cannot be changed in place"):
		return ""
	default:
		return "has another code"
	}
}

// createRaw tries, dry, to create a second binding like that of the app, with these changes.
func createRaw(t *testing.T, app *testbed.App, changes map[string]string) error {
	t.Helper()
	binding := rawBinding(t, app, changes)
	binding.SetName("second")
	binding.SetUID("")
	binding.SetResourceVersion("")
	return bed.Client.Create(t.Context(), binding, client.DryRunAll)
}

// updateRaw tries, dry, to change the app's binding.
func updateRaw(t *testing.T, app *testbed.App, changes map[string]string) error {
	t.Helper()
	return bed.Client.Update(t.Context(), rawBinding(t, app, changes), client.DryRunAll)
}

// rawBinding is the app's binding with these changes.
func rawBinding(t *testing.T, app *testbed.App, changes map[string]string) *unstructured.Unstructured {
	t.Helper()
	binding := &unstructured.Unstructured{}
	binding.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("TargetGroupBinding"))
	suite.Must(t, bed.Client.Get(t.Context(), app.Key(), binding))
	spec := binding.Object["spec"].(map[string]any)
	for field, value := range changes {
		delete(spec, field)
		if value != "" {
			var decoded any
			suite.Must(t, json.Unmarshal([]byte(value), &decoded))
			spec[field] = decoded
		}
	}
	return binding
}

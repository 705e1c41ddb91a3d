// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/balancers/fault"
)

func TestKeyReadsAnnotation(t *testing.T) {
	tests := map[string]struct {
		annotations map[string]string
		want        int64
		set         bool
		fault       string
	}{
		"absent":             {annotations: map[string]string{"group.order": "7"}},
		"valid":              {annotations: map[string]string{Prefix + "group.order": "7"}, want: 7, set: true},
		"of a wrong value":   {annotations: map[string]string{Prefix + "group.order": "7.0"}, fault: `annotation alb.ingress.kubernetes.io/group.order, value "7.0": must be an integer from -1000 to 1000`},
		"of a very long one": {annotations: map[string]string{Prefix + "group.order": strings.Repeat("9", 10000)}, fault: `value "` + strings.Repeat("9", 100) + `": must be`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, set, err := GroupOrder.In(tc.annotations)
			if got != tc.want || set != tc.set || (err != nil) != (tc.fault != "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("got %d, %v, %v; want %d, %v, %s", got, set, err, tc.want, tc.set, tc.fault)
			}
			if fault := (fault.Fault{}); err != nil && !errors.As(err, &fault) {
				t.Errorf("%v is no Fault", err)
			}
		})
	}
}

func TestCheckFindsEachFault(t *testing.T) {
	got := Check(map[string]string{
		Prefix + "scheme":                        "public",
		Prefix + "target-type":                   "ip",
		Prefix + "certifcate-arn":                "arn",
		Prefix + "actions.":                      "{}",
		Prefix + "actions.app":                   `{"type": "forward"}`,
		Prefix + "listener-attributes.HTTPS-443": "a",
		Prefix + "create-acm-cert":               "yes",
		Prefix + "transforms.app":                "{}",
		"kubernetes.io/ingress.class":            "alb",
	})
	var lines []string
	for _, fault := range got {
		lines = append(lines, strings.TrimPrefix(fault.Annotation, Prefix)+": "+fault.Reason)
	}
	if diff := cmp.Diff([]string{
		"actions.: " + `type "": must be fixed-response, redirect or forward`,
		"actions.app: a forward to 0 target groups: must be 1 to 5 in forwardConfig.targetGroups",
		"certifcate-arn: there is no annotation with this name, so it is ignored: check the spelling",
		"create-acm-cert: must be true or false",
		`listener-attributes.HTTPS-443: "a" has no equals sign: must be key=value pairs with commas between them; write \, for a comma in a value`,
		"scheme: must be internal or internet-facing",
		"transforms.app: is not the JSON that is wanted: json: cannot unmarshal object into Go value of type []annotation.Transform",
	}, lines); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestEachAnnotationIsExplained(t *testing.T) {
	for _, row := range Table() {
		if !strings.HasSuffix(row.Doc, ".") {
			t.Errorf("%s: doc %q is no sentence", row.Name, row.Doc)
		}
		if Lookup(Prefix+row.Name+map[bool]string{true: "x"}[strings.HasSuffix(row.Name, ".")]) != row {
			t.Errorf("%s is not found", row.Name)
		}
		example := row.Example
		if strings.HasSuffix(row.Name, ".") {
			_, example, _ = strings.Cut(example, ": ")
		}
		if err := row.check(example); err != nil || example == "" {
			t.Errorf("%s: example %q: %v", row.Name, example, err)
		}
		if row.Default != "" && !strings.ContainsAny(row.Default, " ") {
			if err := row.check(row.Default); err != nil {
				t.Errorf("%s: default %q: %v", row.Name, row.Default, err)
			}
		}
	}
}

// AWS shows switches in lower case, and nothing else.
func TestSwitchesAreInLowerCase(t *testing.T) {
	for value, want := range map[string]map[string]string{
		"access_logs.s3.enabled=True,access_logs.s3.bucket=True":             {"access_logs.s3.enabled": "true", "access_logs.s3.bucket": "True"},
		"load_balancing.cross_zone.enabled=TRUE,waf.fail_open.enabled=False": {"load_balancing.cross_zone.enabled": "true", "waf.fail_open.enabled": "false"},
	} {
		got, err := AttributesOfBalancer.parse(value)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", value, err, diff)
		}
	}
}

func TestParseAction(t *testing.T) {
	for name, tc := range map[string]struct {
		value string
		want  Action
		fault string
	}{
		"the names' case does not count": {
			value: `{"Type":"redirect","RedirectConfig":{"Protocol":"HTTPS","StatusCode":"HTTP_301"}}`,
			want:  Action{Type: "redirect", RedirectConfig: &Redirect{Protocol: ptr.To("HTTPS"), StatusCode: "HTTP_301"}},
		},
		"the short form of a forward": {
			value: `{"type":"forward","targetGroupARN":"arn"}`,
			want:  Action{Type: "forward", ForwardConfig: &Forward{TargetGroups: []Target{{TargetGroupARN: "arn"}}}},
		},
		"a forward to a Service": {
			value: `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"app","servicePort":"80"}]}}`,
			want: Action{Type: "forward", ForwardConfig: &Forward{TargetGroups: []Target{
				{ServiceName: "app", ServicePort: ptr.To(intstr.FromInt32(80))},
			}}},
		},
		"both forms":             {value: `{"type":"forward","targetGroupARN":"a","forwardConfig":{}}`, fault: "not both"},
		"no weights":             {value: `{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":"a"},{"targetGroupARN":"b"}]}}`, fault: "targetGroups[0]: set a weight"},
		"Service and ARN":        {value: `{"type":"forward","forwardConfig":{"targetGroups":[{"targetGroupARN":"a","serviceName":"b"}]}}`, fault: "targetGroups[0]: set serviceName"},
		"Service without a port": {value: `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"b"}]}}`, fault: `service "b": set its servicePort`},
		"six target groups":      {value: fmt.Sprintf(`{"type":"forward","forwardConfig":{"targetGroups":[{}%s]}}`, strings.Repeat(",{}", 5)), fault: "to 6 target groups"},
		"no status code":         {value: `{"type":"fixed-response","fixedResponseConfig":{}}`, fault: "needs fixedResponseConfig with a statusCode"},
		"another type":           {value: `{"type":"authenticate-oidc"}`, fault: `type "authenticate-oidc": must be`},
	} {
		t.Run(name, func(t *testing.T) { checkParsed(t, parseAction, tc.value, tc.want, tc.fault) })
	}
}

func TestParseConditions(t *testing.T) {
	for name, tc := range map[string]struct {
		value string
		want  []Condition
		fault string
	}{
		"a header": {
			value: `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X","values":["a"]}}]`,
			want:  []Condition{{Field: "http-header", HTTPHeaderConfig: &Header{HTTPHeaderName: "X", Texts: Texts{Values: []string{"a"}}}}},
		},
		"a parameter": {
			value: `[{"field":"query-string","queryStringConfig":{"values":[{"value":"a"}]}}]`,
			want:  []Condition{{Field: "query-string", QueryStringConfig: &Query{Values: []Parameter{{Value: "a"}}}}},
		},
		"values and regular expressions": {value: `[{"field":"host-header","hostHeaderConfig":{"values":["a"],"regexValues":["b"]}}]`, fault: `[0], field "host-header": set hostHeaderConfig with either`},
		"the config of another field":    {value: `[{"field":"source-ip","pathPatternConfig":{"values":["a"]}}]`, fault: `set sourceIpConfig with values`},
		"no config":                      {value: `[{"field":"http-header"}]`, fault: `field "http-header": set httpHeaderConfig`},
		"another field":                  {value: `[{"field":"path"}]`, want: []Condition{{Field: "path"}}},
	} {
		t.Run(name, func(t *testing.T) { checkParsed(t, parseConditions, tc.value, tc.want, tc.fault) })
	}
}

func TestParseListenPorts(t *testing.T) {
	for name, tc := range map[string]struct {
		value string
		want  map[int32]Protocol
		fault string
	}{
		"two":                   {value: `[{"HTTP":80},{"HTTPS":443}]`, want: map[int32]Protocol{80: HTTP, 443: HTTPS}},
		"two in one map":        {value: `[{"HTTP":80,"HTTPS":443}]`, want: map[int32]Protocol{80: HTTP, 443: HTTPS}},
		"one twice":             {value: `[{"HTTP":80},{"HTTP":80}]`, want: map[int32]Protocol{80: HTTP}},
		"none":                  {value: `[]`, fault: "at least one"},
		"another protocol":      {value: `[{"TCP":80}]`, fault: `protocol "TCP": must be HTTP or HTTPS`},
		"a port that none is":   {value: `[{"HTTP":65536}]`, fault: "port 65536: must be 1 to 65535"},
		"a port of two":         {value: `[{"HTTPS":80},{"HTTP":80}]`, want: map[int32]Protocol{80: HTTP}},
		"not JSON":              {value: `HTTP:80`, fault: "is not the JSON that is wanted"},
		"a text for the number": {value: `[{"HTTP":"80"}]`, fault: "is not the JSON that is wanted"},
	} {
		t.Run(name, func(t *testing.T) { checkParsed(t, parseListenPorts, tc.value, tc.want, tc.fault) })
	}
}

func checkParsed[T any](t *testing.T, parse func(string) (T, error), value string, want T, fault string) {
	t.Helper()
	got, err := parse(value)
	if fault != "" {
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("error %v, want %s", err, fault)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got):\n%s", err, diff)
	}
}

// No value of any annotation makes a parser panic, and what is refused says why.
func FuzzCheck(f *testing.F) {
	for _, row := range Table() {
		f.Add(row.Name+"x", row.Default)
	}
	f.Add("actions.app", `{"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"app","servicePort":80,"weight":1},null]}}`)
	f.Add("conditions.app", `[{"field":"http-header","httpHeaderConfig":{"values":["a"]}},null]`)
	f.Fuzz(func(t *testing.T, name, value string) {
		for _, fault := range Check(map[string]string{Prefix + name: value}) {
			if fault.Reason == "" || len(fault.Error()) > 2000+len(name) {
				t.Errorf("fault of %d bytes: %.200s", len(fault.Error()), fault.Error())
			}
		}
	})
}

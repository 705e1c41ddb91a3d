//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// Each kind of action answers, and each kind of condition lets through what it is for and nothing else.
func TestActionsAndConditionsAnswer(t *testing.T) {
	t.Parallel()
	one, two := newApp("answers"), newApp("answers-two")
	one.Replicas, two.Replicas, two.Namespace = 1, 1, one.Name
	bed.Deploy(t, one)
	suite.Must(t, bed.Bed.Deploy(t.Context(), two))
	ingress := newIngress(one.Name, nil, "target-type=ip",
		`actions.sorry={"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"503","messageBody":"closed today"}}`,
		`actions.away={"type":"redirect","redirectConfig":{"host":"example.org","path":"/shop","port":"443","protocol":"HTTPS","query":"from=old","statusCode":"HTTP_302"}}`,
		`actions.to-one={"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"answers","servicePort":"80"}]}}`,
		`actions.to-both={"type":"forward","forwardConfig":{"targetGroups":[{"serviceName":"answers","servicePort":80,"weight":50},`+
			`{"serviceName":"answers-two","servicePort":"80","weight":50}],"targetGroupStickinessConfig":{"enabled":true,"durationSeconds":60}}}`,
	)
	conditions := map[string]string{
		"host":   `{"field":"host-header","hostHeaderConfig":{"values":["other.example.com"]}}`,
		"path":   `{"field":"path-pattern","pathPatternConfig":{"values":["/elsewhere/*"]}}`,
		"header": `{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-Stage","values":["beta","gamma"]}}`,
		"method": `{"field":"http-request-method","httpRequestMethodConfig":{"Values":["GET","HEAD"]}}`,
		"query":  `{"field":"query-string","queryStringConfig":{"values":[{"key":"a","value":"1"},{"key":"a","value":"2"}]}}`,
		"source": `{"field":"source-ip","sourceIpConfig":{"values":["192.0.2.0/24"]}}`,
		"all": `{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-Stage","values":["beta"]}},` +
			`{"field":"query-string","queryStringConfig":{"values":[{"key":"a","value":"1"}]}},` +
			`{"field":"query-string","queryStringConfig":{"values":[{"key":"b","value":"2"}]}}`,
	}
	names := []string{"sorry", "away", "to-one", "to-both"}
	for name, condition := range conditions {
		names = append(names, name)
		ingress.Annotations[prefix+"conditions."+name] = "[" + condition + "]"
		ingress.Annotations[prefix+"actions."+name] = `{"type":"fixed-response","fixedResponseConfig":{"contentType":"text/plain","statusCode":"200","messageBody":"` + name + `"}}`
	}
	slices.Sort(names)
	http1 := &networkingv1.HTTPIngressRuleValue{}
	for _, name := range names {
		path := networkingv1.HTTPIngressPath{Path: "/" + name, PathType: ptr.To(networkingv1.PathTypeExact), Backend: backend(name, 0)}
		path.Backend.Service.Port = networkingv1.ServiceBackendPort{Name: "use-annotation"}
		http1.Paths = append(http1.Paths, path)
	}
	ingress.Spec.Rules = []networkingv1.IngressRule{{Host: "answers.example.com", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: http1}}}
	create(t, ingress)
	balancer := awaitHost(t, ingress)
	suite.Eventually(t, "an answer", func() error { return answeredBy(t, one, balancer, "answers.example.com", "/to-one") })
	suite.Eventually(t, "another answer", func() error {
		_, _, _, err := askWith(t, balancer, "GET answers.example.com/to-both")
		return err
	})

	const none = "404 "
	for request, want := range map[string]string{
		"GET answers.example.com/sorry":                      "503 closed today",
		"GET answers.example.com/away":                       "302 https://example.org:443/shop?from=old",
		"GET answers.example.com/host":                       "200 host",
		"GET other.example.com/host":                         "200 host",
		"GET third.example.com/host":                         none,
		"GET answers.example.com/path":                       "200 path",
		"GET answers.example.com/elsewhere/a":                "200 path",
		"GET answers.example.com/elsewhere":                  none,
		"GET answers.example.com/header X-Stage: gamma":      "200 header",
		"GET answers.example.com/header X-Stage: alpha":      none,
		"GET answers.example.com/header":                     none,
		"GET answers.example.com/method":                     "200 method",
		"HEAD answers.example.com/method":                    "200 ",
		"POST answers.example.com/method":                    none,
		"GET answers.example.com/query?a=2":                  "200 query",
		"GET answers.example.com/query?a=3":                  none,
		"GET answers.example.com/source":                     none,
		"GET answers.example.com/all?b=2&a=1 X-Stage: beta":  "200 all",
		"GET answers.example.com/all?b=2&a=1 X-Stage: gamma": none,
		"GET answers.example.com/all?a=1 X-Stage: beta":      none,
	} {
		status, body, location, err := askWith(t, balancer, request)
		if got := fmt.Sprintf("%d %s%s", status, body, location); err != nil || got != want {
			t.Errorf("%s is answered %q, %v, want %q", request, got, err, want)
		}
	}
	checkBoth(t, balancer, one, two)
}

// checkBoth: requests without a cookie come to the pods of both apps.
func checkBoth(t *testing.T, balancer string, apps ...*testbed.App) {
	t.Helper()
	seen := map[string]bool{}
	suite.Eventually(t, "answers of both", func() error {
		status, pod, err := ask(t, balancer, "answers.example.com", "/to-both")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("the answer is %d, %w", status, err)
		}
		seen[pod[:strings.LastIndex(pod[:strings.LastIndex(pod, "-")], "-")]] = true
		for _, app := range apps {
			if !seen[app.Name] {
				return fmt.Errorf("%v have answered", seen)
			}
		}
		return nil
	})
}

// askWith sends a request, "METHOD HOST/PATH NAME: VALUE" with a header or without.
func askWith(t *testing.T, balancer, text string) (status int, body, location string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	method, rest, _ := strings.Cut(text, " ")
	address, header, _ := strings.Cut(rest, " ")
	host, _, _ := strings.Cut(address, "/")
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address, http.NoBody)
	suite.Must(t, err)
	if name, value, ok := strings.Cut(header, ": "); ok {
		request.Header.Set(name, value)
	}
	transport := resolver(host, balancer).Transport(nil)
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", "", err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if location = response.Header.Get("Location"); location != "" || response.StatusCode == http.StatusNotFound {
		read = nil
	}
	return response.StatusCode, string(read), location, err
}

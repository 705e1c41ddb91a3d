// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newReport() Report {
	well := []Link{link("pod", OK, "runs"), link("gate", OK, "is open")}
	sick := []Link{link("pod", OK, "runs"), link("health", Broken, "fails").advise("Mend it")}
	report := Report{Notes: []string{"you may not read nodes"}, Chains: []Chain{
		concluded(Chain{
			Namespace: "shop", Binding: "web", Links: []Link{link("service", OK, "is there")},
			Endpoints: []Endpoint{
				{Kind: "Pod", Name: "web-0", Target: "10.0.0.1:80", Links: well},
				{Kind: "Pod", Name: "web-1", Target: "10.0.0.2:80", Links: sick},
				{Kind: "Pod", Name: "web-2", Target: "10.0.0.3:80", Links: sick},
			},
		}),
		concluded(Chain{Namespace: "shop", Binding: "api", Links: []Link{link("targetgate", Waiting, "has no leader")}}),
	}}
	return report
}

func TestTextSaysWhatIsNotWell(t *testing.T) {
	want := `TargetGroupBinding shop/web
  ok       service       is there
  Pod web-1  10.0.0.2:80
    broken   health        fails
                           -> Mend it
  Pod web-2  10.0.0.3:80
    broken   health        fails
  1 of 3 endpoints: every link is ok
First broken link: health of Pod web-1

TargetGroupBinding shop/api
  waiting  targetgate    has no leader
Nothing is broken. First waiting link: targetgate
Note: you may not read nodes.
`
	var got strings.Builder
	if err := newReport().Text(&got, false, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestTextHasEveryLinkAndColours(t *testing.T) {
	var got strings.Builder
	if err := newReport().Text(&got, true, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Pod web-0", "\x1b[1;31mbroken \x1b[0m  health", "\x1b[32mok     \x1b[0m  gate          is open"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in\n%s", want, got.String())
		}
	}
}

func TestReportInJSON(t *testing.T) {
	report := newReport()
	report.Chains = report.Chains[1:]
	got, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"bindings":[{"namespace":"shop","binding":"api",` +
		`"links":[{"name":"targetgate","state":"waiting","seen":"has no leader"}],` +
		`"cause":{"name":"targetgate","state":"waiting","seen":"has no leader"}}],"notes":["you may not read nodes"]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

// A Service's port and AWS's words are anybody's, and the reader may be the cluster's administrator.
func TestTextIsHarmlessToATerminal(t *testing.T) {
	report := Report{Notes: []string{"\x1b]0;owned\a"}, Chains: []Chain{concluded(Chain{
		Namespace: "shop", Binding: "web", Links: []Link{link("service", Broken, "has no port \x1b[2Jx\u009b1m\r\u202e\nfaked: ok é").advise("\x1b[8m")},
	})}}
	var got strings.Builder
	if err := report.Text(&got, true, false); err != nil {
		t.Fatal(err)
	}
	want := `TargetGroupBinding shop/web
  broken   service       has no port \x1b[2Jx\u009b1m\r\u202e\nfaked: ok é
                         -> \x1b[8m
First broken link: service
Note: \x1b]0;owned\a.
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// A pod that is healthy, and has no gate, is not named before one that fails.
func TestCauseIsTheLinkThatComesFirstInTheChain(t *testing.T) {
	pod := func(name, broken string) Endpoint {
		ep := Endpoint{Kind: "Pod", Name: name}
		for _, l := range []string{"slice", "pod", "target", "health", "gate"} {
			state := OK
			if l == broken {
				state = Broken
			}
			ep.Links = append(ep.Links, link(l, state, ""))
		}
		return ep
	}
	for name, tc := range map[string]struct {
		endpoints []Endpoint
		want      string
	}{
		"gate before health":     {[]Endpoint{pod("web-a", "gate"), pod("web-b", "health")}, "health of Pod web-b"},
		"of two the first":       {[]Endpoint{pod("web-a", "gate"), pod("web-b", "health"), pod("web-c", "health")}, "health of Pod web-b"},
		"the first is the one":   {[]Endpoint{pod("web-a", "pod"), pod("web-b", "target")}, "pod of Pod web-a"},
		"that of the leaving":    {[]Endpoint{{Kind: "Pod", Name: "web-a", Links: []Link{link("target", Broken, "")}}, pod("web-b", "pod")}, "pod of Pod web-b"},
		"no other one than that": {[]Endpoint{pod("web-a", ""), pod("web-b", "gate")}, "gate of Pod web-b"},
	} {
		t.Run(name, func(t *testing.T) {
			cause := concluded(Chain{Endpoints: tc.endpoints}).Cause
			if got := cause.Name + " of " + cause.Endpoint; got != tc.want {
				t.Errorf("the cause is %s, want %s", got, tc.want)
			}
		})
	}
}

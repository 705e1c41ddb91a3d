// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

func TestProgramKnowsWhenItIsAskedToExplain(t *testing.T) {
	for name, tc := range map[string]struct {
		command     []string
		wantProgram string
		want        bool
	}{
		"controller":      {[]string{"/targetgate", "--cluster-name=explain"}, "targetgate", false},
		"no arguments":    {[]string{"/targetgate"}, "targetgate", false},
		"explain":         {[]string{"/targetgate", "explain", "pod", "web-0"}, "targetgate", true},
		"plugin":          {[]string{"/usr/bin/kubectl-targetgate", "explain"}, "kubectl targetgate", true},
		"plugin, no word": {[]string{"kubectl-targetgate.exe"}, "kubectl targetgate", true},
	} {
		t.Run(name, func(t *testing.T) {
			if program, got := AsksToExplain(tc.command); got != tc.want || program != tc.wantProgram {
				t.Errorf("%q asks %q: %v, want %q: %v", tc.command, program, got, tc.wantProgram, tc.want)
			}
		})
	}
}

// The plugin has more commands than explain, whose help is that of "explain --help".
func TestHelpOfThePluginListsItsCommands(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}} {
		var out, errOut strings.Builder
		if code := Explain(t.Context(), "kubectl targetgate", "dev", args, &out, &errOut); code != 0 || errOut.Len() > 0 {
			t.Errorf("%q: exit code %d, said %q", args, code, errOut.String())
		}
		for _, command := range []string{"explain", "plan", "orphans", "give-back"} {
			if !strings.Contains(out.String(), "kubectl targetgate "+command) {
				t.Errorf("%q does not list %s:\n%s", args, command, out.String())
			}
		}
	}
}

func TestExplainTakesSubject(t *testing.T) {
	for name, tc := range map[string]struct {
		args       []string
		kind, want string
	}{
		"namespace":        {[]string{"explain", "-n", "shop"}, "", ""},
		"pod":              {[]string{"explain", "pod", "web-0", "-n", "shop"}, kindPod, "web-0"},
		"pod with a slash": {[]string{"explain", "po/web-0", "-n", "shop"}, kindPod, "web-0"},
		"binding":          {[]string{"explain", "-n", "shop", "tgb", "web"}, kindBinding, "web"},
		"binding in full":  {[]string{"explain", "-n", "shop", "TargetGroupBinding", "web"}, kindBinding, "web"},
		"ingress":          {[]string{"explain", "ing", "web", "-n", "shop"}, kindIngress, "web"},
		"its namespace":    {[]string{"explain", "ingress", "shop/web", "-n", "other"}, kindIngress, "web"},
		"in one word":      {[]string{"explain", "ingress/shop/web"}, kindIngress, "web"},
	} {
		t.Run(name, func(t *testing.T) {
			opts, err := parseExplainOptions("targetgate", tc.args, &strings.Builder{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.kind, tc.want, "shop"}, []string{opts.Kind, opts.Name, opts.Namespace}); diff != "" {
				t.Errorf("kind, name, namespace (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExplainNamesTheCRDThatIsMissing(t *testing.T) {
	const group = "elbv2.k8s.aws"
	unknown := &apimeta.NoKindMatchError{GroupKind: schema.GroupKind{Group: group, Kind: "IngressClassParams"}, SearchedVersions: []string{"v1beta1"}}
	none := &apiutil.ErrResourceDiscoveryFailed{schema.GroupVersion{Group: group, Version: "v1beta1"}: &apimeta.NoResourceMatchError{
		PartialResource: schema.GroupVersionResource{Group: group, Version: "v1beta1"},
	}}
	for want, err := range map[string]error{
		"the API server does not know IngressClassParams (is its CRD installed?): ": fmt.Errorf("listing: %w", unknown),
		"the API server does not know elbv2.k8s.aws (are the CRDs installed?): ":    fmt.Errorf("listing: %w", none),
		"no route": errors.New("no route"),
	} {
		if got := withCRD(err); !strings.HasPrefix(got.Error(), want) || !errors.Is(got, err) {
			t.Errorf("error %v, want %q", got, want)
		}
	}
}

func TestExplainEndsWithCode(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte("contexts: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		code int
		err  string
	}{
		"help":            {[]string{"explain", "--help"}, 0, ""},
		"no word":         {nil, 2, "kubectl targetgate: usage: kubectl targetgate explain ... (see --help)"},
		"unknown flag":    {[]string{"explain", "--pod"}, 2, "unknown flag: --pod"},
		"unknown kind":    {[]string{"explain", "service", "web"}, 2, `cannot explain a "service": must be pod, targetgroupbinding (tgb) or ingress`},
		"no name":         {[]string{"explain", "pod"}, 2, `give a kind and a name, such as pod web-0 or tgb web, not "pod"`},
		"two names":       {[]string{"explain", "pod", "a", "b"}, 2, "give a kind and a name"},
		"unknown output":  {[]string{"explain", "-o", "yaml"}, 2, "--output=yaml: must be text or json"},
		"unknown color":   {[]string{"explain", "--color=red"}, 2, "--color=red: must be auto, always or never"},
		"no rules":        {[]string{"explain", "--load-balancer-rule-quota=0"}, 2, "--load-balancer-rule-quota=0: must be 1 or more"},
		"no certificates": {[]string{"explain", "--load-balancer-certificate-quota=0"}, 2, "--load-balancer-certificate-quota=0: must be 1 or more"},
		"few targets":     {[]string{"explain", "--frontend-nlb-target-quota=99"}, 2, "--frontend-nlb-target-quota=99: must be 100 or more"},
		"unknown type":    {[]string{"explain", "--default-target-type=pod"}, 2, "--default-target-type=pod: must be instance or ip"},
		"wrong endpoint":  {[]string{"explain", "--aws-api-endpoints=STS=host"}, 2, "--aws-api-endpoints: STS=host: must be a URL"},
		"unknown context": {[]string{"explain", "--kubeconfig", kubeconfig, "--context", "none"}, 1, `loading kubeconfig: context "none" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut strings.Builder
			if code := Explain(t.Context(), "kubectl targetgate", "dev", tc.args, &out, &errOut); code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if !strings.Contains(errOut.String(), tc.err) || tc.err == "" && errOut.Len() > 0 {
				t.Errorf("said %q, want %q", errOut.String(), tc.err)
			}
			if help := tc.code == 0; help != strings.Contains(out.String(), "kubectl targetgate explain tgb NAME") {
				t.Errorf("printed %q, which has usage: %v, want %v", out.String(), !help, help)
			}
		})
	}
}

//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/targetgate/targetgate/e2e/suite"
)

// phase is what GitOps tools think of an object: by kstatus, as Flux does, and by the rule for Argo CD in config/argocd, if there is one.
type phase struct{ kstatus, argo string }

// phases are those of the objects of a kind that have been followed, one after the other, without those that are like the one before.
type phases struct {
	mu   sync.Mutex
	seen map[string][]phase // by kind
	// last are the words for the last phase.
	last map[string]string
}

// followHealth takes note of the phases of the app's Deployment, Ingress and binding from their creation on, until the end of the test.
func followHealth(t *testing.T, namespace string) *phases {
	t.Helper()
	objects, err := dynamic.NewForConfig(bed.Cluster.AdminConfig())
	suite.Must(t, err)
	p := &phases{seen: map[string][]phase{}, last: map[string]string{}}
	rule := healthRule(t)
	for _, resource := range []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
		{Group: "elbv2.k8s.aws", Version: "v1beta1", Resource: "targetgroupbindings"},
	} {
		events, err := objects.Resource(resource).Namespace(namespace).Watch(t.Context(), metav1.ListOptions{})
		suite.Must(t, err)
		t.Cleanup(events.Stop)
		go func() {
			for event := range events.ResultChan() {
				if object, ok := event.Object.(*unstructured.Unstructured); ok {
					p.note(object, rule)
				}
			}
		}()
	}
	return p
}

func (p *phases) note(object *unstructured.Unstructured, rule string) {
	var now phase
	var argo string
	result, err := status.Compute(object)
	if err == nil && object.GetKind() == "TargetGroupBinding" {
		now.argo, argo, err = runRule(rule, object)
	}
	if err != nil {
		now.kstatus = err.Error()
	} else {
		now.kstatus = result.Status.String()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	kind := object.GetKind()
	if seen := p.seen[kind]; len(seen) == 0 || seen[len(seen)-1] != now {
		p.seen[kind] = append(seen, now)
	}
	p.last[kind] = fmt.Sprintf("kstatus: %+v, Argo CD: %s", result, argo)
}

// of are the phases of a kind.
func (p *phases) of(kind string) (seen []phase, last string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen[kind]), p.last[kind]
}

// await waits until the object of the kind is in the phase.
func (p *phases) await(t *testing.T, kind string, want phase) {
	t.Helper()
	suite.Eventually(t, fmt.Sprintf("%s to be %v", kind, want), func() error {
		if seen, last := p.of(kind); len(seen) == 0 || seen[len(seen)-1] != want {
			return fmt.Errorf("its phases are %v, the last one by %s", seen, last)
		}
		return nil
	})
}

func (p *phases) wantFirst(t *testing.T, kind string, want phase) {
	t.Helper()
	if seen, _ := p.of(kind); seen[0] != want {
		t.Errorf("%s has the phases %v, want %v first", kind, seen, want)
	}
}

func (p *phases) wantNone(t *testing.T, kind string, unwanted phase) {
	t.Helper()
	if seen, _ := p.of(kind); slices.Contains(seen, unwanted) {
		t.Errorf("%s has the phases %v, want no %v", kind, seen, unwanted)
	}
}

// healthRule is Argo CD's for bindings.
func healthRule(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(suite.Root, "config/argocd/argocd-cm.yaml"))
	suite.Must(t, err)
	var settings corev1.ConfigMap
	suite.Must(t, yaml.UnmarshalStrict(content, &settings))
	rule := settings.Data["resource.customizations.health.elbv2.k8s.aws_TargetGroupBinding"]
	if rule == "" || len(settings.Data) != 1 {
		t.Fatalf("the settings of Argo CD are %v", settings.Data)
	}
	return rule
}

// runRule runs a rule as Argo CD does, with those of Lua's libraries that it lets rules have, in a second at most.
func runRule(rule string, object *unstructured.Unstructured) (health, message string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	state.SetContext(ctx)
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		call := lua.P{Fn: state.NewFunction(open), Protect: true}
		if err := state.CallByParam(call, lua.LString(name)); err != nil {
			return "", "", err
		}
	}
	state.SetGlobal("obj", toLua(state, object.Object))
	if err := state.DoString(rule); err != nil {
		return "", "", err
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("the rule returns %s, want a table", state.Get(-1).Type())
	}
	return lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message")), nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case string:
		return lua.LString(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case []any:
		list := state.NewTable()
		for _, item := range value {
			list.Append(toLua(state, item))
		}
		return list
	case map[string]any:
		table := state.NewTable()
		for key, item := range value {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Rule says how healthy TargetGroupBindings are.
type Rule string

// Health is one of Argo CD's, such as Healthy.
type Health struct{ Status, Message string }

// Read reads the rule of the repository.
func Read(root string) (Rule, error) {
	content, err := os.ReadFile(filepath.Join(root, "config/argocd/argocd-cm.yaml"))
	if err != nil {
		return "", err
	}
	var settings corev1.ConfigMap
	if err := yaml.UnmarshalStrict(content, &settings); err != nil {
		return "", fmt.Errorf("reading the settings of Argo CD: %w", err)
	}
	rule := settings.Data["resource.customizations.health.elbv2.k8s.aws_TargetGroupBinding"]
	if rule == "" || len(settings.Data) != 1 {
		return "", fmt.Errorf("the settings of Argo CD are %v, want one rule", settings.Data)
	}
	return Rule(rule), nil
}

// Of runs the rule with no more of Lua's libraries than Argo CD gives rules, for a second at most.
func (r Rule) Of(object *unstructured.Unstructured) (Health, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	state.SetContext(ctx)
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		call := lua.P{Fn: state.NewFunction(open), Protect: true}
		if err := state.CallByParam(call, lua.LString(name)); err != nil {
			return Health{}, err
		}
	}
	state.SetGlobal("obj", toLua(state, object.Object))
	if err := state.DoString(string(r)); err != nil {
		return Health{}, err
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return Health{}, fmt.Errorf("the rule returns %s, want a table", state.Get(-1).Type())
	}
	return Health{lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))}, nil
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

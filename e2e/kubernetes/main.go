// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics, as in the stock components
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// components maps a component's name to what runs it. Each takes the command line, its own name first, and does not
// return before the component has ended; the number is the exit code.
var components = map[string]func(args []string) int{
	"etcd":                    runEtcd,
	"kube-apiserver":          runCommand(apiserver.NewAPIServerCommand),
	"kube-controller-manager": runCommand(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          runCommand(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
}

func main() {
	args, found := commandLine(os.Args)
	if !found {
		fmt.Fprintf(os.Stderr, "usage: %s {%s} [flag ...]\n", filepath.Base(os.Args[0]), strings.Join(names(), "|"))
		os.Exit(2)
	}
	os.Exit(components[args[0]](args))
}

// commandLine returns the command line of the chosen component, beginning with its name. It reports false when
// neither the program's name nor the first argument names a component.
func commandLine(args []string) ([]string, bool) {
	for i, arg := range args[:min(len(args), 2)] {
		name := filepath.Base(arg)
		if _, found := components[name]; found {
			return append([]string{name}, args[i+1:]...), true
		}
	}
	return nil, false
}

func names() []string {
	sorted := make([]string, 0, len(components))
	for name := range components {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	return sorted
}

// runEtcd hands over to etcd, which ends the process by itself on a failure.
func runEtcd(args []string) int {
	etcdmain.Main(args)
	return 0
}

// runCommand returns a runner for a component whose main is a cobra command. The command is constructed only when the
// component is run. It reads os.Args, so these must not tell of the multi-call binary any more.
func runCommand(construct func() *cobra.Command) func(args []string) int {
	return func(args []string) int {
		os.Args = args
		return cli.Run(construct())
	}
}

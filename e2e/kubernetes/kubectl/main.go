// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl is the real kubectl, with which the tests run the commands that the documents give. Only tests need it,
// so it is not in the program of the control plane, which the demo builds too.
package main

import (
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// main tells errors as kubectl does, which also knows an exit code for some.
func main() {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // ends the process
	}
}

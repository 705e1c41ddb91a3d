// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package beside

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/targetgate/targetgate/e2e/incumbent"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// prompt is how long the incumbent's Ingress controller may wait for one binding, a twelfth of what it would.
const prompt = 5 * time.Second

func TestIngressControllerIsNotKeptWaiting(t *testing.T) {
	t.Parallel()
	app := newApp("ingress")
	deployOurs(t, app)
	template := app.Binding()
	provision := func(what string, want bool) {
		t.Helper()
		begun := time.Now()
		wrote, err := theIncumbent(t).Provision(t.Context(), template)
		if took := time.Since(begun); err != nil || wrote != want || took > prompt {
			t.Errorf("%s: wrote is %v, want %v, after %s: %v", what, wrote, want, took, err)
		}
	}
	provision("a binding that is as the template", false)
	template.Spec.ServiceRef.Port = intstr.FromString("http")
	provision("a change of the spec", true)
	template.Labels = map[string]string{"ingress.k8s.aws/stack": "ingress"}
	template.Annotations = map[string]string{"example.com/theirs": "changed"}
	provision("a change of labels and annotations", true)
	awaitOurs(t, app)
	provision("a binding that is as the template again", false)

	begun := time.Now()
	if err := theIncumbent(t).Deprovision(t.Context(), bed.GetBinding(t, app)); err != nil || time.Since(begun) > prompt {
		t.Errorf("a deletion: took %s: %v", time.Since(begun), err)
	}
	suite.Must(t, bed.WantTargets(app))
	provision("a creation", true)
	awaitOurs(t, app)
	provision("a binding that it has created", false)
	assertNoCalls(t, app, incumbent.AccessKey, time.Time{})
}

// While a binding is moved the incumbent works on it until targetgate has it, and nobody for the 10 s after that.
func TestIngressControllerChangesABindingThatIsBeingMoved(t *testing.T) {
	t.Parallel()
	app := newApp("ingress-moved")
	deployTheirs(t, app)
	template := app.Binding()
	provision := func(port intstr.IntOrString, within time.Duration) {
		t.Helper()
		template.Spec.ServiceRef.Port = port
		begun := time.Now()
		_, err := theIncumbent(t).Provision(t.Context(), template)
		if took := time.Since(begun); err != nil || took > within {
			t.Errorf("took %s: %v", took, err)
		}
	}
	label(t, app, true)
	provision(intstr.FromString("http"), prompt)
	suite.Eventually(t, "the binding to be taken", func() error { return wantFinalizer(t, app, v1beta1.BesideFinalizer) })
	provision(intstr.FromInt32(80), prompt)
	awaitOurs(t, app)
	label(t, app, false)
	provision(intstr.FromString("http"), prompt)
	awaitTheirs(t, app)
}

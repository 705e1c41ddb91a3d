//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"fmt"
	"testing"

	emulated "github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/targets/consent"
)

// Where bindings need consent, those of Ingresses have it: the tags of their target groups say whose they are. The tag by which the owner
// consents to others stays, while any other that nobody wants goes.
func TestBindingsOfIngressesNeedNoTagOfConsent(t *testing.T) {
	bed.WithFlags(t, append(bed.Targetgate.Flags(), "--target-group-consent=require")...)
	app := newApp("consented")
	serve(t, app, "target-type=ip")
	group := groupOf(t, "consented/consented")
	suite.Must(t, bed.AWS.ELB.AddTags(group, map[string]string{consent.TagKey: "other/+", "stray": "x"}))
	suite.Must(t, bed.Targetgate.RestartWith(t.Context(), bed.Targetgate.Flags()...)) // which reads the account
	suite.Eventually(t, "the end of the tag that nobody wants", func() error {
		tags, err := bed.AWS.ELB.Tags(group)
		if _, there := tags["stray"]; err == nil && there {
			err = fmt.Errorf("tags %v", tags)
		}
		return err
	})
	if tags, err := bed.AWS.ELB.Tags(group); err != nil || tags[consent.TagKey] != "other/+" {
		t.Errorf("tags %v, error %v: want the owner's consent to stay", tags, err)
	}
}

// groupOf is the ARN of the only target group of a group of Ingresses.
func groupOf(t *testing.T, name string) string {
	t.Helper()
	all, err := tagged()
	suite.Must(t, err)
	groups, err := bed.AWS.ELB.Groups(emulated.GroupFilter{})
	suite.Must(t, err)
	var of []string
	for _, g := range groups {
		if all[g.ARN]["ingress.k8s.aws/stack"] == name {
			of = append(of, g.ARN)
		}
	}
	if len(of) != 1 {
		t.Fatalf("%d target groups of %s, want one", len(of), name)
	}
	return of[0]
}

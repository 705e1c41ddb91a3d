// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package beside

import (
	"context"
	"flag"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/incumbent"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
)

// bed is what all tests of the package run on.
var bed = &suite.Bed{}

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait, and need no processor each; a flag of the command line counts more
		panic(err)
	}
	bed.Main(m, testbed.Options{
		Scale: suite.Scale, Args: []string{"--beside"},
		Values: []string{"beside.enabled=true", "beside.incumbentUser=" + incumbent.User},
	})
}

// theIncumbent works until the end of the program.
func theIncumbent(t *testing.T) *incumbent.Incumbent {
	t.Helper()
	running.Lock()
	defer running.Unlock()
	if running.incumbent == nil {
		config, err := incumbentConfig()
		suite.Must(t, err)
		running.incumbent, err = incumbent.Start(context.Background(), incumbent.Options{
			Config: config, AWS: bed.AWS.URL(), Probe: time.Duration(suite.Scale * float64(15*time.Second)),
		})
		suite.Must(t, err)
	}
	return running.incumbent
}

// running is the incumbent, nil before a test needs it, and after one has killed it.
var running struct {
	sync.Mutex
	incumbent *incumbent.Incumbent
}

// killIncumbent ends the incumbent in the middle of its calls; theIncumbent starts another. No other test may run.
func killIncumbent(t *testing.T) {
	t.Helper()
	running.Lock()
	defer running.Unlock()
	_ = running.incumbent.Close() // whatever it was about to do
	running.incumbent = nil
}

// incumbentConfig has RBAC let the incumbent do everything.
var incumbentConfig = sync.OnceValues(func() (*rest.Config, error) {
	err := bed.Client.Create(context.Background(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "incumbent"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: incumbent.User}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	})
	if err != nil {
		return nil, err
	}
	config := bed.Cluster.AdminConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: incumbent.User}
	return config, nil
})

// asIncumbent is a client that is the incumbent to the API server.
func asIncumbent(t *testing.T) client.Client {
	t.Helper()
	config, err := incumbentConfig()
	suite.Must(t, err)
	c, err := client.New(config, client.Options{Scheme: bed.Client.Scheme()})
	suite.Must(t, err)
	return c
}

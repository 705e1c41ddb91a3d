// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/targetgate/targetgate/targets/consent"
)

// consentOptions say whom bindings need the consent of.
type consentOptions struct {
	Mode          string
	RoleAllowlist string
}

func (o *consentOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Mode, "target-group-consent", string(consent.Off),
		"Whether a binding needs the consent of its target group's owner. The group's tag "+consent.TagKey+" names who may bind it: "+
			"CLUSTER/NAMESPACE or CLUSTER/NAMESPACE/BINDING, several separated by spaces, + for any part. "+
			"off: no check. warn: warn about bindings without consent. require: reject them and register nothing for them. "+
			"warn and require need the IAM permission elasticloadbalancing:DescribeTags.")
	flags.StringVar(&o.RoleAllowlist, "role-allowlist", "",
		"YAML file that maps each namespace to the ARNs of the IAM roles its bindings may assume. In both, * matches any characters "+
			"except a colon. The file is reloaded when it changes. Bindings in other namespaces may use only targetgate's own role. "+
			"Default: any role.")
}

// validate returns every fault at once.
func (o *consentOptions) validate(cluster string) []error {
	if !slices.Contains(consent.Modes(), o.Mode) {
		return []error{fmt.Errorf("--target-group-consent=%s: want %s", o.Mode, strings.Join(consent.Modes(), ", "))}
	}
	if err := consent.CheckCluster(cluster); consent.Mode(o.Mode).Asks() && err != nil {
		return []error{fmt.Errorf("--cluster-name: %w, or --target-group-consent=off", err)}
	}
	return nil
}

// roleInterval is how often the list of roles is read. The kubelet needs a minute and more to bring a new ConfigMap.
const roleInterval = 10 * time.Second

var roleListGood = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "targetgate_role_allowlist_last_reload_successful",
	Help: "1 if the last read of --role-allowlist succeeded, 0 if it failed and the previous list is still in force.",
})

// roleFile is the list of roles in a file.
type roleFile struct {
	path    string
	content []byte // when it was read last
	fault   string // then, empty when there was none
	roles   atomic.Pointer[consent.Roles]
	changes chan struct{}
}

// openRoles reads the file; its faults are for whoever has just written it.
func openRoles(path string) (*roleFile, error) {
	f := &roleFile{path: path, changes: make(chan struct{}, 1)}
	if err := f.read(); err != nil {
		return nil, fmt.Errorf("--role-allowlist=%s: %w", path, err)
	}
	return f, metrics.Registry.Register(roleListGood)
}

// Start reads the file again every now and then, on every replica.
func (f *roleFile) Start(ctx context.Context) error {
	ticker := time.NewTicker(roleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			f.reread()
		}
	}
}

// NeedLeaderElection says that every replica admits bindings.
func (f *roleFile) NeedLeaderElection() bool { return false }

// reread keeps what was read before when there is something wrong with the file, and says so once.
func (f *roleFile) reread() {
	err := f.read()
	if err == nil {
		f.fault = ""
		return
	}
	roleListGood.Set(0)
	if f.fault != err.Error() {
		f.fault = err.Error()
		ctrl.Log.Error(err, "Failed to read the role allowlist, keeping the previous one", "path", f.path)
	}
}

func (f *roleFile) read() error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, consent.MaxRolesSize+1))
	if err != nil {
		return err
	}
	if f.roles.Load() != nil && bytes.Equal(content, f.content) {
		roleListGood.Set(1)
		return nil
	}
	roles, err := consent.ParseRoles(content)
	if err != nil {
		return err
	}
	f.content = content
	f.roles.Store(roles)
	roleListGood.Set(1)
	ctrl.Log.Info("Loaded the role allowlist", "path", f.path)
	select {
	case f.changes <- struct{}{}:
	default: // somebody is about to look already
	}
	return nil
}

// newConsent returns what the cluster asks of bindings, and when other roles are allowed. The manager reads the list of roles
// again.
func newConsent(opts *options, mgr ctrl.Manager) (consent.Policy, <-chan struct{}, error) {
	policy := consent.Policy{Mode: consent.Mode(opts.Consent.Mode), Cluster: opts.ClusterName}
	if opts.Consent.RoleAllowlist == "" {
		return policy, nil, nil
	}
	roles, err := openRoles(opts.Consent.RoleAllowlist)
	if err != nil {
		return policy, nil, err
	}
	policy.Roles = roles.roles.Load
	return policy, roles.changes, mgr.Add(roles)
}

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

// consentOptions says whose consent bindings need.
type consentOptions struct {
	Mode          string
	RoleAllowlist string
}

func (o *consentOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Mode, "target-group-consent", string(consent.Off),
		"Whether a binding needs the consent of its target group's owner, and an Ingress that of the owner of one that its actions name. "+
			"The group's tag "+consent.TagKey+" names who may bind it: "+
			"CLUSTER/NAMESPACE or CLUSTER/NAMESPACE/BINDING, several separated by spaces, + for any part. "+
			"off: no check. warn: warn about those without consent. require: reject such bindings and register nothing for them, hold such "+
			"Ingresses. "+
			"warn and require need the IAM permission elasticloadbalancing:DescribeTags.")
	flags.StringVar(&o.RoleAllowlist, "role-allowlist", "",
		"YAML file that maps each namespace to the ARNs of the IAM roles its bindings may assume. In both, * matches any characters "+
			"except a colon. The file is reloaded when it changes. Bindings in other namespaces may use only targetgate's own role. "+
			"Default: any role.")
}

// validate returns all faults at once.
func (o *consentOptions) validate(cluster string) []error {
	if !slices.Contains(consent.Modes(), o.Mode) {
		return []error{fmt.Errorf("--target-group-consent=%s: must be %s", o.Mode, strings.Join(consent.Modes(), ", "))}
	}
	if err := consent.CheckCluster(cluster); consent.Mode(o.Mode).Asks() && err != nil {
		return []error{fmt.Errorf("--cluster-name: %w, or --target-group-consent=off", err)}
	}
	return nil
}

// roleInterval is how often the role allowlist is read. The kubelet takes a minute or more to deliver a new ConfigMap.
const roleInterval = 10 * time.Second

var roleListGood = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "targetgate_role_allowlist_last_reload_successful",
	Help: "1 if the last read of --role-allowlist succeeded, 0 if it failed and the previous list is still in force.",
})

// roleFile is a role allowlist in a file.
type roleFile struct {
	path    string
	content []byte // as of the last successful read
	fault   string // the error of the last read, empty if it succeeded
	roles   atomic.Pointer[consent.Roles]
	changes chan struct{}
}

// openRoles reads the file. It fails if the file is wrong, so that its author learns at start-up.
func openRoles(path string) (*roleFile, error) {
	f := &roleFile{path: path, changes: make(chan struct{}, 1)}
	if err := f.read(); err != nil {
		return nil, fmt.Errorf("--role-allowlist=%s: %w", path, err)
	}
	return f, metrics.Registry.Register(roleListGood)
}

// Start rereads the file every roleInterval, on every replica.
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

// NeedLeaderElection returns false: every replica admits bindings.
func (f *roleFile) NeedLeaderElection() bool { return false }

// reread keeps the previous list if the file cannot be read, and logs each error once.
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
	default: // a change is already signalled
	}
	return nil
}

// newConsent returns the consent policy, and a channel that signals changes of the role allowlist. The manager rereads the
// list.
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

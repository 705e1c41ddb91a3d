// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/process"
)

// Targetgate is the program under test.
type Targetgate struct {
	// Env are further environment variables, name=value, from the next start on.
	Env []string

	number      int // 0 for the first
	binary, dir string
	clusterName string
	accessKey   string
	awsURL, vpc string
	provisions  bool
	leads       []string // flags that fit the bed's scale
	extra       []string // flags of the test
	ports       ports
	launcher    *process.Launcher
	process     *process.Process
}

type ports struct{ webhook, health, metrics int }

func freePorts() (ports, error) {
	free, err := cluster.FreePorts(3)
	if err != nil {
		return ports{}, err
	}
	return ports{free[0], free[1], free[2]}, nil
}

const (
	// stopGrace is how long targetgate may take to end by itself.
	stopGrace    = 10 * time.Second
	readyTimeout = 45 * time.Second
)

func (b *Bed) startTargetgate(ctx context.Context) error {
	b.Targetgate = b.newTargetgate(0, b.ports)
	b.Targetgate.extra = b.options.Args
	config, err := b.Cluster.ServiceAccountConfig(ctx, namespace, account)
	if err != nil {
		return err
	}
	if err := cluster.WriteKubeconfig(b.Targetgate.kubeconfig(), config); err != nil {
		return err
	}
	return b.Targetgate.Restart(ctx)
}

func (b *Bed) newTargetgate(number int, free ports) *Targetgate {
	return &Targetgate{
		number: number, binary: b.options.Targetgate, dir: b.dir, clusterName: b.clusterName, accessKey: b.AccessKey(),
		awsURL: b.AWS.URL(), vpc: b.vpc(), provisions: b.options.Provisioning, ports: free, leads: leads(b.options.Scale),
		launcher: process.NewLauncher(),
	}
}

func (t *Targetgate) kubeconfig() string { return filepath.Join(t.dir, "targetgate.kubeconfig") }

// LogFile is where targetgate's output goes, that of all its starts.
func (t *Targetgate) LogFile() string { return filepath.Join(t.dir, t.pod()+".log") }

func (t *Targetgate) pod() string { return fmt.Sprintf("targetgate-%d", t.number) }

// WebhookURL is where targetgate serves its webhooks.
func (t *Targetgate) WebhookURL() string { return fmt.Sprintf("https://127.0.0.1:%d", t.ports.webhook) }

// MetricsURL is where targetgate tells its metrics.
func (t *Targetgate) MetricsURL() string {
	return fmt.Sprintf("http://127.0.0.1:%d/metrics", t.ports.metrics)
}

// gorace has a race end the process, and the end of a process wait a tenth of a second for races instead of one.
const gorace = "GORACE=halt_on_error=1 atexit_sleep_ms=100"

// Restart starts targetgate, after stopping it if it runs, and returns when it says that it is ready.
func (t *Targetgate) Restart(ctx context.Context) (err error) {
	t.Stop()
	t.process, err = t.launcher.Start(process.Command{
		Name: "targetgate", Binary: t.binary, Dir: t.dir, LogPath: t.LogFile(), Args: t.args(),
		Env: append([]string{
			"AWS_ACCESS_KEY_ID=" + t.accessKey, "AWS_SECRET_ACCESS_KEY=secret", gorace,
			"POD_NAME=" + t.pod(), fmt.Sprintf("POD_UID=%d", t.number), "POD_NAMESPACE=" + namespace,
		}, t.Env...),
	})
	if err != nil {
		return err
	}
	return await(ctx, "targetgate to be ready", readyTimeout, t.Ready)
}

// Flags are those that were added to the flags of the bed, for RestartWith.
func (t *Targetgate) Flags() []string { return slices.Clone(t.extra) }

// RestartWith is Restart with these flags instead of those that were added before, from now on.
func (t *Targetgate) RestartWith(ctx context.Context, args ...string) error {
	t.extra = args
	return t.Restart(ctx)
}

// Keep restarts targetgate whenever it ends, as a kubelet would, until stop is called, which returns with targetgate
// running or with the error of a restart that failed. Nothing else may start, stop or kill it meanwhile.
func (t *Targetgate) Keep(ctx context.Context) (stop func() error) {
	kept, cancel := context.WithCancel(ctx)
	result := make(chan error, 1)
	go func() { result <- t.keep(kept) }()
	return func() error {
		cancel()
		return <-result
	}
}

func (t *Targetgate) keep(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
		case <-t.process.Done():
		}
		if t.Failure() == nil {
			return nil
		}
		if err := t.Restart(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
}

func (t *Targetgate) args() []string {
	return append([]string{
		"--cluster-name=" + t.clusterName, "--aws-region=eu-west-1", "--aws-vpc-id=" + t.vpc,
		"--kubeconfig=" + t.kubeconfig(), "--leader-election-namespace=" + namespace, "--shutdown-delay=0",
		fmt.Sprintf("--provision=%t", t.provisions), t.endpoints(),
		fmt.Sprintf("--webhook-bind-port=%d", t.ports.webhook),
		fmt.Sprintf("--health-probe-bind-addr=127.0.0.1:%d", t.ports.health),
		fmt.Sprintf("--metrics-bind-addr=127.0.0.1:%d", t.ports.metrics),
	}, append(t.leads, t.extra...)...)
}

// leads are for beds on which pods sleep for a part of the time that their manifests say, of which targetgate knows nothing: all of their
// deregistrations are due at once.
func leads(scale float64) []string {
	if scale == 1 {
		return nil
	}
	return []string{"--deregistration-lead-alb=1h", "--deregistration-lead-nlb=1h"}
}

// endpoints is the flag that has all of AWS be the emulator.
func (t *Targetgate) endpoints() string {
	var all []string
	for _, service := range []string{"ACM", "EC2", "Elastic Load Balancing v2", "Route 53", "STS", "Shield", "WAF Regional", "WAFV2"} {
		all = append(all, service+"="+t.awsURL)
	}
	return "--aws-api-endpoints=" + strings.Join(all, ",")
}

// Ready is nil when targetgate says that it is ready, and otherwise says which of its checks failed.
func (t *Targetgate) Ready(ctx context.Context) error {
	if err := t.process.Failure(); err != nil {
		return permanent{err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/readyz", t.ports.health), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("/readyz answers %s: %s", resp.Status, body)
	}
	return nil
}

// PID is that of the process, while it runs.
func (t *Targetgate) PID() int { return t.process.PID() }

// Kill ends targetgate as kill -9 does.
func (t *Targetgate) Kill() { t.process.Kill() }

// Stop ends targetgate as a rollout of it does.
func (t *Targetgate) Stop() {
	if t.process != nil {
		t.process.Stop(stopGrace)
	}
}

// Failure is how targetgate ended, nil while it runs.
func (t *Targetgate) Failure() error { return t.process.Failure() }

// close stops targetgate, and fails when it had a data race in any of its starts.
func (t *Targetgate) close() error {
	t.Stop()
	t.launcher.Close()
	log, err := os.ReadFile(t.LogFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, race, found := bytes.Cut(log, []byte("WARNING: DATA RACE")); found {
		return fmt.Errorf("targetgate has a data race:\n%s", race[:min(len(race), 8<<10)])
	}
	return nil
}

//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/emulator/route53"
	"github.com/targetgate/targetgate/e2e/names"
	"github.com/targetgate/targetgate/e2e/process"
	"github.com/targetgate/targetgate/e2e/suite"
)

// domain is that of all hosted zones.
const domain = "example.com"

// zoneOfBalancers is AWS's hosted zone of the names of Application Load Balancers in eu-west-1.
const zoneOfBalancers = "Z32O12XQLNTSW2"

// externalDNS is one that runs as in production: it makes records of the Ingresses of one group, in one zone.
type externalDNS struct {
	*route53.Server
	zone string
}

// startExternalDNS runs ExternalDNS for groups, with commas between them, with further flags until the test ends. It has a Route 53 of its own, with a public and a private zone
// of the same name.
func startExternalDNS(t *testing.T, groups, zoneType string, args ...string) *externalDNS {
	t.Helper()
	binary := os.Getenv("TARGETGATE_EXTERNAL_DNS")
	if binary == "" {
		t.Fatal("TARGETGATE_EXTERNAL_DNS is not set: it names the program that is built from e2e/externaldns/cmd")
	}
	server := route53.New(func(name string) (string, bool) {
		_, ok := bed.AWS.ELB.BalancerNamed(name)
		return zoneOfBalancers, ok
	})
	zones := map[string]string{"public": server.CreateZone(domain, false), "private": server.CreateZone(domain, true)}
	endpoint := httptest.NewServer(server)
	t.Cleanup(endpoint.Close)
	dir := t.TempDir()
	owner, _, _ := strings.Cut(groups, ",")
	kubeconfig := filepath.Join(dir, "kubeconfig")
	suite.Must(t, cluster.WriteKubeconfig(kubeconfig, bed.Cluster.AdminConfig()))
	launcher := process.NewLauncher()
	t.Cleanup(launcher.Close)
	running, err := launcher.Start(process.Command{
		Name: "external-dns", Binary: binary, Dir: dir, LogPath: filepath.Join(dir, "log"),
		Env: []string{
			"AWS_ENDPOINT_URL_ROUTE_53=" + endpoint.URL, "AWS_REGION=eu-west-1",
			"AWS_ACCESS_KEY_ID=external-dns", "AWS_SECRET_ACCESS_KEY=secret",
		},
		Args: append([]string{
			"--source=ingress", "--provider=aws", "--policy=sync", "--registry=txt", "--txt-owner-id=" + owner, "--domain-filter=" + domain,
			"--aws-zone-type=" + zoneType, "--annotation-filter=" + prefix + "group.name in (" + groups + ")",
			"--interval=" + interval.String(), "--kubeconfig=" + kubeconfig,
		}, args...),
	})
	suite.Must(t, err)
	t.Cleanup(func() {
		failure := running.Failure()
		running.Stop(5 * time.Second)
		if failure != nil {
			t.Error(failure)
		}
		if refusals := server.Refusals(); len(refusals) > 0 {
			t.Errorf("Route 53 has refused changes: %q", refusals)
		}
		if t.Failed() {
			log, _ := os.ReadFile(running.LogPath)
			t.Logf("ExternalDNS's log ends with:\n%s", log[max(0, len(log)-8<<10):])
		}
	})
	return &externalDNS{server, zones[zoneType]}
}

// resolver leads requests to the load balancer that the record of their host names just then.
func (d *externalDNS) resolver() *names.Names {
	return names.New(func(host string, port int) (string, error) {
		record, ok := d.Record(d.zone, host, "A")
		if !ok || record.Alias == nil {
			return "", &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return bed.AWS.Resolve(record.Alias.DNSName, port)
	})
}

// awaitRecord waits until the records of the host, one for each family of addresses, are aliases of the load balancer.
func (d *externalDNS) awaitRecord(t *testing.T, host, balancer string) {
	t.Helper()
	suite.Eventually(t, "the record of "+host, func() error {
		for _, kind := range []string{"A", "AAAA"} {
			record, ok := d.Record(d.zone, host, kind)
			if !ok || record.Alias == nil || record.Alias.DNSName != balancer {
				return fmt.Errorf("there is %+v, want an alias of %s", record, balancer)
			}
		}
		return nil
	})
}

// awaitSynchronized waits until ExternalDNS has done all that it does for what is in the cluster now.
func (d *externalDNS) awaitSynchronized(t *testing.T) {
	t.Helper()
	const rounds = 3 // the first may begin before the API server has told ExternalDNS of all, the third begins when the second is over
	want := d.Listings(d.zone) + rounds
	suite.Eventually(t, "ExternalDNS to synchronize", func() error {
		if got := d.Listings(d.zone); got < want {
			return fmt.Errorf("it has listed the records %d times, want %d", got, want)
		}
		return nil
	})
}

// history is what became of the host's record: "CREATE name", with the load balancer's. Those of both families must be the same.
func (d *externalDNS) history(t *testing.T, host string) []string {
	t.Helper()
	made := map[string][]string{}
	for _, c := range d.Changes(d.zone, 0) {
		if c.Record.Name == host && c.Record.Alias != nil {
			made[c.Record.Type] = append(made[c.Record.Type], c.Action+" "+c.Record.Alias.DNSName)
		}
	}
	if !slices.Equal(made["A"], made["AAAA"]) {
		t.Errorf("the changes of %s differ between the families of addresses: %q", host, made)
	}
	return made["A"]
}

// wantHistory fails unless that is what became of the host's record.
func (d *externalDNS) wantHistory(t *testing.T, host string, want ...string) {
	t.Helper()
	if got := d.history(t, host); !slices.Equal(got, want) {
		t.Errorf("the record of %s was changed by %q, want %q", host, got, want)
	}
}

// awaitNone waits until the hosts have no records, and there are none that say whose those were, whose names end alike.
func (d *externalDNS) awaitNone(t *testing.T, hosts ...string) {
	t.Helper()
	suite.Eventually(t, fmt.Sprintf("records of %q to be gone", hosts), func() (errs error) {
		for _, record := range d.Records(d.zone) {
			if slices.ContainsFunc(hosts, func(host string) bool { return strings.HasSuffix(record.Name, host) }) {
				errs = errors.Join(errs, fmt.Errorf("there is %+v", record))
			}
		}
		return errs
	})
}

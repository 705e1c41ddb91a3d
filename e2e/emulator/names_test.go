// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package emulator

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/load"
	"github.com/targetgate/targetgate/e2e/names"
)

// newShop is a load balancer with a listener on port 443 that answers every request itself, and the names of the test bed with an alias of it.
// roots trust its certificate, which is for shop.example.com.
func newShop(t *testing.T) (*names.Names, *x509.CertPool) {
	t.Helper()
	e := start(t, Options{})
	certificate, err := e.ACM.Add("", acm.Spec{Domains: []string{"shop.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	balancer, err := e.ELB.CreateBalancer("", state.BalancerSpec{
		Name: "shop", Subnets: []string{"subnet-0a000000000000001", "subnet-0b000000000000002"},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.ELB.CreateListener(state.ListenerSpec{
		LoadBalancer: balancer.ARN, Protocol: state.ProtocolHTTPS, Port: 443,
		SSLPolicy: "ELBSecurityPolicy-2016-08", Certificates: []string{certificate.ARN},
		Default: routing.Action{Fixed: &routing.FixedResponse{Status: "200", ContentType: "text/plain", Body: "shop"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate.Pair.Leaf)
	byName := names.New(e.Resolve)
	byName.Alias("shop.example.com", balancer.DNSName)
	return byName, roots
}

func TestClientsReachALoadBalancerByAliasOverTLS(t *testing.T) {
	byName, roots := newShop(t)
	client := http.Client{Transport: byName.Transport(roots)}
	t.Cleanup(client.CloseIdleConnections)
	response, err := client.Get("https://shop.example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); string(body) != "shop" || err != nil {
		t.Errorf("body is %q (%v), want shop", body, err)
	}
	if response, err := client.Get("https://other.example.com/"); err == nil {
		response.Body.Close()
		t.Error("a host without an alias is reached")
	}
}

func TestLoadGoesToALoadBalancerByAliasOverTLS(t *testing.T) {
	byName, roots := newShop(t)
	l, err := load.Start(t.Context(), load.Options{
		URL: "https://shop.example.com/", Rate: 200, KeepAlive: true, Dial: byName.DialContext, TLS: &tls.Config{RootCAs: roots},
	})
	if err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(10 * time.Second); l.Snapshot().Requests == 0; <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatal("no answer in 10 s")
		}
	}
	if r := l.Stop(); r.Failed != 0 {
		t.Errorf("%d of %d requests failed: %v", r.Failed, r.Requests, r.ByStatus)
	}
}

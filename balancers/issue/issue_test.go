// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/targetgate/targetgate/aws/acm"
	"github.com/targetgate/targetgate/aws/route53"
	"github.com/targetgate/targetgate/balancers/stack"
)

var (
	edge  = stack.ID{Cluster: "prod", Kind: stack.Ingresses, Name: "edge"}
	other = stack.ID{Cluster: "prod", Kind: stack.Ingresses, Name: "other"}
)

// cloud is ACM and Route 53, with a log of what was called.
type cloud struct {
	certificates map[string]acm.Certificate
	tags         map[string]map[string]string
	inUse        map[string]bool
	zones        []route53.Zone
	fail, refuse error // of everything, and of requests
	calls        []string
}

func code(c string) error { return &smithy.GenericAPIError{Code: c, Message: c} }

func (c *cloud) log(format string, args ...any) {
	c.calls = append(c.calls, fmt.Sprintf(format, args...))
}

func (c *cloud) Requested(context.Context) ([]string, error) {
	c.log("list")
	return slices.Sorted(maps.Keys(c.certificates)), c.fail
}

func (c *cloud) Certificate(_ context.Context, arn string) (acm.Certificate, error) {
	c.log("describe %s", arn)
	found, ok := c.certificates[arn]
	if !ok {
		return found, code("ResourceNotFoundException")
	}
	return found, c.fail
}

func (c *cloud) Tags(_ context.Context, arn string) (map[string]string, error) {
	c.log("tags %s", arn)
	return c.tags[arn], c.fail
}

func (c *cloud) Request(_ context.Context, r acm.Request) (string, error) {
	if c.refuse != nil {
		c.log("refused %s", strings.Join(r.Domains, " "))
		return "", c.refuse
	}
	arn := fmt.Sprint("new", len(c.certificates))
	c.log("request %s %s%s", arn, strings.Join(r.Domains, " "), r.CA)
	c.add(arn, r.Tags, acm.Certificate{Domains: r.Domains, CA: r.CA, Status: "PENDING_VALIDATION"})
	return arn, nil
}

func (c *cloud) Delete(_ context.Context, arn string) error {
	if c.inUse[arn] {
		return code("ResourceInUseException")
	}
	c.log("delete %s", arn)
	delete(c.certificates, arn)
	return c.fail
}

func (c *cloud) Zones(context.Context) ([]route53.Zone, error) {
	c.log("zones")
	return c.zones, c.fail
}

func (c *cloud) Create(_ context.Context, zone route53.Zone, name, value string) error {
	c.log("create %s %s %s", zone.ID, name, value)
	return c.fail
}

func (c *cloud) add(arn string, tags map[string]string, certificate acm.Certificate) {
	certificate.ARN = arn
	c.certificates[arn], c.tags[arn] = certificate, tags
}

func tagsOf(id stack.ID) map[string]string {
	return stack.Tags(id.Cluster, id.Kind, id.Name, "amazon_issued/a.example.com-12345678")
}

func newBed() (*cloud, *Issuer, *testclock.FakePassiveClock) {
	c := &cloud{certificates: map[string]acm.Certificate{}, tags: map[string]map[string]string{}, inUse: map[string]bool{}}
	now := testclock.NewFakePassiveClock(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	return c, &Issuer{ACM: c, DNS: c, Clock: now, Cluster: "prod", Interval: time.Hour}, now
}

func wanted(domains ...string) []stack.Certificate {
	return []stack.Certificate{{Member: "shop/web", Domains: domains, Tags: tagsOf(edge)}}
}

func none(string) bool { return false }

// took are the calls since the last time.
func (c *cloud) took() []string {
	calls := c.calls
	c.calls = nil
	return calls
}

func check(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// A certificate is requested once, its records are made in the nearest zone, and it is deleted when nobody wants it and no listener has it.
func TestLifeOfACertificate(t *testing.T) {
	c, i, now := newBed()
	c.zones = []route53.Zone{{ID: "Z1", Name: "example.com"}, {ID: "Z2", Name: "a.example.com"}, {ID: "Z3", Name: "ample.com"}}
	keep := func(used func(string) bool, certificates ...stack.Certificate) Kept {
		t.Helper()
		return i.Keep(t.Context(), edge, certificates, used)
	}
	both := wanted("a.example.com", "b.example.com")
	keep(none, both...)
	check(t, "first pass", c.took(), "list", "request new0 a.example.com b.example.com")
	if keep(none, both...); len(i.all()) != 1 {
		t.Errorf("%d certificates are known, want 1", len(i.all()))
	}
	check(t, "second pass", c.took(), "describe new0")
	c.add("new0", c.tags["new0"], acm.Certificate{Domains: both[0].Domains, Status: "PENDING_VALIDATION", Records: []acm.Record{
		{Name: "_x.a.example.com.", Value: "_y."}, {Name: "_z.b.example.com.", Value: "_y."},
	}})
	now.SetTime(now.Now().Add(waitingAge))
	keep(none, both...)
	check(t, "with records", c.took(), "describe new0", "zones", "create Z2 _x.a.example.com. _y.", "create Z1 _z.b.example.com. _y.")
	if keep(none, both...); len(c.calls) > 0 {
		t.Errorf("calls %q, want none", c.calls)
	}
	issued := c.certificates["new0"]
	issued.Status = "ISSUED"
	c.add("new0", c.tags["new0"], issued)
	now.SetTime(now.Now().Add(waitingAge))
	keep(none, both...)
	check(t, "issued", c.took(), "describe new0")

	keep(func(arn string) bool { return arn == "new0" }, wanted("c.example.com")...)
	check(t, "other hosts", c.took(), "request new1 c.example.com")
	c.inUse["new0"] = true
	if kept := keep(none, wanted("c.example.com")...); len(kept.InUse) != 1 || kept.InUse["new0"] == nil {
		t.Errorf("in use are %v, want new0", kept.InUse)
	}
	c.took()
	c.inUse["new0"] = false
	keep(none)
	check(t, "nobody wants one", c.took(), "delete new0", "delete new1")
	if kept := keep(none); len(kept.InUse) > 0 || kept.Err != nil || len(c.calls) > 0 {
		t.Errorf("%+v, calls %q, want nothing be left to do", kept, c.calls)
	}
}

// Only certificates of this cluster's stack are touched, and those of any cluster's are marked: whoever asked for one deletes it.
func TestWhoseCertificatesAre(t *testing.T) {
	c, i, _ := newBed()
	c.add("mine", tagsOf(edge), acm.Certificate{Status: "ISSUED"})
	c.add("others", tagsOf(other), acm.Certificate{Status: "ISSUED"})
	c.add("staging's", tagsOf(stack.ID{Cluster: "staging", Kind: stack.Ingresses, Name: "edge"}), acm.Certificate{Status: "ISSUED"})
	c.add("users", map[string]string{"team": "web"}, acm.Certificate{Status: "ISSUED"})
	marked, err := i.Marked(t.Context())
	if diff := cmp.Diff(map[string]bool{"mine": true, "others": true, "staging's": true}, marked); diff != "" || err != nil {
		t.Errorf("marked, error %v (-want +got):\n%s", err, diff)
	}
	stacks, err := i.Stacks(t.Context())
	slices.SortFunc(stacks, func(a, b stack.ID) int { return strings.Compare(a.Name, b.Name) })
	if diff := cmp.Diff([]stack.ID{edge, other}, stacks); diff != "" || err != nil {
		t.Errorf("stacks, error %v (-want +got):\n%s", err, diff)
	}
	c.took()
	i.Keep(t.Context(), edge, nil, none)
	check(t, "calls", c.took(), "describe mine", "delete mine")
}

// One that ACM could not issue is requested again after a while, and deleted then.
func TestFailedCertificates(t *testing.T) {
	c, i, now := newBed()
	domains := []string{"a.example.com"}
	c.add("failed", tagsOf(edge), acm.Certificate{Domains: domains, Status: "FAILED", Failure: "CAA_ERROR", Requested: now.Now()})
	i.Keep(t.Context(), edge, wanted(domains...), none)
	check(t, "at first", c.took(), "list", "tags failed", "describe failed")
	own, err := i.Of(t.Context(), edge)
	if err != nil || len(own) != 1 || Waiting(own[0]) != "ACM could not issue failed (FAILED, CAA_ERROR): it is requested again at 13:00 UTC" {
		t.Errorf("own %+v, error %v", own, err)
	}
	c.took()
	now.SetTime(now.Now().Add(requestPause - time.Second))
	i.Keep(t.Context(), edge, wanted(domains...), none)
	check(t, "before the hour", c.took(), "describe failed")
	now.SetTime(now.Now().Add(time.Second))
	i.Interval = 2 * time.Hour
	i.Keep(t.Context(), edge, wanted(domains...), none)
	check(t, "after the hour", c.took(), "request new1 a.example.com", "delete failed")
}

// What is wrong is told to the member that asks for a certificate, with what to do.
func TestFailuresOfCertificates(t *testing.T) {
	c, i, now := newBed()
	c.add("pending", tagsOf(edge), acm.Certificate{Domains: []string{"a.example.com"}, Status: "PENDING_VALIDATION", Records: []acm.Record{
		{Name: "_x.a.example.com.", Value: "_y.acm-validations.aws."},
	}})
	kept := i.Keep(t.Context(), edge, wanted("a.example.com"), none)
	const noZone = "the account has no public hosted zone for the record _x.a.example.com CNAME _y.acm-validations.aws.: make it where the domain is"
	if err := kept.Failures["shop/web"]; err == nil || err.Error() != noZone {
		t.Errorf("error %v, want %q", err, noZone)
	}
	c.took()
	if kept := i.Keep(t.Context(), edge, wanted("a.example.com"), none); kept.Failures["shop/web"] == nil || len(c.calls) > 0 {
		t.Errorf("%+v after calls %q, want the same failure and no call for a minute", kept, c.calls)
	}
	own, err := i.Of(t.Context(), edge)
	if err != nil || Waiting(own[0]) != "ACM looks for the DNS records _x.a.example.com CNAME _y.acm-validations.aws" {
		t.Errorf("own %+v, error %v", own, err)
	}
	c.fail = errors.New("no answer")
	now.SetTime(now.Now().Add(2 * time.Hour))
	if kept := i.Keep(t.Context(), edge, wanted("a.example.com"), none); kept.Failures["shop/web"] == nil || kept.Err == nil {
		t.Errorf("%+v, want the failure of the list", kept)
	}
	c.took()
	if _, err := i.Of(t.Context(), edge); err == nil || len(c.calls) > 0 {
		t.Errorf("error %v after calls %q, want that of the list before and no call for a minute", err, c.calls)
	}
	c.fail = nil
	now.SetTime(now.Now().Add(time.Minute))
	if kept := i.Keep(t.Context(), edge, nil, none); kept.Err != nil {
		t.Error(kept.Err)
	}
}

// ACM may not list or describe a certificate that was requested a short time ago: it is not requested twice.
func TestCertificatesThatACMDoesNotShowYet(t *testing.T) {
	c, i, now := newBed()
	i.Interval = time.Second
	i.Keep(t.Context(), edge, wanted("a.example.com"), none)
	hidden := c.certificates["new0"]
	delete(c.certificates, "new0")
	now.SetTime(now.Now().Add(lag - time.Second))
	c.took()
	i.Keep(t.Context(), edge, wanted("a.example.com"), none)
	check(t, "hidden", c.took(), "list", "describe new0")
	c.add("new0", tagsOf(edge), hidden)
	now.SetTime(now.Now().Add(time.Minute))
	i.Keep(t.Context(), edge, wanted("a.example.com"), none)
	check(t, "shown", c.took(), "list", "describe new0")
}

// What ACM refuses is asked for once a minute, and the member is told all the time.
func TestRefusedRequests(t *testing.T) {
	c, i, now := newBed()
	c.refuse = code("LimitExceededException")
	for range 3 {
		if kept := i.Keep(t.Context(), edge, wanted("a.example.com"), none); kept.Failures["shop/web"] == nil {
			t.Error("the member is not told")
		}
	}
	i.Keep(t.Context(), edge, wanted("b.example.com"), none)
	check(t, "at first", c.took(), "list", "refused a.example.com", "refused b.example.com")
	now.SetTime(now.Now().Add(failurePause))
	i.Keep(t.Context(), edge, wanted("a.example.com"), none)
	check(t, "after a minute", c.took(), "refused a.example.com")
	if len(i.refused) != 1 {
		t.Errorf("%d refusals are remembered, want 1", len(i.refused))
	}
}

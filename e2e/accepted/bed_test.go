// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/targetgate/targetgate/aws/accounts"
	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/provision"
	"github.com/targetgate/targetgate/aws/shield"
	"github.com/targetgate/targetgate/aws/wafclassic"
	"github.com/targetgate/targetgate/aws/wafv2"
	"github.com/targetgate/targetgate/balancers/account"
	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
	emulated "github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/waf"
	"github.com/targetgate/targetgate/e2e/emulator/wire"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// cloud is an account without load balancers, with all that the SDK's calls need.
type cloud struct {
	aws        *emulated.Cloud
	view       *account.View
	applier    *apply.Applier
	reader     func() *account.View // one that knows nothing yet
	webACL     string
	classicACL string
	trustStore string
	group      string     // a security group
	config     aws.Config // of clients that are not targetgate's
	options    plan.Options
}

// inProcess sends requests without a socket.
type inProcess struct{ http.Handler }

func (p inProcess) Do(request *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	p.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

// The certificates of the account.
const (
	certificate = "arn:aws:acm:eu-west-1:123456789012:certificate/one"
	another     = "arn:aws:acm:eu-west-1:123456789012:certificate/two"
)

func newCloud(t testing.TB) *cloud {
	t.Helper()
	return newCloudOf(t, state.DefaultQuotas())
}

func newCloudOf(t testing.TB, quotas state.Quotas) *cloud {
	t.Helper()
	quotas.WildcardsPerRule = 6 // the user guide says 5, its page of quotas 6: no fault before it is sure
	return newCloudAt(t, clock.RealClock{}, emulated.Options{
		EC2: ec2.Options{Lag: &region.Range{}}, ELB: state.Options{Delays: &state.Delays{}, Quotas: &quotas},
	})
}

func newCloudAt(t testing.TB, now clock.Clock, options emulated.Options) *cloud {
	t.Helper()
	options.Region.Clock = now
	c := &cloud{aws: emulated.New(options)}
	c.aws.ELB.PutCertificate(certificate)
	c.aws.ELB.PutCertificate(another)
	c.webACL = c.aws.WAF.Add("", "acl", waf.ScopeRegional).ARN
	c.classicACL = c.aws.WAF.AddClassic("", "acl").ID
	c.trustStore = c.aws.ELB.AddTrustStore("partners", x509.NewCertPool()).ARN
	c.aws.ELB.PutPool("ipam-pool-1")
	for _, id := range []string{"eipalloc-0a", "eipalloc-0b"} {
		c.aws.ELB.PutAllocation(state.Allocation{ID: id})
	}
	c.aws.Shield.Subscribe("", true)
	group, err := c.aws.EC2.CreateSecurityGroup("", ec2.SecurityGroupSpec{Name: "given", Description: "given"})
	if err := errors.Join(err, c.aws.EC2.PutPrefixList(ec2.PrefixList{ID: "pl-0123456789abcdef0", MaxEntries: 1})); err != nil {
		t.Fatal(err)
	}
	c.group = group.ID

	endpoints := map[string]string{}
	var unlimited []budget.Rule
	for _, service := range []string{budget.ELBv2, budget.EC2, budget.Shield, budget.WAFClassic, budget.WAFv2, budget.STS} {
		endpoints[service] = "http://aws.test"
		unlimited = append(unlimited, budget.Rule{Service: service, Operations: regexp.MustCompile("."), Rate: 1e6, Burst: 1e6})
	}
	c.config = aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKIATEST", "secret", ""),
		HTTPClient: inProcess{wire.New(c.aws, wire.Options{Clock: now, Limits: &wire.Limits{}})},
	}
	known := accounts.New(c.config, accounts.Settings{Endpoints: endpoints, Throttle: unlimited})
	c.config.BaseEndpoint = aws.String("http://aws.test")
	calls := apply.Calls{
		ELB: provision.NewELB(known, budget.ClassProvision), EC2: provision.NewEC2(known, budget.ClassProvision),
		WAF: wafv2.NewClient(known, budget.ClassProvision), WAFClassic: wafclassic.NewClient(known, budget.ClassProvision),
		Shield: shield.NewClient(known, budget.ClassProvision),
	}
	c.reader = func() *account.View {
		return &account.View{
			ELB: provision.NewELB(known, budget.ClassProvision), EC2: provision.NewEC2(known, budget.ClassProvision),
			WAF: wafv2.NewClient(known, budget.ClassProvision), WAFClassic: wafclassic.NewClient(known, budget.ClassProvision),
			Shield: shield.NewClient(known, budget.ClassProvision), Clock: now, Cluster: cluster, VPC: ec2.DefaultVPCID,
			Interval: time.Hour,
		}
	}
	c.view = c.reader()
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c.applier = &apply.Applier{
		Calls: calls, Late: calls, Bindings: fake.NewClientBuilder().WithScheme(scheme).Build(), View: c.view, VPC: ec2.DefaultVPCID,
	}
	return c
}

const cluster = "prod-1"

// facts are what is looked up in AWS.
func (c *cloud) facts() lookup.Answers {
	out := lookup.Answers{
		SecurityGroups: map[string][]string{"given": {c.group}},
		TargetGroups:   map[string]lookup.Named{"gone": {}},
		TrustStores:    map[string]lookup.Named{"partners": {ARN: c.trustStore}},
		WebACLs:        map[string]lookup.Named{"acl": {ARN: c.webACL}},
		ClassicACLs:    map[string]lookup.Named{c.classicACL: {ARN: c.classicACL}},
		Certificates:   []lookup.Certificate{{ARN: certificate, Domains: []string{"*.example.com", "example.com"}}},
	}
	for _, subnet := range c.aws.EC2.FirstVPC().Subnets {
		out.Subnets = append(out.Subnets, lookup.Subnet{
			ID: subnet.ID, Zone: subnet.Zone, Locale: "availability-zone", Free: 100, IPv6: subnet.CIDR6.IsValid(), Public: true,
			Tags: subnet.Tags,
		})
	}
	return out
}

// refusal is what AWS has refused.
type refusal struct {
	step steps.Step
	err  error
}

func (r refusal) String() string { return fmt.Sprintf("%s: %s", r.step, awserr.Message(r.err)) }

// apply has AWS be as is wanted. It returns what AWS refuses.
func (c *cloud) apply(t testing.TB, wanted stack.Stack) (refusals []refusal) {
	t.Helper()
	seen, err := c.view.Stack(t.Context(), wanted.ID)
	if err != nil {
		t.Fatal(err)
	}
	planned, overflow := plan.Make(wanted, seen, c.options)
	if len(overflow) > 0 {
		t.Errorf("the load balancer has no room for %v", overflow)
	}
	result := c.applier.Run(t.Context(), apply.Pass{ID: wanted.ID, Plan: planned, Unsettled: func(string) time.Duration { return 0 }})
	for _, failure := range append(slices.Clone(result.Failures), result.Later...) {
		refusals = append(refusals, refusal{failure.Step, failure.Err})
		if !awserr.IsDefinite(failure.Err) {
			t.Errorf("no answer of AWS: %v", refusals[len(refusals)-1])
		}
	}
	if len(refusals) == 0 && len(result.Done) != len(planned) {
		t.Errorf("%d of %d steps were done; waits for %+v, left out %v", len(result.Done), len(planned), result.Waits, result.LeftOut)
	}
	return refusals
}

// again is what is wanted in a second pass, which reads what there is, with its steps.
func (c *cloud) again(t testing.TB, in input.Input) (stack.Stack, steps.Plan) {
	t.Helper()
	in.Seen = c.seen(t, in)
	wanted, _ := ingress.Build(in)
	planned, _ := plan.Make(wanted, in.Seen, c.options)
	return wanted, planned
}

// seen is what there is, in full as far as it is compared with what is wanted.
func (c *cloud) seen(t testing.TB, in input.Input) stack.Stack {
	t.Helper()
	id := stack.ID{Cluster: cluster, Kind: stack.Ingresses, Name: in.Group.String()}
	view := c.reader()
	var bindings v1beta1.TargetGroupBindingList
	if err := c.applier.Bindings.List(t.Context(), &bindings); err != nil {
		t.Fatal(err)
	}
	look := func() {
		t.Helper()
		var err error
		if in.Seen, err = view.Stack(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		for i := range bindings.Items {
			in.Seen.Bindings = append(in.Seen.Bindings, apply.Binding(&bindings.Items[i]))
		}
	}
	look()
	wanted, _ := ingress.Build(in)
	if _, err := view.Complete(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	look()
	return in.Seen
}

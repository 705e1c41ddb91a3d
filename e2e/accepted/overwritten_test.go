// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package accepted

import (
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/go-logr/logr"
	networkingv1 "k8s.io/api/networking/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/targetgate/targetgate/balancers/apply"
	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/annotation"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/stack"
	emulated "github.com/targetgate/targetgate/e2e/emulator/cloud"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/region"
	"github.com/targetgate/targetgate/e2e/emulator/state"
)

type (
	ec2Tag         = ec2types.Tag
	ec2Range       = ec2types.IpRange
	ec2Permission  = ec2types.IpPermission
	elbCertificate = elbtypes.Certificate
)

// shapes are groups that between them use all that a stack can have, by what they are about.
var shapes = map[string]func(*member){
	"plain": func(*member) {},
	"HTTPS": func(m *member) {
		m.annotate("certificate-arn", certificate+","+another)
		m.annotate("ssl-policy", "ELBSecurityPolicy-TLS13-1-2-2021-06")
		m.annotate("mutual-authentication", `[{"port":443,"mode":"verify","trustStore":"partners","ignoreClientCertificateExpiry":true}]`)
		m.annotate("listener-attributes.HTTPS-443", "routing.http.response.server.enabled=false")
		m.annotate("jwt-validation", `{"jwksEndpoint":"https://idp.example/keys","issuer":"idp",`+
			`"additionalClaims":[{"format":"string-array","name":"aud","values":["a","b"]}]}`)
		m.annotate("listen-ports", `[{"HTTPS":443}]`)
	},
	"OpenID Connect": func(m *member) {
		m.annotate("auth-type", "oidc")
		m.annotate("auth-idp-oidc", strings.Replace(provider("https"), "{", `{"authenticationRequestExtraParams":{"prompt":"login"},`, 1))
		m.annotate("listen-ports", `[{"HTTPS":443}]`)
	},
	"Cognito": func(m *member) {
		m.annotate("auth-type", "cognito")
		m.annotate("auth-idp-cognito", pool)
		m.annotate("listen-ports", `[{"HTTPS":443}]`)
	},
	"rules": func(m *member) {
		m.annotate("actions.web", strings.Replace(forwardTo("web 3", "other 1"), `}]}`,
			`}],"targetGroupStickinessConfig":{"enabled":true,"durationSeconds":60}}`, 1))
		m.annotate("actions.act", `{"type":"redirect","redirectConfig":{"statusCode":"HTTP_302","host":"new.#{host}","path":"/new","query":"a=b"}}`)
		m.annotate("conditions.act", `[{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-A","values":["a"]}},`+
			`{"field":"query-string","queryStringConfig":{"values":[{"key":"a","value":"b"},{"key":"c","value":"d"}]}}]`)
		m.annotate("conditions.web", `[{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}},{"field":"http-header","httpHeaderConfig":{"httpHeaderName":"X-A","regexValues":["^a","^b"]}}]`)
		m.annotate("transforms.web", `[{"type":"url-rewrite","urlRewriteConfig":{"rewrites":[{"regex":"^/a(.*)","replace":"/$1"}]}}]`)
		m.path().Backend.Service.Port = networkingv1.ServiceBackendPort{Name: "use-annotation"}
		m.ingress.Spec.Rules[0].HTTP.Paths[1].PathType = new(networkingv1.PathTypeExact) // AWS counts the other as two values
	},
	"guarded": func(m *member) {
		m.annotate("wafv2-acl-arn", "WEBACL")
		m.annotate("shield-advanced-protection", "true")
		m.annotate("minimum-load-balancer-capacity", "CapacityUnits=1000")
		m.annotate("ipam-ipv4-pool-id", "ipam-pool-1")
		m.annotate("scheme", "internet-facing")
		m.annotate("load-balancer-attributes", "idle_timeout.timeout_seconds=600,routing.http2.enabled=false,routing.http.xff_header_processing.mode=remove")
		m.annotate("target-group-attributes", "deregistration_delay.timeout_seconds=30,load_balancing.algorithm.type=least_outstanding_requests")
		m.annotate("tags", "team=edge,cost=1")
		m.annotate("inbound-cidrs", "10.0.0.0/8,192.168.0.0/16")
		m.annotate("healthcheck-path", "/health")
		m.annotate("target-control-port.web.80", "3000")
	},
	"subnets by ID": func(m *member) {
		m.annotate("subnets", "subnet-0a000000000000001,subnet-0b000000000000002")
		m.annotate("security-groups", "given")
		m.annotate("manage-backend-security-group-rules", "true")
		m.annotate("target-type", "instance")
	},
	"in front": func(m *member) {
		m.annotate("scheme", "internet-facing")
		m.annotate("enable-frontend-nlb", "true")
		m.annotate("frontend-nlb-scheme", "internet-facing")
		m.annotate("frontend-nlb-subnets", "subnet-0a000000000000001,subnet-0b000000000000002")
		m.annotate("frontend-nlb-eip-allocations", "eipalloc-0a,eipalloc-0b")
		m.annotate("frontend-nlb-attributes", "load_balancing.cross_zone.enabled=true")
		m.annotate("frontend-nlb-tags", "team=edge")
		m.annotate("listen-ports", `[{"HTTP":80}]`)
	},
}

func (m *member) annotate(name, value string) { m.ingress.Annotations[annotation.Prefix+name] = value }

// served is a group that has been served for a while.
type served struct {
	*laggard
	in input.Input
	// theirs are the names of what somebody else has made, by the fields that may name it.
	theirs map[string]string
}

func newServed(t *testing.T, shape func(*member)) *served {
	t.Helper()
	clock := testclock.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	c := newCloudAt(t, clock, emulated.Options{EC2: ec2.Options{Lag: &region.Range{}}, ELB: state.Options{Delays: &state.Delays{}}})
	m := newMember("a")
	shape(m)
	s := &served{laggard: &laggard{c, clock}, in: inputOf(c, []*member{m})}
	group, err := c.aws.ELB.CreateGroup("", state.GroupSpec{
		Name: "theirs", Protocol: state.ProtocolHTTP, Port: 80, VPC: ec2.DefaultVPCID, TargetType: state.TypeIP,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.theirs = map[string]string{"Ref.ID": group.ARN, "MutualAuth.TrustStore": c.aws.ELB.AddTrustStore("theirs", x509.NewCertPool()).ARN}
	s.in.Options.AddZones = true // without it, a load balancer keeps to the zones that it has, whoever has chosen them
	if _, faults := ingress.Build(s.in); len(faults) > 0 {
		t.Fatalf("faults %v", faults)
	}
	if err := s.passes(t); err != nil {
		t.Fatal(err)
	}
	s.clock.Step(10 * time.Minute)
	return s
}

// passes makes those that an interval brings, until one has nothing to do.
func (s *served) passes(t *testing.T) error {
	t.Helper()
	in := s.in
	in.Rediscover = true // the first one looks for subnets
	for range 50 {
		id, planned := s.plan(t, s.view, in)
		if in.Rediscover = false; len(planned) == 0 {
			return nil
		}
		result := s.applier.Run(t.Context(), apply.Pass{ID: id, Plan: planned, Unsettled: func(string) time.Duration { return 0 }})
		for _, failure := range result.Failures {
			return fmt.Errorf("%s fails: %w", failure.Step, failure.Err)
		}
		s.clock.Step(max(result.Again, 10*time.Second))
	}
	return errors.New("there is always something left to do")
}

// excused are changes that stay, with the reason: texts that begin what the site says.
var excused = map[string]string{
	"MutualAuth.Mode: off becomes": "without the annotation mutual-authentication it is others' business",
	"Weighted.Weight: of a single": "the weight of a single target group does nothing",
	"Forward.Sticky: of a single":  "the stickiness of a single target group does nothing",
}

// mended are changes that somebody has to take back, with the reason.
var mended = map[string]string{
	"LoadBalancer.Tags: " + stack.ClusterTag:  "by it targetgate tells what is its own, and its IAM policy lets it change nothing without",
	"TargetGroup.Tags: " + stack.ClusterTag:   "likewise",
	"SecurityGroup.Tags: " + stack.ClusterTag: "likewise",
}

func isIn(list map[string]string, s site) bool {
	for prefix := range list {
		if strings.HasPrefix(s.String(), prefix) {
			return true
		}
	}
	return false
}

// Each field of a stack that is seen, in each way that AWS allows: whatever somebody changes is back an interval later.
func TestEachChangeBySomebodyElseIsTakenBack(t *testing.T) {
	log.SetLogger(logr.Discard())
	changed, tried := map[string]bool{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		t.Run(name, func(t *testing.T) {
			s := newServed(t, shapes[name])
			for i := 0; ; i++ {
				y, sites := s.sites(t)
				if i >= len(sites) {
					return
				}
				key := fmt.Sprintf("%s of %T, %d above", sites[i], sites[i].owner, len(sites[i].above))
				if tried[key] || isIn(excused, sites[i]) {
					continue
				}
				if !y.takes(sites[i]) {
					continue
				}
				changed[sites[i].field], tried[key] = true, true
				if !s.isBack(t, y, sites[i]) {
					s = newServed(t, shapes[name])
				}
			}
		})
	}
	fields := map[string]bool{}
	fieldsOf(reflect.TypeFor[stack.Stack](), fields)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if fields[field] && !changed[field] && !isFixed(field) {
			t.Errorf("nothing changes %s: have a shape with it, or say why nobody can change it", field)
		}
	}
}

// histories are more before a change of plans or of the view is committed: go test ./e2e/accepted -run SomebodyElse -overwritten 1000
var histories = flag.Uint64("overwritten", 40, "how many groups somebody changes at random")

// Several changes at once, again and again.
func TestChangesBySomebodyElseAtOnceAreTakenBack(t *testing.T) {
	log.SetLogger(logr.Discard())
	names := slices.Sorted(maps.Keys(shapes))
	for seed := range *histories {
		random := rand.New(rand.NewPCG(seed, 45))
		name := pick(random, names)
		s := newServed(t, shapes[name])
		for range 3 {
			y, _ := s.sites(t)
			y.before = y.dump()
			var done []site
			for range 1 + random.IntN(4) {
				now, sites := s.sites(t)
				at := pick(random, sites)
				// What somebody has made themselves is theirs to change.
				if !isIn(excused, at) && !isIn(mended, at) && y.hasSeen(at.owner) && now.do(at) == nil {
					done = append(done, at)
				}
				s.clock.Step(time.Duration(random.IntN(600)) * time.Second)
			}
			if !s.isBack(t, y, done...) {
				t.Fatalf("seed %d, group %s", seed, name)
			}
		}
	}
}

// sites are what can be changed, of a copy of what there is, and somebody who has seen what there is.
func (s *served) sites(t *testing.T) (*somebody, []site) {
	t.Helper()
	in := s.in
	in.Seen = s.seen(t, s.in)
	wanted, _ := ingress.Build(in)
	return s.somebody(t, in.Seen), sitesOf(copyOf(t, in.Seen), wanted, s.theirs)
}

// takes makes the change. It reports whether AWS takes it, and shows another thing than before.
func (y *somebody) takes(at site) bool {
	y.t.Helper()
	y.before = y.dump()
	return y.do(at) == nil && !maps.Equal(y.before, y.dump())
}

// isBack reports whether what is there is as it was, an interval later.
func (s *served) isBack(t *testing.T, y *somebody, sites ...site) bool {
	t.Helper()
	s.clock.Step(time.Hour)
	if len(sites) == 1 && isIn(mended, sites[0]) {
		_ = s.passes(t) // it fails
		y.mend(sites[0])
		s.clock.Step(time.Hour)
	}
	if err := s.passes(t); err != nil {
		t.Errorf("%v: %v", sites, err)
		return false
	}
	if diff := difference(y.before, y.dump()); diff != "" {
		t.Errorf("%v: (-before +an interval later):\n%s", sites, diff)
		return false
	}
	return true
}

// mend gives the cluster's tag back to what has lost it.
func (y *somebody) mend(at site) {
	y.t.Helper()
	var err error
	tags := map[string]string{stack.ClusterTag: cluster}
	switch owner := at.owner.(type) {
	case *stack.LoadBalancer:
		err = y.tags(owner.ARN, nil, tags)
	case *stack.TargetGroup:
		err = y.tags(owner.ARN, nil, tags)
	case *stack.SecurityGroup:
		err = y.tags(owner.ID, nil, tags)
	}
	if err != nil {
		y.t.Fatal(err)
	}
}

func difference(before, now map[string]string) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(merged(before, now))) {
		if was, is := before[name], now[name]; was != is {
			from := 0
			for from < min(len(was), len(is)) && was[from] == is[from] {
				from++
			}
			from = max(0, from-40)
			fmt.Fprintf(&out, "%s:\n- ...%.300s\n+ ...%.300s\n", name, was[min(from, len(was)):], is[min(from, len(is)):])
		}
	}
	return out.String()
}

func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

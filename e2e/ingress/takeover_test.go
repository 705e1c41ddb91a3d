//go:build e2e

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/e2e/cluster"
	"github.com/targetgate/targetgate/e2e/emulator/acm"
	"github.com/targetgate/targetgate/e2e/emulator/ec2"
	"github.com/targetgate/targetgate/e2e/emulator/routing"
	"github.com/targetgate/targetgate/e2e/emulator/state"
	"github.com/targetgate/targetgate/e2e/emulator/waf"
	"github.com/targetgate/targetgate/e2e/suite"
	"github.com/targetgate/targetgate/e2e/testbed"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

func mustPrefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

// pair is a group of two Ingresses in two namespaces, with what the contract says of many things: a certificate, attributes, tags,
// an order, a web ACL, an action of an annotation, several types of path.
type pair struct {
	group                  string
	first, second          *testbed.App
	certificate, acl       string
	firstIngress, secondIn *networkingv1.Ingress
}

// newPair deploys the apps, whose Services have names that begin with that.
func newPair(t *testing.T, name string) *pair {
	t.Helper()
	certificate, err := bed.AWS.ACM.Add("", acm.Spec{Domains: []string{name + ".example.com"}})
	suite.Must(t, err)
	p := &pair{group: name, first: newApp(name + "-1"), second: newApp(name + "-2"), certificate: certificate.ARN}
	p.acl = bed.AWS.WAF.Add("", name, waf.ScopeRegional).ARN
	for _, app := range []*testbed.App{p.first, p.second} {
		app.Gated = false // so that pods are as they are with either controller
		bed.Deploy(t, app)
	}
	first := rule(p.first.Name+".example.com", "/ "+p.first.Name, "/exact "+p.first.Name)
	first.HTTP.Paths[1].PathType = ptr.To(networkingv1.PathTypeExact)
	p.firstIngress = newIngress(p.first.Name, []networkingv1.IngressRule{first}, "group.name="+name, "target-type=ip", "scheme=internet-facing",
		`listen-ports=[{"HTTP": 80}, {"HTTPS": 443}]`, "certificate-arn="+p.certificate, "wafv2-acl-arn="+p.acl,
		"load-balancer-attributes=idle_timeout.timeout_seconds=120", "minimum-load-balancer-capacity=CapacityUnits=0")
	second := rule(p.second.Name+".example.com", "/ "+p.second.Name, "/old moved", " away", " hidden", "/zero zero", "/kept kept", "/free free")
	for i := range second.HTTP.Paths[1:] {
		second.HTTP.Paths[i+1].PathType = ptr.To(networkingv1.PathTypeImplementationSpecific)
		second.HTTP.Paths[i+1].Backend.Service.Port = networkingv1.ServiceBackendPort{Name: "use-annotation"}
	}
	away := `[{"field": "path-pattern", "pathPatternConfig": {"regexValues": ["^/a.*$"]}}]`
	alone := func(weight, stickiness string) string {
		return `{"type": "forward", "forwardConfig": {"targetGroups": [{"serviceName": "` + p.second.Name + `", "servicePort": 80` + weight +
			`}], "targetGroupStickinessConfig": ` + stickiness + `}}`
	}
	p.secondIn = newIngress(p.second.Name, []networkingv1.IngressRule{second}, "group.name="+name, "target-type=ip", "group.order=10",
		"tags=team=two,elbv2.k8s.aws/cluster=other,ingress.k8s.aws/resource=mine", // of which the last two are left out
		`actions.moved={"type": "redirect", "redirectConfig": {"protocol": "HTTPS", "port": "443", "statusCode": "HTTP_301"}}`,
		"healthcheck-path=/healthz", "target-group-attributes=deregistration_delay.timeout_seconds=30",
		"target-control-port."+p.second.Name+".80=3000",
		`actions.away={"type": "redirect", "redirectConfig": {"host": "other.example.com", "statusCode": "HTTP_302"}}`,
		"actions.hidden="+alone("", "{}"), "conditions.away="+away, "conditions.hidden="+away,
		"actions.zero="+alone(`, "weight": 0`, "{}"), "actions.kept="+alone(`, "weight": 100`, `{"enabled": true, "durationSeconds": 60}`),
		"actions.free="+alone("", `{"enabled": false, "durationSeconds": 90}`))
	return p
}

// want is what aws-load-balancer-controller makes of the pair, by the contract.
func (p *pair) want(t *testing.T) estate {
	t.Helper()
	name, cluster := p.group, bed.ClusterName()
	team := func(tags map[string]string) map[string]string {
		tags = maps.Clone(tags)
		tags["team"] = "two"
		return tags
	}
	balancer, managed := hashed(readable(name, 17), cluster, name, "internet-facing"), hashed(readable(name, 17), cluster, name)
	backend := hashed("traffic-"+readable(cluster, 232), cluster)
	firstGroup, secondGroup := p.targetGroup(t, p.first, 0), p.targetGroup(t, p.second, 3000)
	secondGroup.HealthCheck.Path, secondGroup.Tags = "/healthz", team(secondGroup.Tags)
	secondGroup.Attributes = map[string]string{"deregistration_delay.timeout_seconds": "30"}
	tags := func(part string) map[string]string { return stackTags(name, part) }
	to := func(priority int, host, path string, action routing.Action, tags map[string]string) rules {
		return rules{state.ListenerRule{Priority: priority, Action: action, Conditions: []routing.Condition{
			{Field: "host-header", Values: []string{host}}, {Field: "path-pattern", Values: []string{path}},
		}}, tags}
	}
	forward := func(group targetGroup) routing.Action {
		return routing.Action{Forward: &routing.Forward{Groups: []routing.Weighted{{Group: group.Name, Weight: 1}}}}
	}
	moved := routing.Action{Redirect: &routing.Redirect{
		Protocol: "HTTPS", Host: "#{host}", Port: "443", Path: "/#{path}", Query: "#{query}", Status: "HTTP_301",
	}}
	away := to(5, "", "", routing.Action{Redirect: &routing.Redirect{
		Protocol: "#{protocol}", Host: "other.example.com", Port: "#{port}", Path: "/#{path}", Query: "#{query}", Status: "HTTP_302",
	}}, team(tags("80:5")))
	away.Conditions[0].Values, away.Conditions[1] = []string{p.second.Name + ".example.com"}, routing.Condition{
		Field: "path-pattern", Regex: []string{"^/a.*$"}, // and no rule for what stands behind it with the same conditions
	}
	alone := func(weight, sticky, off int) routing.Action {
		return routing.Action{Forward: &routing.Forward{
			Groups: []routing.Weighted{{Group: secondGroup.Name, Weight: weight}}, Sticky: sticky, StickyOff: off,
		}}
	}
	nothing := routing.Action{Fixed: &routing.FixedResponse{Status: "404", ContentType: "text/plain"}}
	one, two := p.first.Name+".example.com", p.second.Name+".example.com"
	return estate{
		Group: name,
		LoadBalancer: state.BalancerSpec{
			Name: balancer, Type: state.Application, Scheme: "internet-facing", AddressType: state.IPv4, ByAPI: true,
			Subnets:        []string{"subnet-0a000000000000001", "subnet-0b000000000000002", "subnet-0c000000000000003"},
			SecurityGroups: []string{managed, backend}, Tags: team(tags("LoadBalancer")),
		},
		Attributes: map[string]string{"idle_timeout.timeout_seconds": "120"}, WebACL: p.acl,
		SecurityGroups: []securityGroup{
			{SecurityGroupSpec: ec2.SecurityGroupSpec{
				Name: managed, Description: "[k8s] Managed SecurityGroup for LoadBalancer", Tags: team(tags("ManagedLBSecurityGroup")),
			}, Rules: []string{"tcp 443-443 0.0.0.0/0", "tcp 80-80 0.0.0.0/0"}},
			{SecurityGroupSpec: ec2.SecurityGroupSpec{
				Name: backend, Description: "[k8s] Shared Backend SecurityGroup for LoadBalancer",
				Tags: map[string]string{"elbv2.k8s.aws/cluster": cluster, "elbv2.k8s.aws/resource": "backend-sg"},
			}},
		},
		TargetGroups: []targetGroup{firstGroup, secondGroup},
		Listeners: []listener{
			{ListenerSpec: state.ListenerSpec{Protocol: "HTTP", Port: 80, Default: nothing, Tags: team(tags("80"))}, Rules: []rules{
				to(1, one, "/exact", forward(firstGroup), tags("80:1")), to(2, one, "/*", forward(firstGroup), tags("80:2")),
				to(3, two, "/*", forward(secondGroup), team(tags("80:3"))), to(4, two, "/old", moved, team(tags("80:4"))), // by their types
				away, to(6, two, "/zero", alone(0, 0, 0), team(tags("80:6"))), to(7, two, "/kept", alone(100, 60, 0), team(tags("80:7"))),
				to(8, two, "/free", alone(1, 0, 90), team(tags("80:8"))),
			}},
			{ListenerSpec: state.ListenerSpec{
				Protocol: "HTTPS", Port: 443, Default: nothing, Tags: tags("443"), SSLPolicy: "ELBSecurityPolicy-2016-08",
				Certificates: []string{p.certificate, p.certificate}, // the default one is in the list for SNI, too
			}, Rules: []rules{
				to(1, one, "/exact", forward(firstGroup), tags("443:1")), to(2, one, "/*", forward(firstGroup), tags("443:2")),
			}},
		},
	}
}

func readable(text string, most int) string {
	text = strings.ReplaceAll(text, "-", "")
	return text[:min(most, len(text))]
}

// targetGroup is that of port 80 of the app's Service, without annotations.
func (p *pair) targetGroup(t *testing.T, app *testbed.App, controlPort int) targetGroup {
	t.Helper()
	controlled := ""
	if controlPort != 0 {
		controlled = strconv.Itoa(controlPort)
	}
	service := &corev1.Service{}
	suite.Must(t, bed.Client.Get(t.Context(), app.Key(), service))
	return targetGroup{
		GroupSpec: state.GroupSpec{
			Name: hashed(readable(app.Name, 8)+"-"+readable(app.Name, 8), bed.ClusterName(), p.group, app.Name, app.Name, string(service.UID),
				"80", "8080", "ip", "HTTP", "HTTP1", controlled),
			Protocol: "HTTP", ProtocolVersion: "HTTP1", Port: 8080, VPC: ec2.DefaultVPCID, TargetType: "ip", AddressType: state.IPv4,
			ControlPort: controlPort,
			HealthCheck: state.HealthCheck{
				Protocol: "HTTP", Port: "traffic-port", Path: "/", Interval: 15, Timeout: 5, HealthyThreshold: 2, UnhealthyThreshold: 2, Matcher: "200",
			},
		},
		Tags: stackTags(p.group, fmt.Sprintf("%s/%s-%s:80", app.Name, app.Name, app.Name)),
	}
}

// binding is that of an app, to the target group of that name and ARN.
func (p *pair) binding(app *testbed.App, name, arn, backend string) *v1beta1.TargetGroupBinding {
	tcp := v1beta1.NetworkingProtocol("TCP")
	ports := []v1beta1.NetworkingPort{{Protocol: &tcp, Port: ptr.To(intstr.FromInt32(8080))}}
	if app == p.second {
		ports = append(ports, v1beta1.NetworkingPort{Protocol: &tcp, Port: ptr.To(intstr.FromInt32(3000))})
	}
	peer := []v1beta1.NetworkingPeer{{SecurityGroup: &v1beta1.SecurityGroup{GroupID: backend}}}
	var rules []v1beta1.NetworkingIngressRule
	for _, port := range ports {
		rules = append(rules, v1beta1.NetworkingIngressRule{From: peer, Ports: []v1beta1.NetworkingPort{port}})
	}
	return &v1beta1.TargetGroupBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Name, Name: name, Labels: map[string]string{"ingress.k8s.aws/stack": p.group},
		},
		Spec: v1beta1.TargetGroupBindingSpec{
			TargetGroupARN: arn, TargetType: ptr.To(v1beta1.TargetTypeIP), TargetGroupProtocol: ptr.To(v1beta1.Protocol("HTTP")),
			ServiceRef:    v1beta1.ServiceReference{Name: app.Name, Port: intstr.FromInt32(80)},
			IPAddressType: ptr.To(v1beta1.IPAddressTypeIPv4), VpcID: ec2.DefaultVPCID,
			Networking: &v1beta1.TargetGroupBindingNetworking{Ingress: rules},
		},
	}
}

// backendGroup is the ID of the security group that all load balancers share, once it is shown.
func backendGroup(t *testing.T) (group string) {
	t.Helper()
	suite.Eventually(t, "the security group that load balancers share", func() error {
		all, err := tagged()
		for id, tags := range all {
			if tags["elbv2.k8s.aws/resource"] == "backend-sg" {
				group = id
				return err
			}
		}
		return errors.Join(err, errors.New("there is none"))
	})
	return group
}

// Rule 13: what aws-load-balancer-controller has made is adopted without a change, in AWS and in the cluster.
func TestTakeOverChangesNothing(t *testing.T) {
	p := newPair(t, "adopted")
	bed.AwaitRolled(t, p.first)
	bed.AwaitRolled(t, p.second)
	suite.Eventually(t, "nothing to linger of the test before, which the next process would delete", func() error {
		left, err := suite.MadeFor(bed.AWS)
		if len(left) > 0 {
			err = fmt.Errorf("%v is left", left)
		}
		return err
	})
	flags := bed.Targetgate.Flags()
	bed.WithFlags(t, append(flags, "--provision=false")...) // so that it registers targets alone
	want := p.want(t)
	groups, host, err := want.layDown()
	suite.Must(t, err)
	suite.Eventually(t, "the web ACL", func() error {
		balancer, _ := bed.AWS.ELB.BalancerNamed(host)
		return bed.AWS.WAF.Associate("", p.acl, balancer.ARN)
	})
	backend := backendGroup(t)
	for i, app := range []*testbed.App{p.first, p.second} {
		name := want.TargetGroups[i].Name
		suite.Must(t, bed.Client.Create(t.Context(), p.binding(app, name, groups[name], backend)))
	}
	for _, ingress := range []*networkingv1.Ingress{p.firstIngress, p.secondIn} {
		ingress.Finalizers = []string{"group.ingress.k8s.aws/" + p.group}
		suite.Must(t, bed.Client.Create(t.Context(), ingress))
		ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{
			Hostname: strings.ToLower(host), Ports: []networkingv1.IngressPortStatus{{Port: 80, Protocol: "TCP"}, {Port: 443, Protocol: "TCP"}},
		}}
		suite.Must(t, bed.Client.Status().Update(t.Context(), ingress))
	}
	answers := func() error {
		return errors.Join(answeredBy(t, p.first, host, p.first.Name+".example.com", "/exact"),
			answeredBy(t, p.second, host, p.second.Name+".example.com", "/"))
	}
	suite.Eventually(t, "answers", answers)
	awaitQuiet(t) // the registrar may still add the rules of one binding while those of the other serve both
	since, began := callsSoFar(), time.Now()
	if out, code := runPlan(t, nil, "--group="+p.group); code != 0 {
		t.Errorf("plan ends with %d, want 0, as nothing would change:\n%s", code, out)
	}
	changed := p.firstIngress.DeepCopy()
	changed.Spec.Rules[0].HTTP.Paths[0].Path = "/planned"
	if out, code := runPlan(t, changed, "-f", "-"); code != 2 || !strings.Contains(out, "/planned") {
		t.Errorf("plan of a file with another path ends with %d, want 2:\n%s", code, out)
	}
	suite.Must(t, bed.Targetgate.RestartWith(t.Context(), flags...))
	suite.Eventually(t, "a pass over the group", func() error {
		return bed.WantMetric(t, `targetgate_ingress_group_failing{group="`+p.group+`"} 0`)
	})
	suite.Must(t, answers())
	if writes := writesSince(since); len(writes) > 0 {
		t.Errorf("AWS was changed: %v", writes)
	}
	requests, err := bed.Cluster.Requests()
	suite.Must(t, err)
	for _, r := range requests {
		if r.Received.After(began) && isNoticed(r) {
			t.Errorf("the cluster was changed: %s %s %s/%s", r.Verb, r.Resource, r.Namespace, r.Name)
		}
	}
	got, err := readEstate(want)
	suite.Must(t, err)
	if diff := compare(want, got); diff != "" {
		t.Errorf("in AWS there is (-want +got):\n%s", diff)
	}
	for _, ingress := range []*networkingv1.Ingress{p.firstIngress, p.secondIn} {
		suite.Must(t, bed.Client.Delete(context.Background(), ingress))
	}
	awaitGone(t, p.firstIngress, p.group)
}

// runPlan runs targetgate plan as a user with the object on its standard input, if there is one.
func runPlan(t *testing.T, object client.Object, args ...string) (out string, code int) {
	t.Helper()
	return runCommand(t, "plan", object, args...)
}

// runCommand runs a command of targetgate's as a user with the object on its standard input, if there is one.
func runCommand(t *testing.T, name string, object client.Object, args ...string) (out string, code int) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	suite.Must(t, cluster.WriteKubeconfig(kubeconfig, bed.Cluster.AdminConfig()))
	endpoints := "--aws-api-endpoints=Elastic Load Balancing v2=" + bed.AWS.URL() + ",EC2=" + bed.AWS.URL() + ",ACM=" + bed.AWS.URL()
	cmd := exec.CommandContext(t.Context(), os.Getenv("TARGETGATE_BINARY"), append([]string{
		name, "--kubeconfig=" + kubeconfig, "--cluster-name=" + bed.ClusterName(), "--aws-region=eu-west-1",
		"--aws-vpc-id=" + ec2.DefaultVPCID, endpoints,
	}, args...)...)
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID=developer", "AWS_SECRET_ACCESS_KEY=secret")
	if object != nil {
		object.GetObjectKind().SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("Ingress"))
		object.SetManagedFields(nil)
		text, err := json.Marshal(object)
		suite.Must(t, err)
		cmd.Stdin = bytes.NewReader(text)
	}
	printed, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return string(printed), exit.ExitCode()
	}
	suite.Must(t, err)
	return string(printed), 0
}

// isNoticed reports whether a user could notice the request: it writes an Ingress, or a binding beyond its status.
func isNoticed(r cluster.Request) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) &&
		(strings.HasPrefix(r.Resource, "ingresses") || r.Resource == "targetgroupbindings")
}

// compare is the difference of two estates. The order of what has none does not count.
func compare(want, got estate) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(estate{}, "Bindings"),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmpopts.SortSlices(func(a, b securityGroup) bool { return a.Name < b.Name }),
		cmpopts.SortSlices(func(a, b targetGroup) bool { return a.Name < b.Name }),
		cmpopts.SortSlices(func(a, b listener) bool { return a.Port < b.Port }),
		cmpopts.SortSlices(func(a, b string) bool { return a < b }))
}

// What targetgate makes is what aws-load-balancer-controller makes: so that one finds nothing to change either.
func TestWhatIsMadeIsWhatTheIncumbentMakes(t *testing.T) {
	t.Parallel()
	p := newPair(t, "made")
	create(t, p.firstIngress)
	create(t, p.secondIn)
	host := awaitHost(t, p.secondIn)
	suite.Eventually(t, "answers", func() error {
		return errors.Join(answeredBy(t, p.first, host, p.first.Name+".example.com", "/exact"),
			answeredBy(t, p.second, host, p.second.Name+".example.com", "/"))
	})
	want := p.want(t)
	suite.Eventually(t, "what the other controller makes", func() error {
		got, err := readEstate(want)
		if diff := compare(want, got); err == nil && diff != "" {
			err = fmt.Errorf("there is (-want +got):\n%s", diff)
		}
		return err
	})
	suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(p.firstIngress), p.firstIngress))
	if want := []string{"group.ingress.k8s.aws/" + p.group}; !slices.Equal(p.firstIngress.Finalizers, want) {
		t.Errorf("finalizers %q, want %q", p.firstIngress.Finalizers, want)
	}
	backend := backendGroup(t)
	for i, app := range []*testbed.App{p.first, p.second} {
		name := want.TargetGroups[i].Name
		groups, err := bed.AWS.ELB.Groups(state.GroupFilter{Names: []string{name}})
		suite.Must(t, err)
		wanted, got := p.binding(app, name, groups[0].ARN, backend), &v1beta1.TargetGroupBinding{}
		suite.Must(t, bed.Client.Get(t.Context(), client.ObjectKeyFromObject(wanted), got))
		if diff := cmp.Diff(wanted.Spec, got.Spec); diff != "" {
			t.Errorf("binding %s (-want +got):\n%s", name, diff)
		}
		if !maps.Equal(got.Labels, wanted.Labels) || len(got.Annotations)+len(got.OwnerReferences) > 0 {
			t.Errorf("binding %s has %v, want the labels %v alone", name, got.ObjectMeta, wanted.Labels)
		}
	}
}

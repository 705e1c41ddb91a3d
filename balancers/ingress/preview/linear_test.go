// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/targetgate/targetgate/balancers"
	awsaccount "github.com/targetgate/targetgate/balancers/account"
	"github.com/targetgate/targetgate/balancers/ingress"
	"github.com/targetgate/targetgate/balancers/ingress/input"
	"github.com/targetgate/targetgate/balancers/ingress/membership"
	"github.com/targetgate/targetgate/balancers/ingress/objects"
	"github.com/targetgate/targetgate/balancers/lookup"
	"github.com/targetgate/targetgate/balancers/lookup/answer"
	"github.com/targetgate/targetgate/balancers/plan"
	"github.com/targetgate/targetgate/balancers/stack"
	"github.com/targetgate/targetgate/balancers/steps"
)

const alb = "alb.ingress.kubernetes.io/"

// much are the things of which a group asks for n, by name. An Ingress has as much of it as fits: the rest is in others.
var much = []struct {
	name string
	make func(n int) []*networkingv1.Ingress
}{
	{"paths", func(n int) []*networkingv1.Ingress {
		return spread(n, 500, func(i *networkingv1.Ingress, n int) { withPaths(i, n, "web", "") })
	}},
	{"CIDRs x 8 ports", func(n int) []*networkingv1.Ingress {
		return spread(n, 15_000, func(i *networkingv1.Ingress, n int) {
			withPaths(i, 1, "web", "")
			i.Annotations[alb+"listen-ports"] = listen(8)
			i.Annotations[alb+"inbound-cidrs"] = list(n, func(j int) string { return fmt.Sprintf("10.%d.%d.1/32", j>>8, j&255) })
		})
	}},
	{"redirects to themselves", func(n int) []*networkingv1.Ingress {
		return spread(n, 500, func(i *networkingv1.Ingress, n int) {
			withPaths(i, n, "here", "use-annotation")
			i.Annotations[alb+"actions.here"] = `{"type":"redirect","redirectConfig":{"protocol":"HTTP","path":"/#{path}","statusCode":"HTTP_301"}}`
		})
	}},
	{"conditions", func(n int) []*networkingv1.Ingress {
		return spread(n, 400, func(i *networkingv1.Ingress, n int) {
			for j := range n {
				name := fmt.Sprint("c", j)
				withPaths(i, 1, name, "")
				i.Annotations[alb+"conditions."+name] = `[{"field":"path-pattern","pathPatternConfig":{"values":["/*a*b","/*c*d"]}},{"field":"source-ip","sourceIpConfig":{"values":["10.0.0.0/8"]}}]`
			}
		})
	}},
	{"ports", func(n int) []*networkingv1.Ingress {
		return spread(n, 1000, func(i *networkingv1.Ingress, n int) {
			withPaths(i, 5, "web", "")
			i.Annotations[alb+"listen-ports"] = listen(n)
		})
	}},
	{"names to look up", func(n int) []*networkingv1.Ingress {
		return spread(n, 32, func(i *networkingv1.Ingress, n int) {
			for j := range n {
				name := fmt.Sprint("a", j)
				withPaths(i, 1, name, "use-annotation")
				i.Annotations[alb+"actions."+name] = fmt.Sprintf(`{"type":"forward","targetGroupName":"%s-%d"}`, i.Name, j)
			}
		})
	}},
	{"tags, 100 target groups", func(n int) []*networkingv1.Ingress {
		return spread(n, 20_000, func(i *networkingv1.Ingress, n int) {
			for j := range 100 {
				withPaths(i, 1, fmt.Sprint("web-", j), "")
			}
			i.Annotations[alb+"tags"] = list(n, func(j int) string { return fmt.Sprintf("k%d=v", j) })
		})
	}},
	{"members", func(n int) []*networkingv1.Ingress {
		return spread(n, 1, func(i *networkingv1.Ingress, _ int) { withPaths(i, 1, "web", "") })
	}},
	{"members x 500 paths x 50 ports", func(n int) []*networkingv1.Ingress {
		return spread(n, 500, func(i *networkingv1.Ingress, n int) {
			withPaths(i, n, "web", "")
			i.Annotations[alb+"listen-ports"] = listen(50)
		})
	}},
}

func list(n int, text func(int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = text(i)
	}
	return strings.Join(all, ",")
}

func listen(ports int) string {
	return "[" + list(ports, func(i int) string { return fmt.Sprintf(`{"HTTP":%d}`, 1000+i) }) + "]"
}

// spread makes n of something in Ingresses of a group, so many in each at most.
func spread(n, most int, add func(*networkingv1.Ingress, int)) (all []*networkingv1.Ingress) {
	class := "alb"
	for ; n > 0; n -= most {
		i := &networkingv1.Ingress{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "hostile", Name: fmt.Sprintf("i-%06d", len(all)), UID: types.UID(fmt.Sprint(len(all))),
				Annotations: map[string]string{alb + "group.name": "edge", alb + "target-type": "ip"},
			},
			Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{{
				IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}},
			}}},
		}
		add(i, min(n, most))
		all = append(all, i)
	}
	return all
}

func withPaths(i *networkingv1.Ingress, n int, service, port string) {
	http, kind := i.Spec.Rules[0].HTTP, networkingv1.PathTypeImplementationSpecific
	backend := networkingv1.ServiceBackendPort{Number: 80}
	if port != "" {
		backend = networkingv1.ServiceBackendPort{Name: port}
	}
	for range n {
		http.Paths = append(http.Paths, networkingv1.HTTPIngressPath{
			Path: fmt.Sprintf("/*%s*%d", i.Name, len(http.Paths)), PathType: &kind,
			Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: service, Port: backend}},
		})
	}
}

// lists is a cluster with these Ingresses, a class, and all Services.
type lists struct {
	client.Client
	ingresses []networkingv1.Ingress
}

func (l *lists) List(_ context.Context, to client.ObjectList, _ ...client.ListOption) error {
	switch to := to.(type) {
	case *networkingv1.IngressList:
		to.Items = append([]networkingv1.Ingress(nil), l.ingresses...)
		return nil
	case *networkingv1.IngressClassList:
		to.Items = []networkingv1.IngressClass{{
			ObjectMeta: metav1.ObjectMeta{Name: "alb"}, Spec: networkingv1.IngressClassSpec{Controller: "ingress.k8s.aws/alb"},
		}}
		return nil
	}
	return meta.SetList(to, nil)
}

func (l *lists) Get(_ context.Context, key client.ObjectKey, to client.Object, _ ...client.GetOption) error {
	switch to := to.(type) {
	case *networkingv1.Ingress:
		l.ingresses[0].DeepCopyInto(to)
	case *corev1.Service:
		to.Namespace, to.Name, to.UID = key.Namespace, key.Name, types.UID(key.Name)
		to.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	}
	return nil
}

// none is an ELB without any target group. It counts calls.
type none struct {
	awsaccount.ELB
	calls int
}

func (n *none) DescribeTargetGroups(_ context.Context, in *elbv2.DescribeTargetGroupsInput) (*elbv2.DescribeTargetGroupsOutput, error) {
	if n.calls++; len(in.Names) > 0 {
		return nil, &smithy.GenericAPIError{Code: "TargetGroupNotFound"}
	}
	return &elbv2.DescribeTargetGroupsOutput{}, nil
}

// figure is what one group costs: time in milliseconds, memory that is allocated in MiB, calls of AWS.
type figure struct {
	Of                               string
	N, Bytes, Calls                  int
	Pass, Preview, Explain, Warnings float64 // ms: Build and plan with what is read for them, the preview's text, explain, all reviews
	MiB                              float64
}

func (f figure) total() float64 { return f.Pass + f.Preview + f.Explain + f.Warnings }

// measure measures one group.
func measure(name string, ingresses []*networkingv1.Ingress, n int) (out figure, err error) {
	out = figure{Of: name, N: n}
	c := &lists{}
	for _, i := range ingresses {
		c.ingresses = append(c.ingresses, *i)
		out.Bytes += i.Size()
	}
	aws := &none{}
	options := input.DefaultOptions("prod", "vpc")
	network := &answer.Answerer{Network: &awsaccount.Network{ELB: aws, Clock: clock.RealClock{}}}
	reconciler := &balancers.Reconciler{
		Client: c, Clock: clock.RealClock{}, View: nowhere{}, Cluster: options.Cluster, Limits: options.Limits,
		Frontend: &objects.Ingresses{Client: c, Secrets: nowhere{}, Class: "alb", Options: options},
		Lookup: func(ctx context.Context, id stack.ID, needs lookup.Needs) (lookup.Answers, error) {
			out, _ := nowhere{}.Lookup(ctx, id, needs)
			answered, err := network.Answer(ctx, id, lookup.Needs{TargetGroups: needs.TargetGroups})
			out.TargetGroups = answered.TargetGroups
			return out, err
		},
		MakePlan: func(wanted, seen stack.Stack) (steps.Plan, []plan.Overflow) {
			return plan.Make(wanted, seen, plan.Options{})
		},
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	took := func(do func() error) float64 {
		begin := time.Now()
		if failed := do(); failed != nil {
			err = failed
		}
		return float64(time.Since(begin).Microseconds()) / 1000
	}
	ctx, group := context.Background(), stack.Group{Name: "edge"}
	var proposal balancers.Proposal
	out.Pass = took(func() (err error) { proposal, err = reconciler.Propose(ctx, group); return err })
	out.Calls = aws.calls
	out.Preview = took(func() error {
		report := Report{}
		report.add(groupOf(proposal))
		return report.Text(io.Discard)
	})
	out.Explain = took(func() error {
		flags := Flags{IngressClass: "alb", Options: input.DefaultOptions("", "")}
		flags.Options.DefaultTargetType = "ip"
		_, err := RoutesOf(ctx, c, flags, client.ObjectKeyFromObject(ingresses[0]))
		return err
	})
	out.Warnings = took(func() error {
		for _, i := range ingresses {
			ingress.CheckAlone(group, membership.Member{Ingress: i}, nil, options)
		}
		return nil
	})
	runtime.ReadMemStats(&after)
	out.MiB = float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20)
	return out, err
}

// BenchmarkHostileGroups prints what groups cost that ask for much, as a table and as JSON. TARGETGATE_MOST is the largest size, 100,000
// without it. What has taken more than 20 s is not measured at larger sizes.
func BenchmarkHostileGroups(b *testing.B) {
	most := 100_000
	if text := os.Getenv("TARGETGATE_MOST"); text != "" {
		if _, err := fmt.Sscan(text, &most); err != nil {
			b.Fatal(err)
		}
	}
	var figures []figure
	fmt.Println("\n| of | n | KiB of Ingresses | pass, ms | preview | explain | warnings | MiB allocated | calls |\n|---|---|---|---|---|---|---|---|---|")
	for b.Loop() {
		figures = nil
		for _, of := range much {
			for n := 100; n <= most; n *= 10 {
				f, err := measure(of.name, of.make(n), n)
				if err != nil {
					b.Fatalf("%d %s: %v", n, of.name, err)
				}
				fmt.Printf("| %s | %d | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %d |\n",
					f.Of, f.N, f.Bytes>>10, f.Pass, f.Preview, f.Explain, f.Warnings, f.MiB, f.Calls)
				if figures = append(figures, f); f.total() > 20_000 {
					break
				}
			}
		}
	}
	text, err := json.Marshal(figures)
	if err != nil {
		b.Fatal(err)
	}
	fmt.Println(string(text))
}

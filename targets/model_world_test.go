// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/ownership"
	"github.com/targetgate/targetgate/targets/plan"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// model is a cluster, an AWS and a targetgate between them, in a synctest bubble.
type model struct {
	ctx   context.Context
	store *modelStore
	aws   *modelAWS

	nodes    map[string]*modelNode
	pods     map[types.UID]*modelPod
	portless map[string]bool          // Services whose target port no pod has
	lag      map[string]time.Duration // of the cache, by kind
	lagUntil map[string]time.Time
	frozen   time.Time // the EndpointSlice controller does nothing until then
	born     int       // objects, ever

	cache     *modelCache
	stop      context.CancelFunc
	stopped   func()
	upSince   time.Time
	unsettled struct{ aws, cache, writes time.Time } // the last moment at which it was disturbed

	watch modelWatch

	lost []overwritten // what others have changed of what targetgate wrote
}

var modelScheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1beta1.AddToScheme(scheme))
	return scheme
})

const (
	modelNodes  = 4
	modelGroups = 4
)

func newModel(ctx context.Context) *model {
	m := &model{
		ctx: ctx, store: newModelStore(), aws: newModelAWS(), nodes: map[string]*modelNode{}, pods: map[types.UID]*modelPod{},
		portless: map[string]bool{}, lag: map[string]time.Duration{}, lagUntil: map[string]time.Time{},
	}
	m.watch.init()
	m.store.follow, m.store.patched = m.follow, m.conditionWritten
	m.aws.serves, m.aws.deregistering = m.serves, m.deregistering
	m.store.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{readiness.InjectLabel: readiness.InjectEnabled}}})
	for i := range modelNodes {
		m.addNode(fmt.Sprintf("n%d", i))
	}
	for i := range modelGroups {
		m.aws.groups[modelARN(i)] = newModelGroup()
	}
	m.start()
	return m
}

func modelARN(i int) string {
	i %= modelGroups
	return fmt.Sprintf("arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/g%d/0123456789abcde%d", i, i)
}

func (m *model) addNode(name string) {
	m.nodes[name] = &modelNode{upSince: time.Now()}
	m.store.put(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: m.uid(name), Labels: map[string]string{corev1.LabelTopologyZone: "eu-west-1a"}},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/" + instanceOf(name)},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	})
}

// uid is one that no other object has.
func (m *model) uid(name string) types.UID {
	m.born++
	return types.UID(fmt.Sprintf("%s.%d", name, m.born))
}

// follow has the cache see a change, as late as the model has it. The caller holds the store's lock.
func (m *model) follow(change modelChange) {
	if m.cache == nil {
		return
	}
	var lag time.Duration
	if time.Now().Before(m.lagUntil[change.kind]) {
		lag = m.lag[change.kind]
	}
	m.cache.push(change, lag+5*time.Millisecond)
}

// start runs a new targetgate, by the program's own wiring.
func (m *model) start() {
	ctx, cancel := context.WithCancel(ctrl.LoggerInto(m.ctx, logr.Discard()))
	m.store.mu.Lock()
	m.cache = newModelCache(m.store)
	m.store.mu.Unlock()
	mgr := &modelManager{scheme: modelScheme(), cache: m.cache, client: modelClient{cache: m.cache, store: m.store}}
	policy := testPolicy
	policy.Lead, policy.KeepUntilReplaced = plan.Lead{ALB: modelLead, NLB: 200 * time.Second}, true
	r := &Registrar{
		Client: mgr.client, Uncached: modelReader{store: m.store},
		Clients:  oneAccount{elbv2.New(m.aws, budget.New("", nil, clock.RealClock{}))},
		Writer:   &readiness.Writer{Client: modelStatus{store: m.store}, Clock: clock.RealClock{}},
		Recorder: m.watch.told, Clock: clock.RealClock{},
		Policy: policy, DriftInterval: testDrift, LastResort: true, LoadBalancerGates: readiness.LoadBalancerGates(), InjectsGates: true, MaxConcurrentReconciles: 4, MaxBackoff: 30 * time.Second,
	}
	if err := errors.Join(ownership.AddIndexes(ctx, mgr.GetFieldIndexer()), r.SetupWithManager(ctx, mgr)); err != nil {
		panic(err)
	}
	m.stop, m.stopped, m.upSince = cancel, mgr.start(ctx), time.Now()
}

// restart ends targetgate; the next one begins after some time.
func (m *model) restart(down time.Duration) {
	m.stop()
	m.stopped()
	synctest.Wait()
	m.leaveUndecided()
	for i := range m.lost {
		m.lost[i].restarted = true
	}
	m.cache, m.upSince = nil, time.Now().Add(24*time.Hour) // nothing is asked of it while it is away
	m.forgetUsual()
	m.watch.mu.Lock()
	clear(m.watch.holdsOn)
	m.watch.mu.Unlock()
	m.advance(down, time.Second)
	m.start()
}

// advance lets time pass, at most pace at once, and checks what must always hold.
func (m *model) advance(d, pace time.Duration) {
	m.noteDepartures(time.Now())
	for d > 0 && m.violation() == "" {
		nap := min(d, pace)
		time.Sleep(nap)
		synctest.Wait()
		d -= nap
		now := time.Now()
		m.aws.tick(now)
		m.tickCluster(now)
		m.noteDisturbances(now)
		synctest.Wait()
		m.check(now)
		m.checkLost(now)
	}
}

func (m *model) noteDisturbances(now time.Time) {
	if m.aws.disturbed() {
		m.unsettled.aws = now
	}
	if now.Before(m.frozen) {
		m.unsettled.cache = now
	}
	for _, until := range m.lagUntil {
		if now.Before(until.Add(modelMaxLag)) {
			m.unsettled.cache = now
		}
	}
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	for kind, until := range m.store.refused {
		if now.Before(until) {
			m.unsettled.writes = now
		} else {
			delete(m.store.slow, kind)
		}
	}
}

// heal ends every fault that does not last for good.
func (m *model) heal() {
	m.aws.mu.Lock()
	clear(m.aws.faults)
	m.aws.mu.Unlock()
	m.store.mu.Lock()
	clear(m.store.refused)
	clear(m.store.slow)
	clear(m.lagUntil)
	m.store.mu.Unlock()
	m.frozen = time.Time{}
}

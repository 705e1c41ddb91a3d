// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// step is one thing that happens. What a, b and c mean is up to op; any number will do, so that a history may lose steps and
// stay one.
type step struct {
	op      string
	a, b, c int
	wait    time.Duration // behind it
}

func (s step) String() string {
	return fmt.Sprintf("{op: %q, a: %d, b: %d, c: %d, wait: %d * time.Millisecond},", s.op, s.a, s.b, s.c, s.wait.Milliseconds())
}

// modelOp is what steps of one name do, and how often they come in a history.
type modelOp struct {
	weight int
	fault  bool // they come in stretches, so that between these everything has to be in time
	do     func(m *model, s step)
}

var modelOps map[string]modelOp

func init() {
	modelOps = map[string]modelOp{
		"createService":    {weight: 4, do: createService},
		"deleteService":    {weight: 1, do: func(m *model, s step) { m.store.remove(&corev1.Service{ObjectMeta: shopMeta(serviceName(s.a))}) }},
		"movePort":         {weight: 1, do: movePort},
		"nameNoPort":       {weight: 1, do: nameNoPort},
		"selectVersion":    {weight: 4, do: selectVersion},
		"createBinding":    {weight: 8, do: createBinding},
		"deleteBinding":    {weight: 2, do: deleteBinding},
		"createPod":        {weight: 30, do: createPod},
		"createSleeper":    {weight: 30, do: createSleeper},
		"deletePod":        {weight: 20, do: deletePod},
		"replacePod":       {weight: 10, do: replacePod},
		"hastenPod":        {weight: 8, do: hastenPod},
		"removePod":        {weight: 2, do: func(m *model, s step) { m.withPod(s, m.store.removePod) }},
		"endPod":           {weight: 2, do: endPod},
		"readyPod":         {weight: 8, do: func(m *model, s step) { m.withPod(s, func(p *corev1.Pod) { m.pods[p.UID].ready = s.b%3 > 0 }) }},
		"deafPod":          {weight: 4, do: func(m *model, s step) { m.withPod(s, func(p *corev1.Pod) { m.pods[p.UID].deaf = s.b%3 == 0 }) }},
		"labelPod":         {weight: 2, do: labelPod},
		"decidePod":        {weight: 6, do: func(m *model, s step) { m.withPod(s, func(p *corev1.Pod) { m.pods[p.UID].mayServe = s.b%2 == 0 }) }},
		"strikePod":        {weight: 4, do: func(m *model, s step) { m.withPod(s, func(p *corev1.Pod) { m.pods[p.UID].struck = s.b%2 == 0 }) }},
		"someGetNone":      {weight: 10, do: someGetNone},
		"nodeDown":         {weight: 2, do: nodeDown},
		"nodeUp":           {weight: 8, do: nodeUp},
		"nodeShutDown":     {weight: 1, do: func(m *model, s step) { m.nodes[nodeName(s.a)].shutDown = s.b%2 == 0 }},
		"endNode":          {weight: 3, do: endNode},
		"noticeNode":       {weight: 2, do: noticeNode},
		"drainNode":        {weight: 3, do: drainNode},
		"deleteNode":       {weight: 2, do: deleteNode},
		"loseNode":         {weight: 3, do: loseNode},
		"createTwin":       {weight: 2, do: createTwin},
		"markNode":         {weight: 2, do: markNode},
		"group":            {weight: 3, do: changeGroup},
		"outsiderAdds":     {weight: 2, do: outsiderAdds},
		"outsiderTakes":    {weight: 2, do: outsiderTakes},
		"overwriteGate":    {weight: 6, do: overwriteGate},
		"overwriteBinding": {weight: 6, do: overwriteBinding},
		"overwriteRecord":  {weight: 1, do: overwriteRecord},
		"restart":          {weight: 3, do: restartTargetgate},
		"wait":             {weight: 10, do: func(m *model, s step) { m.advance(time.Duration(s.a%30)*time.Second, time.Second) }},
		"aws":              {weight: 6, fault: true, do: failAWS},
		"lag":              {weight: 3, fault: true, do: lagCache},
		"writes":           {weight: 3, do: failWrites},
		"freezeSlices":     {weight: 1, fault: true, do: func(m *model, s step) { m.frozen = time.Now().Add(time.Duration(s.a%10) * time.Second) }},
	}
}

// randomHistory has at least 200 steps: stretches without and with faults, after Services, bindings and some pods.
func randomHistory(random *rand.Rand) []step {
	steps := []step{}
	add := func(op string, wait time.Duration) {
		steps = append(steps, step{op, random.IntN(1000), random.IntN(1000), random.IntN(1000), wait})
	}
	for range 3 {
		add("createService", 0)
		add("createBinding", 0)
	}
	for range 6 {
		add("createPod", 0)
	}
	for faults := false; len(steps) < 200; faults = !faults {
		for range 10 + random.IntN(30) {
			add(randomOp(random, faults), time.Duration(random.IntN(3000))*time.Millisecond)
		}
		if faults {
			steps = append(steps, step{op: "wait", a: 10 + random.IntN(20)}, step{op: "wait", a: 29})
		}
	}
	return steps
}

func randomOp(random *rand.Rand, faults bool) string {
	sum, names := 0, modelOpNames()
	for _, name := range names {
		if op := modelOps[name]; !op.fault || faults {
			sum += op.weight
		}
	}
	at := random.IntN(sum)
	for _, name := range names {
		if op := modelOps[name]; !op.fault || faults {
			if at -= op.weight; at < 0 {
				return name
			}
		}
	}
	return "wait"
}

// restartTargetgate is a roll, or an outage of up to 40 s.
func restartTargetgate(m *model, s step) {
	if s.a%3 > 0 {
		m.restart(0)
		return
	}
	m.restart(time.Duration(s.b%40) * time.Second)
}

func shopMeta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }

func serviceName(a int) string { return fmt.Sprintf("s%d", a%3) }

func nodeName(a int) string { return fmt.Sprintf("n%d", a%modelNodes) }

// createService makes one with a selector, or one whose slices are written by hand.
func createService(m *model, s step) {
	name := serviceName(s.a)
	if stored[*corev1.Service](m.store, "shop", name) != nil {
		return
	}
	service := &corev1.Service{ObjectMeta: shopMeta(name)}
	service.UID = m.uid(name)
	service.Spec.Type = corev1.ServiceTypeNodePort
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, NodePort: 30080 + int32(s.a%3)}}
	service.Spec.Selector = map[string]string{"app": name}
	if s.b%8 == 0 && !without("byHand") {
		service.Spec.Selector, service.Spec.Ports[0].Name = nil, ""
	}
	m.store.put(service)
}

// movePort takes the port away that bindings ask for, or brings it back.
func movePort(m *model, s step) {
	service := &corev1.Service{ObjectMeta: shopMeta(serviceName(s.a))}
	edit(m.store, service, func(o *corev1.Service) { o.Spec.Ports[0].Port = 80 + int32(s.b%2) })
}

// nameNoPort has the Service name a target port that its pods do not have, or one that they have.
func nameNoPort(m *model, s step) { m.portless[serviceName(s.a)] = s.b%2 == 0 && !without("portless") }

// selectVersion is the switch of a blue/green rollout.
func selectVersion(m *model, s step) {
	service := &corev1.Service{ObjectMeta: shopMeta(serviceName(s.a))}
	edit(m.store, service, func(o *corev1.Service) {
		if len(o.Spec.Selector) == 0 {
			return
		}
		o.Spec.Selector = map[string]string{"app": o.Name}
		if s.b%3 > 0 {
			o.Spec.Selector["version"] = fmt.Sprint(s.b % 3)
		}
	})
}

// createBinding makes one of type ip, sometimes for a shared group, for instances, or for a group that another one may have.
func createBinding(m *model, s step) {
	slot := s.a % modelGroups
	name := fmt.Sprintf("b%d", slot)
	if stored[*v1beta1.TargetGroupBinding](m.store, "shop", name) != nil {
		return
	}
	b := &v1beta1.TargetGroupBinding{ObjectMeta: shopMeta(name)}
	b.UID, b.Generation, b.CreationTimestamp = m.uid(name), 1, metav1.NewTime(time.Now().Truncate(time.Second))
	b.Spec = v1beta1.TargetGroupBindingSpec{
		TargetGroupARN: modelARN(slot), TargetType: ptr.To(v1beta1.TargetTypeIP),
		ServiceRef: v1beta1.ServiceReference{Name: serviceName(slot), Port: intstr.FromInt32(80)},
	}
	switch s.b % 8 {
	case 0, 1:
		b.Spec.MultiClusterTargetGroup = true
	case 2:
		b.Spec.TargetType = ptr.To(v1beta1.TargetTypeInstance)
	case 3:
		b.Spec.TargetGroupARN = modelARN((slot + 1) % modelGroups)
	}
	isSecond := len(m.bindings(b.Spec.TargetGroupARN)) > 0
	m.store.put(b)
	m.aws.mu.Lock()
	defer m.aws.mu.Unlock()
	g := m.aws.groups[b.Spec.TargetGroupARN]
	for target, t := range g.targets {
		switch {
		case t.health.State == elbv2.StateDraining:
		case isSecond: // the first one decides, before which it was not there; when that goes, the second does, before which it was
			g.unclear[target] = true
		default:
			g.protect(target)
		}
	}
}

// hasDecided reports whether the status says that it was decided about all that was in the group before the binding.
func hasDecided(b *v1beta1.TargetGroupBinding) bool {
	return b.Status.ForeignTargets != nil && b.Status.ForeignTargets.Complete
}

// leaveUndecided notes, as a process ends, what is in the groups of bindings whose status says that nothing was decided yet. The next
// process cannot tell what the former one has registered from what was there before: where it finds no pod for it, it lets it stay.
func (m *model) leaveUndecided() {
	m.aws.mu.Lock()
	defer m.aws.mu.Unlock()
	for _, b := range listOf[*v1beta1.TargetGroupBinding](m.store) {
		if hasDecided(b) {
			continue
		}
		for target := range m.aws.groups[b.Spec.TargetGroupARN].targets {
			m.aws.groups[b.Spec.TargetGroupARN].unclear[target] = true
		}
	}
}

// protect notes that the target is another cluster's, or of one of the model's pods that it may stay when they have gone.
func (g *modelGroup) protect(target elbv2.Target) {
	if isOutsider(target) {
		g.outsiders[target] = true
	} else {
		g.unclear[target] = true
	}
}

// isOutsider reports whether no pod or node of the model ever has the address.
func isOutsider(target elbv2.Target) bool { return strings.HasPrefix(target.ID, "10.9.") }

func deleteBinding(m *model, s step) {
	b := stored[*v1beta1.TargetGroupBinding](m.store, "shop", fmt.Sprintf("b%d", s.a%modelGroups))
	switch {
	case b == nil || b.DeletionTimestamp != nil:
	case len(b.Finalizers) == 0:
		m.store.remove(b)
	default:
		edit(m.store, b, func(o *v1beta1.TargetGroupBinding) {
			o.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now().Truncate(time.Second)))
		})
	}
}

// changeGroup does to a target group what lasts for good, or undoes it.
func changeGroup(m *model, s step) {
	m.aws.mu.Lock()
	defer m.aws.mu.Unlock()
	g := m.aws.groups[modelARN(s.a)]
	g.touched = time.Now()
	kind := []string{"gone", "foreign", "denied", "noAttributes", "unattached", "unattached", "tcp", "emptied"}
	switch at := s.b % 12; {
	case at >= len(kind) || without(kind[at]):
		g.gone, g.foreign, g.denied, g.noAttributes, g.unattached = false, false, false, false, false
	case kind[at] == "gone":
		g.gone = true
		g.empty()
	case kind[at] == "foreign":
		g.foreign = true
	case kind[at] == "denied":
		g.denied = true
	case kind[at] == "noAttributes":
		g.noAttributes = true
	case kind[at] == "unattached":
		g.unattached = true
	case kind[at] == "tcp":
		g.protocol = elbv2types.ProtocolEnumTcp
	default: // deleted and made again
		g.empty()
	}
}

func (g *modelGroup) empty() {
	clear(g.targets)
	clear(g.outsiders)
	clear(g.unclear)
}

// outsiderAdds has another cluster register a target that answers, or somebody one that is nobody's and answers to nobody. Where another
// cluster has targets, or where the latter comes back, no one can tell the one from the other.
func outsiderAdds(m *model, s step) {
	m.aws.mu.Lock()
	defer m.aws.mu.Unlock()
	g := m.aws.groups[modelARN(s.a)]
	target := elbv2.Target{ID: fmt.Sprintf("10.9.0.%d", 1+s.b%5), Port: modelPort}
	if g.gone {
		return
	}
	if t := g.targets[target]; t == nil || t.health.State == elbv2.StateDraining {
		delete(g.outsiders, target)
		g.serving[target] = s.c%2 == 0
	}
	g.register(target)
	if g.serving[target] || m.shares(modelARN(s.a)) {
		g.outsiders[target] = true
		for other := range g.targets { // what came beside it is taken for the other cluster's, too
			g.unclear[other] = g.unclear[other] || isOutsider(other)
		}
	}
	isNew := slices.ContainsFunc(listOf[*v1beta1.TargetGroupBinding](m.store), func(b *v1beta1.TargetGroupBinding) bool {
		return b.Spec.TargetGroupARN == modelARN(s.a) && !hasDecided(b)
	})
	for other, t := range g.targets {
		isNew = isNew || other != target && isOutsider(other) && t.health.State != elbv2.StateDraining
	}
	g.unclear[target] = g.unclear[target] || g.added[target] || isNew
	g.added[target] = true
}

// outsiderTakes has somebody deregister one of the targets.
func outsiderTakes(m *model, s step) {
	m.aws.mu.Lock()
	defer m.aws.mu.Unlock()
	g := m.aws.groups[modelARN(s.a)]
	for target, t := range g.targets {
		if s.b--; s.b%5 == 0 && t.health.State != elbv2.StateDraining && !g.outsiders[target] {
			g.drain(target)
			g.touched = time.Now()
			return
		}
	}
}

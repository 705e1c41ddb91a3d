// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package turns

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

type value struct {
	tenant string
	place  Place
}

// model is a queue beside what it must hold.
type model struct {
	t     *testing.T
	queue Queue[*value]
	lines map[string][]*value
	// passed counts by tenant what each other tenant has taken since that one had its turn, or came.
	passed map[string]map[string]int
}

func (m *model) push(tenant string) {
	v := &value{tenant: tenant}
	if len(m.lines[tenant]) == 0 {
		m.passed[tenant] = map[string]int{}
	}
	v.place, m.lines[tenant] = m.queue.Push(tenant, v), append(m.lines[tenant], v)
}

func (m *model) remove(tenant string, i int) {
	m.queue.Remove(m.lines[tenant][i].place)
	m.lines[tenant] = slices.Delete(m.lines[tenant], i, i+1)
}

// pop checks that the value is its tenant's first, and that no tenant waits for two of another.
func (m *model) pop() {
	m.t.Helper()
	next, got := m.queue.Next(), m.queue.Pop()
	if next != got || len(m.lines[got.tenant]) == 0 || m.lines[got.tenant][0] != got {
		m.t.Fatalf("got a value of %s that is not its first, or not the next", got.tenant)
	}
	m.lines[got.tenant] = m.lines[got.tenant][1:]
	m.passed[got.tenant] = map[string]int{}
	for tenant, line := range m.lines {
		if tenant == got.tenant || len(line) == 0 {
			continue
		}
		if m.passed[tenant][got.tenant]++; m.passed[tenant][got.tenant] > 1 {
			m.t.Fatalf("%d values of %s went before the next one of %s", m.passed[tenant][got.tenant], got.tenant, tenant)
		}
	}
}

func (m *model) check() {
	m.t.Helper()
	waiting, tenants := 0, 0
	for _, line := range m.lines {
		waiting += len(line)
		tenants += min(1, len(line))
	}
	if m.queue.Len() != waiting || m.queue.lines.Len() != tenants || len(m.queue.tenants) != tenants {
		m.t.Fatalf("%d values of %d tenants, want %d of %d", m.queue.Len(), m.queue.lines.Len(), waiting, tenants)
	}
	for tenant, line := range m.lines {
		if got, want := m.queue.HasOthers(tenant), waiting > len(line); got != want {
			m.t.Fatalf("others than %s wait: %v, want %v", tenant, got, want)
		}
	}
}

// Whatever the others put in, and however much of it is taken out again: a tenant's next value waits for one of each other tenant.
func TestQueueServesEachTenantInItsTurn(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 14))
		m := &model{t: t, lines: map[string][]*value{}, passed: map[string]map[string]int{}}
		for range 2000 {
			tenant := "floods"
			switch n := random.IntN(10); {
			case n < 4:
				m.push(tenant)
			case n == 4:
				m.push("rare " + strconv.Itoa(random.IntN(5)))
			case n == 5:
				if line := m.lines[tenant]; len(line) > 0 {
					m.remove(tenant, random.IntN(len(line)))
				}
			case m.queue.Len() > 0:
				m.pop()
			}
			m.check()
		}
		for m.queue.Len() > 0 {
			m.pop()
		}
		m.check()
	}
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package turns queues values of tenants, which take turns: whoever asks rarely waits for one value of each other tenant, however many of
// these wait.
package turns

import "container/list"

// Queue holds values of tenants, each with a line of its own. The tenants take turns. Each operation takes the same time, however long the
// queue is. A container/list alone knows no tenants. The zero value is an empty queue. It is not safe for concurrent use.
type Queue[V any] struct {
	lines   list.List                // of *line[V], the next one first; none is empty
	tenants map[string]*list.Element // of lines, by tenant
	length  int
}

type line[V any] struct {
	tenant string
	values list.List // of V, the next one first
}

// Place is where a value stands in a queue. The zero value is that of none.
type Place struct{ line, value *list.Element }

// Len is how many values there are.
func (q *Queue[V]) Len() int { return q.length }

// Push puts v at the end of the tenant's line.
func (q *Queue[V]) Push(tenant string, v V) Place {
	at, ok := q.tenants[tenant]
	if !ok {
		if q.tenants == nil {
			q.tenants = map[string]*list.Element{}
		}
		at = q.lines.PushBack(&line[V]{tenant: tenant})
		q.tenants[tenant] = at
	}
	q.length++
	return Place{at, q.at(at).values.PushBack(v)}
}

// Next is the value whose turn it is. There must be one.
func (q *Queue[V]) Next() V {
	return q.at(q.lines.Front()).values.Front().Value.(V) // nothing else is put in
}

// Pop takes the value out whose turn it is. The next turn of its tenant comes after those of all others. There must be one.
func (q *Queue[V]) Pop() V {
	v, at := q.Next(), q.lines.Front()
	q.lines.MoveToBack(at)
	q.Remove(Place{at, q.at(at).values.Front()})
	return v
}

// PopOf takes the value out whose turn it is among those of tenants that may have one; its next turn comes after those of all others. It
// looks at each tenant before that one.
func (q *Queue[V]) PopOf(may func(tenant string) bool) (v V, ok bool) {
	for at := q.lines.Front(); at != nil; at = at.Next() {
		if of := q.at(at); may(of.tenant) {
			q.lines.MoveToBack(at)
			first := of.values.Front()
			v = first.Value.(V) // nothing else is put in
			q.Remove(Place{at, first})
			return v, true
		}
	}
	return v, false
}

// LenOf is how many values of the tenant there are.
func (q *Queue[V]) LenOf(tenant string) int {
	at, ok := q.tenants[tenant]
	if !ok {
		return 0
	}
	return q.at(at).values.Len()
}

// Remove takes the value out that stands there, wherever that is.
func (q *Queue[V]) Remove(p Place) {
	of := q.at(p.line)
	of.values.Remove(p.value)
	q.length--
	if of.values.Len() == 0 {
		q.lines.Remove(p.line)
		delete(q.tenants, of.tenant)
	}
}

// HasOthers reports whether values of other tenants are there.
func (q *Queue[V]) HasOthers(tenant string) bool {
	_, own := q.tenants[tenant]
	return len(q.tenants) > 1 || len(q.tenants) == 1 && !own
}

func (q *Queue[V]) at(e *list.Element) *line[V] {
	return e.Value.(*line[V]) // nothing else is put in
}

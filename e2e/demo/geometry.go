// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"
)

// Heights in pixels. Across, everything is in percent, so that the picture fits any screen while text keeps its size.
const (
	stripHeight = 76
	stripBars   = 40 // of the strip, for a bucket in which every request that was due was sent
	stripFloor  = 70
	headHeight  = 30
	laneHeight  = 30
	tickGap     = 16
)

// bucket is the time that one bar of the strip sums up.
const bucket = 250 * time.Millisecond

// percent is a place across the picture.
type percent float64

// String is the value of an attribute.
func (p percent) String() string { return fmt.Sprintf("%.2f%%", float64(p)) }

// axis is the time that the picture spans.
type axis struct{ from, to time.Duration }

func (a axis) at(t time.Duration) percent {
	t = min(max(t, a.from), a.to)
	return percent(100 * float64(t-a.from) / float64(a.to-a.from))
}

type tick struct {
	At   percent
	Text string
	// Minor ones have no text on narrow screens.
	Minor bool
}

// mark is a text at a place, on the left of it when there is little room on the right.
type mark struct {
	At   percent
	Text string
	Left bool
}

func (a axis) mark(t time.Duration, text string) mark {
	at := a.at(t)
	return mark{at, text, at > 60}
}

// ticks are at round seconds, at most 12 of them.
func (a axis) ticks() []tick {
	step := time.Second
	for _, seconds := range []time.Duration{2, 5, 10, 20, 30, 60} {
		if (a.to-a.from)/step <= 12 {
			break
		}
		step = seconds * time.Second
	}
	var ticks []tick
	for t := time.Duration(0); t < a.to; t += step {
		ticks = append(ticks, tick{a.at(t), fmt.Sprintf("%.0f s", t.Seconds()), len(ticks)%2 == 1})
	}
	return ticks
}

// bar is one bucket of the strip: failed requests stand on the answered ones.
type bar struct {
	At, Width                  percent
	AnsweredY, AnsweredHeight  float64
	FailedY, FailedHeight      float64
	AnsweredCount, FailedCount int
	Text                       string
}

// bars are the requests of each bucket; a bucket with as many as were due has the full height.
func (a axis) bars(r rollout, rate float64) []bar {
	bars := make([]bar, int((a.to-a.from)/bucket))
	for _, t := range r.Answered {
		if i := int((t - a.from) / bucket); t >= a.from && i < len(bars) {
			bars[i].AnsweredCount++
		}
	}
	for _, t := range r.Failed {
		if i := int((t - a.from) / bucket); t >= a.from && i < len(bars) {
			bars[i].FailedCount++
		}
	}
	pixels := stripBars / (rate * bucket.Seconds())
	for i := range bars {
		bars[i].place(a, i, pixels)
	}
	return bars
}

func (b *bar) place(a axis, i int, pixels float64) {
	begin := a.from + time.Duration(i)*bucket
	b.At, b.Width = a.at(begin), a.at(begin+bucket)-a.at(begin)
	b.AnsweredHeight = float64(b.AnsweredCount) * pixels
	b.FailedHeight = float64(b.FailedCount) * pixels
	b.AnsweredY = stripFloor - b.AnsweredHeight
	b.FailedY = b.AnsweredY - b.FailedHeight
	b.Text = fmt.Sprintf("%+.2f s: %d answered, %d failed", begin.Seconds(), b.AnsweredCount, b.FailedCount)
}

// row is a heading or the lane of a pod.
type row struct {
	Y, Height int
	Heading   string // when it is one
	Pod       string
	Suffix    string // the part of the name that tells pods apart
	Version   string
	Pieces    []piece
	Failed    []percent
	Note      *mark
	Gate      *percent
}

// piece is a phase of a lane, in Kubernetes (above) or at the load balancer (below).
type piece struct {
	Class     string
	Target    bool
	At, Width percent
	Text      string
}

// Height is larger for pods than for targets.
func (p piece) Height() int {
	if p.Target {
		return 6
	}
	return 11
}

// Places in a row, from top to bottom.
func (r row) PieceTop(p piece) int {
	if p.Target {
		return r.Y + 18
	}
	return r.Y + 4
}

// TextTop is for the label, GateMiddle for the sign of the gate, NoteBase for the note behind the lane.
func (r row) TextTop() int    { return r.Y + 7 }
func (r row) GateMiddle() int { return r.Y + 9 }
func (r row) NoteBase() int   { return r.Y + 24 }

// FailTop and FailBottom are the ends of the sign of a failed request.
func (r row) FailTop() int    { return r.Y + 16 }
func (r row) FailBottom() int { return r.Y + 26 }

// phase is a time between two moments: from the first to the earliest of the others, or to the end of the picture.
type phase struct {
	class, text string
	target      bool // of the pod's target at the load balancer
	from        moment
	until       []moment
}

// phases are those of the pod, and then those of its target.
var phases = []phase{
	{"starting", "starting", false, created, []moment{containersReady, deleted, gone}},
	{"waiting", "containers ready, but the pod is not: its gate is closed", false, containersReady, []moment{ready, deleted, gone}},
	{"ready", "Ready", false, ready, []moment{deleted, gone}},
	{"leaving", "deleted, but still serving (preStop)", false, deleted, []moment{sigterm, gone}},
	{"stopping", "stopping", false, sigterm, []moment{gone}},
	{"initial", "registered, not healthy yet", true, registered, []moment{healthy, deregistered}},
	{"healthy", "healthy, gets requests", true, healthy, []moment{deregistered}},
	{"draining", "deregistered, still gets requests", true, deregistered, []moment{lastRequest}},
}

// rows are the headings and lanes from top to bottom, and the height of it all with the strip above.
func (a axis) rows(lanes []lane) (rows []row, height int) {
	y := stripHeight
	for i, l := range lanes {
		if i == 0 || l.New != lanes[i-1].New {
			heading := map[bool]string{false: "old pods", true: "new pods"}[l.New]
			rows = append(rows, row{Y: y, Height: headHeight, Heading: heading})
			y += headHeight
		}
		rows = append(rows, a.row(l, y))
		y += laneHeight
	}
	return rows, y
}

func (a axis) row(l lane, y int) row {
	r := row{Y: y, Height: laneHeight, Pod: l.Pod, Suffix: suffix(l.Pod), Version: map[bool]string{false: "old", true: "new"}[l.New]}
	for _, p := range phases {
		if piece, ok := a.piece(l, p); ok {
			r.Pieces = append(r.Pieces, piece)
		}
	}
	for _, t := range l.Failed {
		r.Failed = append(r.Failed, a.at(t))
	}
	if at, ok := l.At[gateOpen]; ok && at >= a.from {
		gate := a.at(at)
		r.Gate = &gate
	}
	r.Note = a.note(l)
	return r
}

// piece is the part of a phase that the picture shows, if there is one.
func (a axis) piece(l lane, p phase) (piece, bool) {
	from, ok := l.At[p.from]
	if !ok {
		return piece{}, false
	}
	until := a.to
	for _, m := range p.until {
		if at, ok := l.At[m]; ok {
			until = min(until, at)
		}
	}
	if until <= from || until <= a.from {
		return piece{}, false
	}
	return piece{
		Class: p.class, Target: p.target, At: a.at(from), Width: a.at(until) - a.at(from),
		Text: fmt.Sprintf("%s: %s from %+.2f s to %+.2f s", l.Pod, p.text, from.Seconds(), until.Seconds()),
	}, true
}

// noteRoom is how far to the right a note may begin.
const noteRoom = 70

// note counts a lane's failures behind its end, where it has one and there is room.
func (a axis) note(l lane) *mark {
	if len(l.Failed) == 0 || !l.has(gone) {
		return nil
	}
	at := a.at(max(l.At[gone], l.At[lastRequest]))
	if at > noteRoom {
		return nil
	}
	return &mark{At: at, Text: fmt.Sprintf("%d failed", len(l.Failed))}
}

func suffix(pod string) string { return pod[strings.LastIndex(pod, "-")+1:] }

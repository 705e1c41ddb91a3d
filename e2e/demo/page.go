// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"strings"
	"time"
)

//go:embed page.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the template shows.
type page struct {
	Title, Verdict string
	Setting, Times string
	Made           string // when, and with which targetgate
	Acts           []section
	Figures        []figures
	Lives          []life
}

// section is one act.
type section struct {
	ID, Title, Setting string
	Charts             []chart
}

// figures are the table of one act.
type figures struct {
	Title string
	Rows  []tableRow
}

// chart is the picture of one rollout.
type chart struct {
	rollout
	ID       string
	Headline string
	Story    string
	Caption  string // of the axis
	Summary  string // the picture in words
	Height   int    // without the text below
	Ticks    []tick
	Start    percent
	Complete *mark // nil when the rollout did not complete
	Bars     []bar // of the strip with all requests
	Rows     []row
}

// FailedText and RequestsText are the figures of the score.
func (c chart) FailedText() string   { return thousands(c.Load.Failed) }
func (c chart) RequestsText() string { return thousands(c.Load.Requests) }

// Places of what is not in a lane, from top to bottom.
func (chart) Floor() int      { return stripFloor }
func (c chart) TickText() int { return c.Height + tickGap }
func (c chart) Bottom() int   { return c.Height + tickGap + tickGap/2 }

// tableRow is a row of a table with a column for each of its cells.
type tableRow struct {
	Title string
	Cells []tableCell
}

type tableCell struct {
	Text, Remark string
	Bad, Good    bool
}

// Class is how the cell is shown, empty for as usual.
func (c tableCell) Class() string {
	switch {
	case c.Bad:
		return "bad"
	case c.Good:
		return "good"
	}
	return ""
}

// life is the table of moments of one pod of each rollout.
type life struct {
	Title string
	Pods  []string
	Rows  []tableRow
}

// savePage writes the page as one file that needs no other.
func savePage(path string, r report) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	if err := pageTemplate.Execute(file, newPage(r)); err != nil {
		_ = file.Close() // the first error is the one that tells
		return fmt.Errorf("writing the page: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func newPage(r report) page {
	p := page{
		Title: "Two rolling updates, with and without readiness gate and time to leave",
		Setting: fmt.Sprintf("The same web app twice, %d pods each behind an Application Load Balancer of its own; targetgate registers and "+
			"deregisters the pods of both. gated's namespace has the label, for which targetgate adds a readiness gate and a preStop sleep "+
			"to its pods; nothing else differs. Both get %.0f requests a second, from clients that never retry. %s", r.Replicas, r.Rate, r.pace()),
		Times: timesStory(r),
		Made:  fmt.Sprintf("on %s, with targetgate %s", r.Date.Format("2006-01-02 at 15:04"), r.Version),
		Acts: []section{
			newSection("act1", "Act 1: a version that works", "Both are rolled to a new version, until all old pods are gone.", r, r.First),
			newSection("act2", "Act 2: a version that only Kubernetes accepts", "Then both are rolled to a version whose pods succeed at "+
				"their readiness probe, but answer the load balancer’s health check and every request with 503.", r, r.Second),
		},
		Figures: []figures{{"Act 1", firstFigures(r.First)}, {"Act 2", secondFigures(r.Second)}},
		Lives: []life{
			newLife("Act 1: one pod of the new version", r.First, true, comings),
			newLife("Act 1: one pod of the old version", r.First, false, goings),
		},
	}
	p.Verdict = fmt.Sprintf("No failed request in the namespace with the label; %s and %s in the one without.",
		thousands(r.First.Plain.Load.Failed), thousands(r.Second.Plain.Load.Failed))
	if err := r.verdict(); err != nil {
		p.Verdict = "This run does not show what it should: " + err.Error() + "."
	}
	p.Acts[0].tell(r.First.firstStories())
	p.Acts[1].tell(r.Second.secondStories())
	return p
}

// pace is the time scale in a sentence, empty when times are as on AWS.
func (r report) pace() string {
	if r.Scale == 1 {
		return ""
	}
	return fmt.Sprintf("Load balancers and nodes run %.3g times faster than on AWS: 10 s take %.3g s here.", r.faster(), 10*r.Scale)
}

func newSection(id, title, setting string, r report, a act) section {
	s := section{ID: id, Title: title, Setting: setting}
	for _, rollout := range a.rollouts() {
		s.Charts = append(s.Charts, newChart(id+"-"+rollout.Name, rollout, r, a))
	}
	return s
}

// tell gives the charts their stories.
func (s section) tell(stories []string) {
	for i := range s.Charts {
		s.Charts[i].Story = capital(stories[i])
	}
}

func newChart(id string, rollout rollout, r report, a act) chart {
	axis := axis{from: a.From, to: a.To}
	c := chart{
		rollout: rollout, ID: id, Headline: "gated: readiness gate and preStop sleep",
		Ticks: axis.ticks(), Start: axis.at(0), Bars: axis.bars(rollout, r.Rate),
		Caption: "Seconds since the start of the rollout, as measured: health checks every " + here(checkInterval*time.Second, r.Scale) + ".",
	}
	if !rollout.Gated {
		c.Headline = "plain: neither"
	}
	c.Rows, c.Height = axis.rows(rollout.Lanes)
	if rollout.Took > 0 {
		complete := axis.mark(rollout.Took, "rolled out after "+seconds(rollout.Took))
		c.Complete = &complete
	}
	c.Summary = fmt.Sprintf("%s of %s requests failed. Rolled out after: %s. Each pod has a lane.",
		c.FailedText(), c.RequestsText(), tookText(rollout))
	return c
}

// tookText is a time, or that the rollout did not come to its end.
func tookText(r rollout) string {
	if r.Took == 0 {
		return "not complete"
	}
	return seconds(r.Took)
}

// both makes a row of a figure of both apps.
func (a act) both(title string, show func(rollout) tableCell) tableRow {
	return tableRow{title, []tableCell{show(a.Gated), show(a.Plain)}}
}

// failures are the rows of both acts.
func (a act) failures() []tableRow {
	rows := []tableRow{
		a.both("Requests", func(r rollout) tableCell { return tableCell{Text: thousands(r.Load.Requests)} }),
		a.both("Failed", func(r rollout) tableCell {
			if r.Load.Failed == 0 {
				return tableCell{Text: "0", Good: true}
			}
			return tableCell{Text: thousands(r.Load.Failed), Remark: failedShare(r.Load), Bad: true}
		}),
	}
	for _, status := range failureStatuses(a.Gated.Load, a.Plain.Load) {
		rows = append(rows, a.both("with "+statusTitle(status), func(r rollout) tableCell {
			return tableCell{Text: countOrDash(r.Load.ByStatus[status])}
		}))
	}
	return rows
}

func firstFigures(a act) []tableRow {
	var rows []tableRow
	for i, s := range a.Gated.Setup {
		rows = append(rows, tableRow{capital(s.Title), []tableCell{{Text: s.Value}, {Text: a.Plain.Setup[i].Value}}})
	}
	return append(append(rows, a.failures()...),
		a.both("Rollout took", func(r rollout) tableCell { return tableCell{Text: tookText(r)} }),
		a.both("Latency, median", func(r rollout) tableCell { return tableCell{Text: milliseconds(r.Load.P50)} }),
		a.both("Latency, 99 %", func(r rollout) tableCell { return tableCell{Text: milliseconds(r.Load.P99)} }),
	)
}

func secondFigures(a act) []tableRow {
	return append(a.failures(),
		a.both("New pods Ready", func(r rollout) tableCell { return tableCell{Text: outOf(r.newReady())} }),
		a.both("Old pods left", func(r rollout) tableCell { return tableCell{Text: outOf(r.oldLeft())} }),
		a.both("Failed in the last second", func(r rollout) tableCell { return tableCell{Text: outOf(r.failedInLastSecond(a.To))} }),
	)
}

func countOrDash(n int) string {
	if n == 0 {
		return "–"
	}
	return thousands(n)
}

func newLife(title string, a act, isNew bool, moments []moment) life {
	l := life{Title: title}
	var lanes []lane
	for _, rollout := range a.rollouts() {
		pod, _ := rollout.example(isNew)
		lanes, l.Pods = append(lanes, pod), append(l.Pods, pod.Pod)
	}
	for _, m := range moments {
		row := tableRow{Title: string(m)}
		for _, pod := range lanes {
			row.Cells = append(row.Cells, lifeCell(pod, m))
		}
		l.Rows = append(l.Rows, row)
	}
	return l
}

func lifeCell(l lane, m moment) tableCell {
	at, ok := l.At[m]
	if !ok {
		return tableCell{Text: "–"}
	}
	remark := l.remark(m)
	return tableCell{Text: signed(at), Remark: remark, Bad: l.early(m), Good: remark != "" && !l.early(m)}
}

// signed is a time with its sign, a real minus among it.
func signed(d time.Duration) string {
	return strings.Replace(fmt.Sprintf("%+.2f s", d.Seconds()), "-", "−", 1)
}

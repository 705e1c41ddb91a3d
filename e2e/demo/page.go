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
	Charts         []chart
	Figures        []tableRow
	Lives          []life
}

// chart is the picture of one rollout.
type chart struct {
	rollout
	ID       string
	Headline string
	Story    string
	Summary  string // the picture in words
	Height   int    // without the text below
	Ticks    []tick
	Start    percent
	Complete mark
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
		Title: "One rolling update, with and without targetgate",
		Setting: fmt.Sprintf("The same web app, %d pods behind an Application Load Balancer, rolled to a new version twice at the same "+
			"time: %.0f requests a second to each, from a client that never retries.", r.Replicas, r.Rate),
		Times:   timesStory(r),
		Figures: figureRows(r),
		Lives: []life{
			newLife("One pod of the new version", r, true, comings),
			newLife("One pod of the old version", r, false, goings),
		},
	}
	p.Verdict = fmt.Sprintf("%s failed requests with targetgate’s gates, %s without.",
		countWord(r.Gated.Load.Failed), thousands(r.Plain.Load.Failed))
	if err := r.verdict(); err != nil {
		p.Verdict = "This run does not show what it should: " + err.Error() + "."
	}
	for _, rollout := range r.rollouts() {
		p.Charts = append(p.Charts, newChart(rollout, r))
	}
	return p
}

func countWord(n int) string {
	if n == 0 {
		return "No"
	}
	return thousands(n)
}

func newChart(rollout rollout, r report) chart {
	axis := axis{from: r.From, to: r.To}
	c := chart{
		rollout: rollout, ID: rollout.Name, Headline: "With targetgate’s gates", Story: gatedStory(r),
		Ticks: axis.ticks(), Start: axis.at(0), Complete: axis.mark(rollout.Took, "rolled out after "+seconds(rollout.Took)),
		Bars: axis.bars(rollout, r.Rate),
	}
	if !rollout.Gated {
		c.Headline, c.Story = "Without", plainStory(r)
	}
	c.Story = strings.ToUpper(c.Story[:1]) + c.Story[1:]
	c.Rows, c.Height = axis.rows(rollout.Lanes)
	c.Summary = fmt.Sprintf("%s of %s requests failed. The rollout took %s. "+
		"Each pod has a lane; the tables below give the moments of two of them.", c.FailedText(), c.RequestsText(), seconds(c.Took))
	return c
}

func figureRows(r report) []tableRow {
	of := func(title string, show func(rollout) tableCell) tableRow {
		return tableRow{title, []tableCell{show(r.Gated), show(r.Plain)}}
	}
	rows := []tableRow{
		of("Requests", func(r rollout) tableCell { return tableCell{Text: thousands(r.Load.Requests)} }),
		of("Failed", func(r rollout) tableCell {
			return tableCell{Text: failedCell(r).text, Bad: r.Load.Failed > 0, Good: r.Load.Failed == 0}
		}),
	}
	for _, status := range failureStatuses(r.Gated.Load, r.Plain.Load) {
		rows = append(rows, of("with "+statusTitle(status), func(r rollout) tableCell {
			return tableCell{Text: countOrDash(r.Load.ByStatus[status])}
		}))
	}
	return append(rows,
		of("Rollout took", func(r rollout) tableCell { return tableCell{Text: seconds(r.Took)} }),
		of("Latency, median", func(r rollout) tableCell { return tableCell{Text: milliseconds(r.Load.P50)} }),
		of("Latency, 99 %", func(r rollout) tableCell { return tableCell{Text: milliseconds(r.Load.P99)} }),
	)
}

func countOrDash(n int) string {
	if n == 0 {
		return "–"
	}
	return thousands(n)
}

func newLife(title string, r report, isNew bool, moments []moment) life {
	l := life{Title: title}
	var lanes []lane
	for _, rollout := range r.rollouts() {
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

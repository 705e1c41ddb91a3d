// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/targetgate/targetgate/e2e/load"
)

// Columns of the table, 99 in all.
const (
	titleWidth  = 25
	columnWidth = 37
	tableWidth  = titleWidth + 2*columnWidth
	absent      = "-"
)

// terminal writes the table of a report.
type terminal struct {
	*bufio.Writer
	paint paint
}

// writeTerminal prints the report side by side, as text that needs no colours.
func writeTerminal(out io.Writer, r report, p paint) error {
	t := &terminal{bufio.NewWriter(out), p}
	t.line("")
	t.firstAct(r.First)
	t.secondAct(r.Second)
	t.thirdAct(r.Third)
	t.paragraphs(timesStory(r), fmt.Sprintf("targetgate %s, %s", r.Version, r.Date.Format("2006-01-02 15:04")))
	t.line("")
	return t.Flush()
}

func (t *terminal) firstAct(a act) {
	t.heading("ACT 1: a rollout to a version that works", a)
	for i, s := range a.Gated.Setup {
		t.row(s.Title, plainText(s.Value), plainText(a.Plain.Setup[i].Value))
	}
	t.figures(a.Gated, a.Plain)
	t.life("one pod of the new version", a, true, comings)
	t.life("one pod of the old version", a, false, goings)
	t.rule()
	t.paragraphs(a.firstStories()...)
	t.line("")
}

func (t *terminal) secondAct(a act) {
	t.heading("ACT 2: a rollout to a version that is Ready but fails the load balancer's health checks", a)
	t.failures(a.Gated, a.Plain)
	t.both("new pods Ready", a.Gated, a.Plain, func(r rollout) cell { return plainText(outOf(r.newReady())) })
	t.both("old pods left", a.Gated, a.Plain, func(r rollout) cell { return plainText(outOf(r.oldLeft())) })
	t.both("failed in last second", a.Gated, a.Plain, func(r rollout) cell { return plainText(outOf(r.failedInLastSecond(a.To))) })
	t.rule()
	t.paragraphs(a.secondStories()...)
	t.line("")
}

func (t *terminal) thirdAct(a thirdAct) {
	t.line(t.paint.bold("ACT 3: an Ingress is changed under load"))
	t.row("", plainText(shopHost+"/"), plainText(shopHost+"/api"))
	t.rule()
	result := func(of func(load.Result) cell) []cell { return []cell{of(a.Page), of(a.API)} }
	t.row("requests", result(func(r load.Result) cell { return plainText(thousands(r.Requests)) })...)
	t.row("failed", result(failures)...)
	for _, status := range failureStatuses(a.Page, a.API) {
		t.row("  "+statusTitle(status), result(func(r load.Result) cell { return plainText(count(r.ByStatus[status])) })...)
	}
	t.row("new target group serves", plainText("after "+seconds(a.Replaced)), plainText(absent))
	t.row("new rule in the middle", plainText("after "+seconds(a.Inserted)), plainText("after "+seconds(a.Inserted)))
	t.rule()
	t.paragraphs("targetgate created "+a.LoadBalancer+" for the Ingress. Then the Ingress named another port of its Service for /, "+
		"which replaces the target group: the new one took over once its targets were healthy. Finally, a rule was inserted between the "+
		"two. An answer by the other path's pods counts as failed.", "")
}

func (t *terminal) heading(title string, a act) {
	t.line(t.paint.bold(title))
	t.row("", plainText(a.Gated.Name), plainText(a.Plain.Name))
	t.rule()
}

func (t *terminal) paragraphs(texts ...string) {
	for _, text := range texts {
		for _, line := range wrap(text, tableWidth) {
			t.line(line)
		}
	}
}

// failures are the rows of both acts.
func (t *terminal) failures(gated, plain rollout) {
	t.both("requests", gated, plain, func(r rollout) cell { return plainText(thousands(r.Load.Requests)) })
	t.both("failed", gated, plain, failedCell)
	for _, status := range failureStatuses(gated.Load, plain.Load) {
		t.both("  "+statusTitle(status), gated, plain, func(r rollout) cell { return plainText(count(r.Load.ByStatus[status])) })
	}
}

func (t *terminal) figures(gated, plain rollout) {
	t.failures(gated, plain)
	t.both("rollout took", gated, plain, func(r rollout) cell { return plainText(tookText(r)) })
	t.both("latency p50 / p99", gated, plain, func(r rollout) cell {
		return plainText(milliseconds(r.Load.P50) + " / " + milliseconds(r.Load.P99))
	})
}

func (t *terminal) both(title string, gated, plain rollout, of func(rollout) cell) {
	t.row(title, of(gated), of(plain))
}

// life prints moments of one pod each.
func (t *terminal) life(title string, a act, isNew bool, moments []moment) {
	t.line("")
	gated, _ := a.Gated.example(isNew)
	plain, _ := a.Plain.example(isNew)
	t.line(t.paint.bold(title))
	t.row("", plainText(gated.Pod), plainText(plain.Pod))
	for _, m := range moments {
		t.row("  "+string(m), momentCell(gated, m), momentCell(plain, m))
	}
}

// cell is text of the table, and whether it is good or bad news.
type cell struct {
	text string
	news int
}

const (
	noNews = iota
	goodNews
	badNews
)

func plainText(text string) cell { return cell{text: text} }

func failedCell(r rollout) cell { return failures(r.Load) }

func failures(result load.Result) cell {
	if result.Failed == 0 {
		return cell{"0", goodNews}
	}
	return cell{fmt.Sprintf("%s (%s)", thousands(result.Failed), failedShare(result)), badNews}
}

func failedShare(result load.Result) string {
	return fmt.Sprintf("%.1f %%", 100*float64(result.Failed)/float64(result.Requests))
}

func momentCell(l lane, m moment) cell {
	at, ok := l.At[m]
	if !ok {
		return plainText(" " + absent) // under the signs of the times
	}
	text := fmt.Sprintf("%+6.2f s", at.Seconds())
	remark := l.remark(m)
	switch {
	case remark == "":
		return plainText(text)
	case l.early(m):
		return cell{text + "  ! " + remark, badNews}
	default:
		return cell{text + "    " + remark, goodNews}
	}
}

// row prints one line of the table; colours come after the padding, as they have no width.
func (t *terminal) row(title string, cells ...cell) {
	line := pad(title, titleWidth)
	for i, c := range cells {
		text := c.text
		if i < len(cells)-1 {
			text = pad(text, columnWidth)
		}
		line += t.paint.news(text, c.news)
	}
	t.line(line)
}

func (t *terminal) rule() { t.line(strings.Repeat("-", tableWidth)) }

// line writes a line; errors wait for Flush.
func (t *terminal) line(text string) { _, _ = t.WriteString(strings.TrimRight(text, " ") + "\n") }

// pad fills text up to a width, and cuts what is longer.
func pad(text string, width int) string {
	if n := utf8.RuneCountInString(text); n < width {
		return text + strings.Repeat(" ", width-n)
	}
	return string([]rune(text)[:width-1]) + " "
}

// thousands groups digits for reading: 12,345.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func count(n int) string {
	if n == 0 {
		return absent
	}
	return thousands(n)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}

// statusTitle explains a status of package load.
func statusTitle(status string) string {
	titles := map[string]string{
		"502": "502 Bad Gateway", "503": "503 Unavailable", "504": "504 Timeout", load.Timeout: "no answer in time",
		load.Refused: "refused", load.Reset: "connection reset", load.Closed: "connection closed",
	}
	if title, ok := titles[status]; ok {
		return title
	}
	return status
}

// paint colours text, when it is for a terminal.
type paint struct{ colours bool }

// newPaint paints only on a terminal, and not where NO_COLOR is set (https://no-color.org).
func newPaint(out *os.File) paint {
	info, err := out.Stat()
	isTerminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return paint{isTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (p paint) bold(text string) string { return p.with("1", text) }

func (p paint) news(text string, news int) string {
	switch news {
	case goodNews:
		return p.with("32", text)
	case badNews:
		return p.with("1;31", text)
	}
	return text
}

func (p paint) with(code, text string) string {
	if !p.colours {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

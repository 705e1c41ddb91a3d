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
	t.row("", plainText(r.Gated.Name), plainText(r.Plain.Name))
	t.rule()
	t.row("", plainText(r.Gated.Setup), plainText(r.Plain.Setup))
	t.figures(r.Gated, r.Plain)
	t.life("one pod of the new version", r, true, comings)
	t.life("one pod of the old version", r, false, goings)
	t.rule()
	for _, line := range explanation(r) {
		t.line(line)
	}
	t.line("")
	return t.Flush()
}

func (t *terminal) figures(gated, plain rollout) {
	t.both("requests", gated, plain, func(r rollout) cell { return plainText(thousands(r.Load.Requests)) })
	t.both("failed", gated, plain, failedCell)
	for _, status := range failureStatuses(gated.Load, plain.Load) {
		t.both("  "+statusTitle(status), gated, plain, func(r rollout) cell { return plainText(count(r.Load.ByStatus[status])) })
	}
	t.both("rollout took", gated, plain, func(r rollout) cell { return plainText(seconds(r.Took)) })
	t.both("latency p50 / p99", gated, plain, func(r rollout) cell {
		return plainText(milliseconds(r.Load.P50) + " / " + milliseconds(r.Load.P99))
	})
}

func (t *terminal) both(title string, gated, plain rollout, of func(rollout) cell) {
	t.row(title, of(gated), of(plain))
}

// life prints moments of one pod each.
func (t *terminal) life(title string, r report, isNew bool, moments []moment) {
	t.line("")
	gated, _ := r.Gated.example(isNew)
	plain, _ := r.Plain.example(isNew)
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

func failedCell(r rollout) cell {
	if r.Load.Failed == 0 {
		return cell{"0", goodNews}
	}
	share := 100 * float64(r.Load.Failed) / float64(r.Load.Requests)
	return cell{fmt.Sprintf("%s (%.1f %%)", thousands(r.Load.Failed), share), badNews}
}

func momentCell(l lane, m moment) cell {
	at, ok := l.At[m]
	if !ok {
		return plainText(absent)
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

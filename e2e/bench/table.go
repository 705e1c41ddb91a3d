// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Columns of the table.
const (
	nameWidth  = 38
	valueWidth = 13
	tableWidth = nameWidth + 4*valueWidth
	absent     = "-"
)

// table is a result as text.
func (r *result) table() string {
	var t strings.Builder
	fmt.Fprintf(&t, "\n%s: %s, %s\n", r.Scenario, r.Title, size(r.Bindings, r.Replicas))
	row(&t, "", "goal, <=", "incumbent", "ours", "goal met")
	t.WriteString(strings.Repeat("-", tableWidth) + "\n")
	for _, f := range r.Figures {
		row(&t, f.Name, optional(f.Goal, f.Unit), optional(f.Incumbent, f.Unit), text(f.Value, f.Unit), f.verdict())
	}
	if len(r.Calls) > 0 {
		fmt.Fprintf(&t, "AWS calls by operation: %s\n", operations(r.Calls))
	}
	if r.Error != "" {
		firstLine, _, _ := strings.Cut(r.Error, "\n")
		fmt.Fprintf(&t, "NOT RUN TO ITS END: %s\n", firstLine)
	}
	t.WriteString("\n")
	return t.String()
}

// row writes one line; names stand to the left, values to the right.
func row(t *strings.Builder, name string, values ...string) {
	line := fmt.Sprintf("%-*s", nameWidth, name)
	for _, value := range values {
		line += strings.Repeat(" ", max(1, valueWidth-utf8.RuneCountInString(value))) + value
	}
	t.WriteString(line + "\n")
}

func (f figure) verdict() string {
	switch {
	case f.Met == nil:
		return absent
	case *f.Met:
		return "yes"
	default:
		return "NO"
	}
}

func optional(value *float64, in unit) string {
	if value == nil {
		return absent
	}
	return text(*value, in)
}

// text is a value with as many digits as mean something.
func text(value float64, in unit) string {
	switch in {
	case seconds, milliseconds:
		return fmt.Sprintf("%.2f %s", value, in)
	case number:
		return thousands(int(value))
	case bytesOf:
		return thousands(int(value)) + " B"
	case perSecond:
		return fmt.Sprintf("%.1f /s", value)
	default:
		return fmt.Sprintf("%.0f %s", value, in)
	}
}

// thousands groups digits for reading: 12,345.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func operations(calls map[string]int) string {
	var parts []string
	for _, operation := range slices.Sorted(maps.Keys(calls)) {
		parts = append(parts, fmt.Sprintf("%s %s", operation, thousands(calls[operation])))
	}
	return strings.Join(parts, ", ")
}

// summary says how many goals were reached, and names the others.
func (r report) summary() string {
	goals := 0
	var missed strings.Builder
	missing := 0
	for i := range r.Results {
		result := &r.Results[i]
		goals += result.goals()
		for _, f := range result.missed() {
			missing++
			fmt.Fprintf(&missed, "  missed: %s: %s: %s, goal %s\n", result.Scenario, f.Name, text(f.Value, f.Unit), optional(f.Goal, f.Unit))
		}
	}
	head := fmt.Sprintf("%d of %d goals reached; %d cores, %s, targetgate %s\n",
		goals-missing, goals, r.Environment.Cores, r.Environment.Go, r.Environment.Commit)
	if r.Quick {
		head = "A quick run: the figures say nothing.\n"
	}
	return head + missed.String()
}

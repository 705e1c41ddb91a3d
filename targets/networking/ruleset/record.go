// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package ruleset

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/targetgate/targetgate/aws/ec2"
)

// Phase is what was last begun with a rule of ours.
type Phase string

// The phases. An entry is written before the call that it is about is sent, or the call could outlive its entry.
const (
	Granted  Phase = "granted"  // asked for, or there
	Revoking Phase = "revoking" // a revoke was sent: the rule may be there or not
	Revoked  Phase = "revoked"  // EC2 has answered that it is gone
)

// Entry is what is known of a rule of ours, since At.
type Entry struct {
	Phase Phase
	At    time.Time
}

// Record holds the rules of one security group that are ours: we have added them, or were about to. A rule that EC2 held already
// when we first asked for it is not ours.
type Record map[ec2.Rule]Entry

const (
	recordVersion = "targetgate-rules/1"
	// maxRecordBytes is below the megabyte that a ConfigMap can hold; maxRecordRules is more than a group can have in both families.
	maxRecordBytes = 512 << 10
	maxRecordRules = 4000
)

// String is the record as it is stored: the version, and a line for each rule, such as
// "granted 2026-11-22T15:00:00Z tcp 80 443 sg-0123".
func (r Record) String() string {
	lines := make([]string, 0, len(r))
	for rule, entry := range r {
		lines = append(lines, fmt.Sprintf("%s %s %s %d %d %s\n", entry.Phase, entry.At.UTC().Format(time.RFC3339Nano),
			rule.Protocol, rule.From, rule.To, rule.Source))
	}
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(ruleText(a), ruleText(b))
	})
	return recordVersion + "\n" + strings.Join(lines, "")
}

// ruleText is a line of a record from its protocol on, so that lines keep their places when their times change.
func ruleText(line string) string {
	parts := strings.SplitN(line, " ", 3)
	return parts[len(parts)-1]
}

// ParseRecord reads what String writes. What it does not understand as a whole is an error: a part of a record would make ours
// look like others'.
func ParseRecord(text string) (Record, error) {
	if len(text) > maxRecordBytes {
		return nil, fmt.Errorf("record of %d bytes: must be at most %d", len(text), maxRecordBytes)
	}
	version, lines, _ := strings.Cut(text, "\n")
	if version != recordVersion {
		return nil, fmt.Errorf("record of version %.40q: must be %q", version, recordVersion)
	}
	record := Record{}
	for line := range strings.Lines(lines) {
		rule, entry, err := parseEntry(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("line %.200q of a record: %w", line, err)
		}
		if record[rule] = entry; len(record) > maxRecordRules {
			return nil, fmt.Errorf("record of more than %d rules", maxRecordRules)
		}
	}
	return record, nil
}

func parseEntry(line string) (rule ec2.Rule, entry Entry, err error) {
	fields := strings.Split(line, " ")
	if len(fields) != 6 {
		return rule, entry, fmt.Errorf("has %d fields: must be 6", len(fields))
	}
	switch entry.Phase = Phase(fields[0]); entry.Phase {
	case Granted, Revoking, Revoked:
	default:
		return rule, entry, fmt.Errorf("no such phase: %q", fields[0])
	}
	if entry.At, err = time.Parse(time.RFC3339Nano, fields[1]); err != nil {
		return rule, entry, err
	}
	entry.At = entry.At.UTC()
	if rule.Protocol = fields[2]; rule.Protocol != "tcp" && rule.Protocol != "udp" {
		return rule, entry, fmt.Errorf("protocol %q: must be tcp or udp", rule.Protocol)
	}
	if rule.From, err = parsePort(fields[3]); err != nil {
		return rule, entry, err
	}
	if rule.To, err = parsePort(fields[4]); err != nil {
		return rule, entry, err
	}
	rule.Source, err = parseSource(fields[5])
	return rule, entry, err
}

func parsePort(text string) (int32, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	return int32(port), err
}

func parseSource(text string) (ec2.Source, error) {
	if strings.Contains(text, "/") {
		cidr, err := netip.ParsePrefix(text)
		return ec2.Source{CIDR: cidr.Masked()}, err
	}
	if !groupIDPattern.MatchString(text) {
		return ec2.Source{}, fmt.Errorf("source %q is neither a CIDR nor the ID of a group", text)
	}
	return ec2.Source{Group: text}, nil
}

// Ours reports whether the rule, if it is there, is ours.
func (r Record) Ours(rule ec2.Rule) bool {
	entry, known := r[rule]
	return known && entry.Phase != Revoked
}

// AllOurs are the rules that, if they are there, are ours.
func (r Record) AllOurs() Rules {
	rules := Rules{}
	for rule := range r {
		if r.Ours(rule) {
			rules.Insert(rule)
		}
	}
	return rules
}

// stale reports whether a read at that time may show the rule though it is gone.
func (r Record) stale(rule ec2.Rule, now time.Time) bool {
	return r[rule].Phase == Revoking || r.justRevoked(rule, now)
}

// justRevoked reports whether a read at that time shows the rule, if it does, because it is old.
func (r Record) justRevoked(rule ec2.Rule, now time.Time) bool {
	entry := r[rule]
	return entry.Phase == Revoked && now.Sub(entry.At) < ReadLag
}

// Young reports whether a read at that time may be from before a rule of ours was added, and from before there was the group.
func (r Record) Young(now time.Time) bool {
	for rule, entry := range r {
		if r.Ours(rule) && now.Sub(entry.At) < ReadLag {
			return true
		}
	}
	return false
}

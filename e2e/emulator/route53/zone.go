// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package route53

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Record is a record set. Names have no final dot and are in lower case.
type Record struct {
	Name   string
	Type   string
	TTL    int64   `xml:",omitempty"`
	Values *Values `xml:"ResourceRecords"`
	Alias  *Alias  `xml:"AliasTarget"`
}

// Values are those of a record set that is no alias.
type Values struct {
	List []Value `xml:"ResourceRecord"`
}

// Value is one of them.
type Value struct{ Value string }

// Alias has a record set answer with the addresses of another name.
type Alias struct {
	HostedZoneID         string `xml:"HostedZoneId"`
	DNSName              string
	EvaluateTargetHealth bool
}

// Change is one of a batch. Applied is when.
type Change struct {
	Action  string // CREATE, DELETE or UPSERT
	Record  Record `xml:"ResourceRecordSet"`
	Applied time.Time
}

type key struct{ name, kind string }

func (r Record) key() key { return key{r.Name, r.Type} }

func (k key) String() string { return fmt.Sprintf("[name='%s.', type='%s']", k.name, k.kind) }

func canonical(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }

// normalized is the record as Route 53 keeps it.
func (r Record) normalized() Record {
	r.Name = canonical(r.Name)
	if r.Alias != nil {
		alias := *r.Alias
		alias.DNSName = canonical(alias.DNSName)
		r.Alias = &alias
	}
	return r
}

// zone is a hosted zone.
type zone struct {
	id, name string
	private  bool
	records  map[key]Record
	changes  []Change
	listings int
}

// holds reports whether names like this one can be in the zone.
func (z *zone) holds(name string) bool { return name == z.name || strings.HasSuffix(name, "."+z.name) }

// apply makes all changes or none; faults says why.
func (z *zone) apply(batch []Change, targets Targets, now time.Time) (faults []string) {
	records, applied := maps.Clone(z.records), make([]Change, 0, len(batch))
	for _, c := range batch {
		c.Record, c.Applied = c.Record.normalized(), now
		if fault := z.fault(c, records, targets); fault != "" {
			faults = append(faults, fault)
			continue
		}
		if c.Action == "DELETE" {
			delete(records, c.Record.key())
		} else {
			records[c.Record.key()] = c.Record
		}
		applied = append(applied, c)
	}
	if len(faults) == 0 {
		z.records, z.changes = records, append(z.changes, applied...)
	}
	return faults
}

// fault says why the change cannot be made, in Route 53's words.
func (z *zone) fault(c Change, records map[key]Record, targets Targets) string {
	known, isThere := records[c.Record.key()]
	switch {
	case !z.holds(c.Record.Name):
		return fmt.Sprintf("RRSet with DNS name %s. is not permitted in zone %s.", c.Record.Name, z.name)
	case c.Action == "CREATE" && isThere:
		return fmt.Sprintf("Tried to create resource record set %s but it already exists", c.Record.key())
	case c.Action == "DELETE" && !isThere:
		return fmt.Sprintf("Tried to delete resource record set %s but it was not found", c.Record.key())
	case c.Action == "DELETE" && !reflect.DeepEqual(known, c.Record):
		return fmt.Sprintf("Tried to delete resource record set %s but the values provided do not match the current values", c.Record.key())
	case c.Action == "DELETE" || c.Record.Alias == nil:
		return ""
	}
	return aliasFault(c.Record, targets)
}

func aliasFault(r Record, targets Targets) string {
	zoneID, isThere := targets(r.Alias.DNSName)
	fault := ""
	switch {
	case !isThere:
		fault = "but that target was not found"
	case zoneID != r.Alias.HostedZoneID:
		fault = "but the alias target name does not lie within the target zone"
	default:
		return ""
	}
	return fmt.Sprintf("Tried to create an alias that targets %s., type %s in zone %s, %s",
		r.Alias.DNSName, r.Type, r.Alias.HostedZoneID, fault)
}

// sorted are all records by name and type.
func (z *zone) sorted() []Record {
	return slices.SortedFunc(maps.Values(z.records), func(a, b Record) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Type, b.Type))
	})
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/targetgate/targetgate/readiness"
	"github.com/targetgate/targetgate/targets/endpoints"
)

// fields are those of a message that are kept, by the numbers that generated.proto of k8s.io/api and k8s.io/apimachinery give
// them. Numbers never change their meaning. Other fields are dropped, and so are those that are not known yet.
type fields []part

// part is what is kept of one field: nothing when it is the zero value.
type part struct {
	// all keeps it as it is.
	all bool
	// of the message that the field holds, these fields.
	of fields
	// when reports whether a value of a repeated field is kept; nil is always.
	when func(value []byte) bool
	// pick of the message that the field holds, these fields of that one.
	pick func(value []byte) fields
	// most values of a repeated field that are kept, the first ones; 0 is all.
	most int
	// sent is that the field holds an object as API servers send it.
	sent bool
}

// whole keeps a field as it is.
var whole = part{all: true}

// at is what is kept of the field with the number, nil when that is nothing.
func (f fields) at(number protowire.Number) *part {
	if int(number) >= len(f) {
		return nil
	}
	if p := &f[number]; p.all || p.of != nil || p.when != nil || p.pick != nil || p.most > 0 || p.sent {
		return p
	}
	return nil
}

// with returns the fields, but keeps this of the one with the number.
func (f fields) with(number protowire.Number, kept part) fields {
	f = slices.Clone(f)
	f[number] = kept
	return f
}

// filter appends to kept what is kept of the message, field by field, in their order. It fails on bytes that are no message.
func (f fields) filter(kept, message []byte) ([]byte, error) {
	var last run
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return kept, protowire.ParseError(tag)
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return kept, protowire.ParseError(size)
		}
		field := message[:tag+size]
		message = message[tag+size:]
		p := f.at(number)
		switch {
		case p == nil, last.has(number, p.most):
		case kind != protowire.BytesType:
			kept = append(kept, field...)
		default:
			before := len(kept)
			var err error
			if kept, err = p.filter(kept, field, tag); err != nil {
				return kept, err
			}
			last.add(number, len(kept) > before)
		}
	}
	return kept, nil
}

// run counts which values of one field, that follow each other, were kept. API servers write the values of a field together.
type run struct {
	of   protowire.Number
	kept int
}

// has reports whether most values of the field were kept already.
func (r *run) has(number protowire.Number, most int) bool {
	return most > 0 && r.of == number && r.kept == most
}

func (r *run) add(number protowire.Number, isKept bool) {
	if r.of != number {
		*r = run{of: number}
	}
	if isKept {
		r.kept++
	}
}

// filter appends what is kept of a field, whose tag has that many bytes and whose value has a length.
func (p *part) filter(kept, field []byte, tag int) ([]byte, error) {
	value, _ := protowire.ConsumeBytes(field[tag:])
	if p.when != nil && !p.when(value) {
		return kept, nil
	}
	if p.of == nil && p.pick == nil && !p.sent {
		return append(kept, field...), nil
	}
	kept = append(kept, field[:tag]...)
	begin := len(kept)
	kept, err := p.filterValue(kept, value)
	return insertLength(kept, begin), err
}

func (p *part) filterValue(kept, value []byte) ([]byte, error) {
	switch {
	case p.sent:
		return filterObject(kept, value), nil
	case p.pick != nil:
		return p.pick(value).filter(kept, value)
	}
	return p.of.filter(kept, value)
}

// insertLength puts before the bytes from begin on how many they are.
func insertLength(kept []byte, begin int) []byte {
	var length [10]byte
	return slices.Insert(kept, begin, protowire.AppendVarint(length[:0], uint64(len(kept)-begin))...)
}

// keyed keeps the entries of a map whose keys are read.
func keyed(isRead func(key []byte) bool) part {
	return part{when: func(entry []byte) bool { return isRead(find(entry, 1)) }}
}

// isReadAnnotation reports whether an annotation is ours, one of those that Ingresses and their Services have, Amazon's note of a pod's own
// network interface, or what a watch marks the end of its initial events with.
func isReadAnnotation(key []byte) bool {
	switch string(key) {
	case "kubernetes.io/ingress.class", "vpc.amazonaws.com/pod-eni", "k8s.io/initial-events-end":
		return true
	default:
		return bytes.HasPrefix(key, []byte("targetgate.dev/")) || bytes.HasPrefix(key, []byte("alb.ingress.kubernetes.io/"))
	}
}

// isReadSliceLabel reports whether a label of a slice names its Service, or who writes it.
func isReadSliceLabel(key []byte) bool {
	return string(key) == "kubernetes.io/service-name" || string(key) == "endpointslice.kubernetes.io/managed-by"
}

// isReadCondition reports whether a condition of a pod is none of those that Kubernetes sets on all pods and nobody here reads.
func isReadCondition(condition []byte) bool {
	switch string(find(condition, 1)) {
	case "Initialized", "PodReadyToStartContainers", "PodScheduled", "Ready":
		return false
	default:
		return true
	}
}

// readOfConditions is whether an endpoint is ready, or what stands for that where it is missing: whether it serves, and terminates.
// Kubernetes' own slices always say whether it is ready, so that the others are no news.
func readOfConditions(conditions []byte) fields {
	for message := conditions; len(message) > 0; {
		number, _, size := protowire.ConsumeField(message)
		if size < 0 || number == 1 {
			return fields{1: whole}
		}
		message = message[size:]
	}
	return fields{2: whole, 3: whole}
}

// metadata of pods and nodes: all but generateName, managedFields and most annotations.
var metadata = fields{
	1:  whole, // name
	3:  whole, // namespace
	5:  whole, // uid
	6:  whole, // resourceVersion
	8:  whole, // creationTimestamp
	9:  whole, // deletionTimestamp
	10: whole, // deletionGracePeriodSeconds
	11: whole, // labels
	12: keyed(isReadAnnotation),
	13: whole, // ownerReferences
	14: whole, // finalizers
}

// pod is with one label and one gate more than there may be, where there are more: they tell that there are too many.
var pod = fields{
	1: {of: metadata.with(11, part{most: endpoints.MaxLabels + 1})}, // labels
	2: {of: fields{
		2:  {of: container},
		20: {of: container},           // initContainers
		4:  whole,                     // terminationGracePeriodSeconds
		10: whole,                     // nodeName
		11: whole,                     // hostNetwork
		28: {most: readiness.MaxKept}, // readinessGates
	}},
	3: {of: fields{
		1:  whole, // phase
		2:  {when: isReadCondition},
		3:  whole, // message
		4:  whole, // reason
		6:  whole, // podIP
		12: whole, // podIPs
	}},
}

var container = fields{
	1:  whole, // name
	6:  whole, // ports
	12: whole, // lifecycle
	24: whole, // restartPolicy
}

// node is without what is measured of it, and without the list of its images, which is most of it.
var node = fields{
	1: {of: metadata},
	2: whole, // spec
	3: {of: fields{
		4: {of: fields{1: whole, 2: whole, 5: whole, 6: whole}}, // conditions, without times: a heartbeat is no news
		5: whole,                                                // addresses
		7: {of: fields{7: whole}},                               // nodeInfo: kubeletVersion
	}},
}

var endpointSlice = fields{
	1: {of: fields{
		1:  whole, // name
		3:  whole, // namespace
		5:  whole, // uid
		6:  whole, // resourceVersion
		11: keyed(isReadSliceLabel),
		12: keyed(isReadAnnotation),
	}},
	2: {of: fields{
		1: {most: 1}, // addresses
		2: {pick: readOfConditions},
		4: {of: fields{1: whole, 2: whole, 3: whole, 4: whole}}, // targetRef: kind, namespace, name, uid
		7: whole,                                                // zone
	}},
	3: {of: fields{1: whole, 2: whole, 3: whole}, most: endpoints.MaxPorts + 1}, // ports: name, protocol, port
	4: whole,                                                                    // addressType
}

// service is without its addresses. Of its selector one entry more than a pod has labels is kept, where there are more: it selects none.
var service = fields{
	1: {of: metadata.with(11, part{}).with(13, part{}).with(14, part{})}, // labels, ownerReferences, finalizers
	2: {of: fields{
		1:  {of: fields{1: whole, 2: whole, 3: whole, 4: whole, 5: whole}, most: endpoints.MaxPorts}, // ports: all but appProtocol
		2:  {most: endpoints.MaxLabels + 1},                                                          // selector
		4:  whole,                                                                                    // type
		19: whole,                                                                                    // ipFamilies
	}},
}

// ingress is without labels and owners. Its finalizers are written with its resource version as a lock.
var ingress = fields{
	1: {of: metadata.with(11, part{}).with(13, part{})},
	2: whole, // spec
	3: whole, // status
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
)

// magic begins each object and each list that an API server sends in protobuf. A runtime.Unknown follows.
var magic = []byte("k8s\x00")

// Fields of a runtime.Unknown.
const (
	typeField protowire.Number = 1
	rawField  protowire.Number = 2
)

var ingressType = typeOf("networking.k8s.io/v1", "Ingress")

// kinds are the fields of the objects that are filtered, and lists those of lists of them, by type as typeOf writes it.
var (
	kinds = map[string]fields{
		typeOf("v1", "Pod"):                            inUnknown(pod),
		typeOf("v1", "Node"):                           inUnknown(node),
		typeOf("discovery.k8s.io/v1", "EndpointSlice"): inUnknown(endpointSlice),
		typeOf("v1", "Service"):                        inUnknown(service),
		ingressType:                                    inUnknown(ingress),
	}
	lists = map[string]fields{
		typeOf("v1", "PodList"):                            inList(pod),
		typeOf("v1", "NodeList"):                           inList(node),
		typeOf("discovery.k8s.io/v1", "EndpointSliceList"): inList(endpointSlice),
		typeOf("v1", "ServiceList"):                        inList(service),
		typeOf("networking.k8s.io/v1", "IngressList"):      inList(ingress),
	}
)

// typeOf is a runtime.TypeMeta as bytes.
func typeOf(apiVersion, kind string) string {
	var out []byte
	for i, value := range []string{apiVersion, kind} {
		out = protowire.AppendTag(out, protowire.Number(i+1), protowire.BytesType)
		out = protowire.AppendString(out, value)
	}
	return string(out)
}

func inUnknown(object fields) fields {
	return fields{typeField: whole, rawField: {of: object}, 3: whole, 4: whole} // content encoding and type
}

func inList(item fields) fields { return fields{1: whole, 2: {of: item}} }

// watchEvent has a type, and an object in a runtime.RawExtension.
var watchEvent = fields{1: whole, 2: {of: fields{1: {sent: true}}}}

// filterEvent appends what is kept of a watch event.
func filterEvent(kept, event []byte) []byte {
	filtered, err := watchEvent.filter(kept, event)
	if err != nil {
		return append(kept, event...)
	}
	return filtered
}

// filterObject appends what is kept of an object as API servers send it. One of another kind is kept as it is.
func filterObject(kept, sent []byte) []byte {
	unknown, ok := bytes.CutPrefix(sent, magic)
	of := kinds[string(typeIn(unknown))]
	if !ok || of == nil {
		return append(kept, sent...)
	}
	filtered, err := of.filter(append(kept, magic...), unknown)
	if err != nil {
		return append(kept, sent...)
	}
	return filtered
}

// typeIn is the runtime.TypeMeta that a runtime.Unknown begins with, nil when it begins otherwise.
func typeIn(unknown []byte) []byte {
	number, kind, tag := protowire.ConsumeTag(unknown)
	if tag < 0 || number != typeField || kind != protowire.BytesType {
		return nil
	}
	value, size := protowire.ConsumeBytes(unknown[tag:])
	if size < 0 {
		return nil
	}
	return value
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"hash/maphash"

	"google.golang.org/protobuf/encoding/protowire"
)

// seen knows of each object of one watch what was last told of it, so that an update that changes nothing that is kept is not told. Most
// updates of a pod are such: a kubelet writes when a container has restarted, or was probed. What a cache has is current without them, but
// for the resource version, which nobody reads; that of the watch comes with bookmarks. Of Ingresses it is read, as a lock of their
// finalizers, so that every update is told.
//
// An object takes some 30 bytes, as only hashes are kept. Two objects of one hash are no fault: what is compared has the UID.
type seen struct {
	told    map[uint64]uint64 // hash of what is kept, by that of the UID
	essence []byte            // of the last event
}

func newSeen() *seen { return &seen{told: map[uint64]uint64{}} }

var seed = maphash.MakeSeed()

// isNews takes in an event that was filtered, and reports whether it has to be told.
func (s *seen) isNews(event []byte) bool {
	object := objectIn(event)
	uid := find(object, 1, 5)
	if len(uid) == 0 {
		return true
	}
	key := maphash.Bytes(seed, uid)
	if string(find(event, 1)) == "DELETED" {
		delete(s.told, key)
		return true
	}
	var err error
	if s.essence, err = essence.filter(idle(s.essence), object); err != nil {
		return true
	}
	before, known := s.told[key]
	now := maphash.Bytes(seed, s.essence)
	s.told[key] = now
	return !known || before != now || string(find(event, 1)) != "MODIFIED"
}

// essence of a filtered object is all but its resource version.
var essence = fields{1: {of: metadata.with(6, part{})}, 2: whole, 3: whole, 4: whole}

// objectIn is the object of an event if it is of a kind that is filtered and whose resource version nobody reads, else nil.
func objectIn(event []byte) []byte {
	unknown, ok := bytes.CutPrefix(find(event, 2, 1), magic)
	if kind := string(typeIn(unknown)); !ok || kinds[kind] == nil || kind == ingressType {
		return nil
	}
	return find(unknown, rawField)
}

// find is the last value of the message's field at the path, nil when there is none.
func find(message []byte, path ...protowire.Number) (value []byte) {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return nil
		}
		size := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if size < 0 {
			return nil
		}
		if number == path[0] && kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(message[tag:])
		}
		message = message[tag+size:]
	}
	if len(path) > 1 {
		return find(value, path[1:]...)
	}
	return value
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// readAhead is the size of the buffer on a body, in bytes.
	readAhead = 8 << 10
	// maxFiltered is the size of an event or item that is filtered at most, in bytes. Kubernetes stores objects of up to 1.5 MiB.
	maxFiltered = 16 << 20
	// maxIdle is the size, in bytes, up to which a buffer is kept for the next event. Most events are smaller.
	maxIdle = 64 << 10
	// maxType is how long the type of a list may be, in bytes.
	maxType = 1 << 10
)

// watchBody is the body of a watch: events, each after its length in four bytes.
type watchBody struct {
	io.Closer
	source *bufio.Reader
	seen   *seen
	event  []byte // as it was read last
	kept   []byte // with its length: what is kept of that
	unread []byte // of kept
	asIs   int    // bytes of the source that are handed on as they are
}

func newWatchBody(body io.ReadCloser) *watchBody {
	return &watchBody{Closer: body, source: bufio.NewReaderSize(body, readAhead), seen: newSeen()}
}

// Read implements io.Reader. It waits for no more than the next event that is told.
func (b *watchBody) Read(into []byte) (int, error) {
	for len(b.unread) == 0 && b.asIs == 0 && len(into) > 0 {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	if len(b.unread) > 0 {
		n := copy(into, b.unread)
		b.unread = b.unread[n:]
		return n, nil
	}
	n, err := b.source.Read(into[:min(len(into), b.asIs)])
	b.asIs -= n
	return n, err
}

const lengthBytes = 4

// next reads an event, and filters it. Of one that is no news, nothing is left.
func (b *watchBody) next() error {
	b.kept = slices.Grow(idle(b.kept), lengthBytes)[:lengthBytes]
	if _, err := io.ReadFull(b.source, b.kept); err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint32(b.kept))
	if size > maxFiltered {
		b.unread, b.asIs = b.kept, size
		return nil
	}
	b.event = slices.Grow(idle(b.event), size)[:size]
	if _, err := io.ReadFull(b.source, b.event); err != nil {
		return unexpected(err)
	}
	b.kept = filterEvent(b.kept, b.event)
	binary.BigEndian.PutUint32(b.kept, uint32(len(b.kept)-lengthBytes))
	if b.seen.isNews(b.kept[lengthBytes:]) {
		b.unread = b.kept
	}
	b.event = idle(b.event)
	return nil
}

// idle is an empty buffer, with the room of this one unless that is large.
func idle(buffer []byte) []byte {
	if cap(buffer) > maxIdle {
		return nil
	}
	return buffer[:0]
}

// unexpected is the error of an end where more has to come.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// listBody is the body of an answer with a list, or with something else that is handed on as it is. A list is read item by item, so
// that it is never there as a whole: one of 5,000 pods may have 50 MB.
type listBody struct {
	io.Closer
	source   *bufio.Reader
	filtered io.Reader // nil before the first Read
	err      error
}

func newListBody(body io.ReadCloser) *listBody {
	return &listBody{Closer: body, source: bufio.NewReaderSize(body, readAhead)}
}

// Read implements io.Reader.
func (b *listBody) Read(into []byte) (int, error) {
	if b.filtered == nil && b.err == nil {
		b.filtered, b.err = filterList(b.source)
	}
	if b.err != nil {
		return 0, b.err
	}
	return b.filtered.Read(into)
}

// filterList returns the answer without what is dropped of the items of a list. It reads the source up to their end.
func filterList(source *bufio.Reader) (io.Reader, error) {
	head, of, err := readHead(source)
	if err != nil {
		return nil, err
	}
	if of == nil {
		return io.MultiReader(bytes.NewReader(head), source), nil
	}
	size, err := binary.ReadUvarint(source)
	if err != nil {
		return nil, fmt.Errorf("reading the length of a list: %w", unexpected(err))
	}
	list := &io.LimitedReader{R: source, N: int64(min(size, math.MaxInt64))}
	items, err := filterItems(bufio.NewReaderSize(list, readAhead), of)
	if err == nil && list.N > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("reading a list: %w", err)
	}
	head = protowire.AppendVarint(head, uint64(len(items)))
	return io.MultiReader(bytes.NewReader(head), bytes.NewReader(items), source), nil
}

// readHead reads all that stands before a list, and returns the list's fields. When it is no list that is filtered, there are none, and
// the head is all that was read.
func readHead(source *bufio.Reader) (head []byte, of fields, err error) {
	const tag = 1 // bytes, of the fields of a runtime.Unknown
	start, err := source.Peek(len(magic) + tag + maxType)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	unknown, _ := bytes.CutPrefix(start, magic)
	kind := typeIn(unknown)
	of = lists[string(kind)]
	if of == nil {
		return nil, nil, nil
	}
	list := protowire.AppendTag(nil, rawField, protowire.BytesType)
	before := len(magic) + tag + protowire.SizeBytes(len(kind))
	if !bytes.HasPrefix(start[before:], list) {
		return nil, nil, nil
	}
	head = slices.Clone(start[:before+len(list)])
	_, err = source.Discard(len(head))
	return head, of, err
}

// filterItems returns what is kept of a list, which is all that source has: its metadata and its items.
func filterItems(source *bufio.Reader, of fields) (kept []byte, err error) {
	var field []byte
	for {
		field, err = readField(source, field[:0])
		if errors.Is(err, io.EOF) {
			return kept, nil
		}
		if err != nil {
			return nil, err
		}
		if kept, err = of.filter(kept, field); err != nil {
			return nil, err
		}
	}
}

var errNotAList = errors.New("a field is not one of a list")

// readField appends the next field, with its tag. At the end of the source the error is io.EOF.
func readField(source *bufio.Reader, field []byte) ([]byte, error) {
	tag, err := binary.ReadUvarint(source)
	if err != nil {
		return nil, err
	}
	number, kind := protowire.DecodeTag(tag)
	if number < 1 || kind != protowire.BytesType {
		return nil, errNotAList
	}
	size, err := binary.ReadUvarint(source)
	if err != nil {
		return nil, unexpected(err)
	}
	if size > maxFiltered {
		return nil, fmt.Errorf("an item has %d bytes, more than %d", size, maxFiltered)
	}
	field = protowire.AppendVarint(protowire.AppendTag(field, number, kind), size)
	begin := len(field)
	field = slices.Grow(field, int(size))[:begin+int(size)]
	if _, err := io.ReadFull(source, field[begin:]); err != nil {
		return nil, unexpected(err)
	}
	return field, nil
}

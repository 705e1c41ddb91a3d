// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/state"
)

// params is a form as a tree: the key Targets.member.1.Id is a path through it. A nil tree is empty.
type params struct {
	value string
	kids  map[string]*params
}

func parseParams(form url.Values) *params {
	root := &params{}
	for key, values := range form {
		node := root
		for name := range strings.SplitSeq(key, ".") {
			node = node.grow(name)
		}
		node.value = values[0]
	}
	return root
}

func (p *params) grow(name string) *params {
	if p.kids == nil {
		p.kids = map[string]*params{}
	}
	if p.kids[name] == nil {
		p.kids[name] = &params{}
	}
	return p.kids[name]
}

// at follows a dotted path.
func (p *params) at(path string) *params {
	for name := range strings.SplitSeq(path, ".") {
		if p == nil {
			return nil
		}
		p = p.kids[name]
	}
	return p
}

func (p *params) text(path string) string {
	if node := p.at(path); node != nil {
		return node.value
	}
	return ""
}

// list returns the numbered entries below a path in order.
func (p *params) list(path string) []*params {
	node := p.at(path)
	if node == nil {
		return nil
	}
	var numbers []int
	for name := range node.kids {
		if n, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	entries := make([]*params, len(numbers))
	for i, n := range numbers {
		entries[i] = node.kids[strconv.Itoa(n)]
	}
	return entries
}

func (p *params) texts(path string) []string {
	var values []string
	for _, entry := range p.list(path) {
		values = append(values, entry.value)
	}
	return values
}

// number reads a positive number, 0 if it is not there.
func (p *params) number(path string) (int, error) {
	text := p.text(path)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, state.Refuse("MalformedInput", "Value '%s' at '%s' is not a number", text, path)
	}
	if n < 1 {
		return 0, state.Unfit(path, n, "have value greater than or equal to 1")
	}
	return n, nil
}

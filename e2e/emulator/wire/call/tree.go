// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package call

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/targetgate/targetgate/e2e/emulator/refusal"
)

// Tree is a form as a tree: the key Targets.member.1.Id is a path through it. A nil tree is empty.
type Tree struct {
	Value string
	Kids  map[string]*Tree
}

// ParseForm takes a form in.
func ParseForm(form url.Values) *Tree {
	root := &Tree{}
	for key, values := range form {
		node := root
		for name := range strings.SplitSeq(key, ".") {
			node = node.grow(name)
		}
		node.Value = values[0]
	}
	return root
}

func (p *Tree) grow(name string) *Tree {
	if p.Kids == nil {
		p.Kids = map[string]*Tree{}
	}
	if p.Kids[name] == nil {
		p.Kids[name] = &Tree{}
	}
	return p.Kids[name]
}

// At follows a dotted path.
func (p *Tree) At(path string) *Tree {
	for name := range strings.SplitSeq(path, ".") {
		if p == nil {
			return nil
		}
		p = p.Kids[name]
	}
	return p
}

// Text is the value at a path, "" if there is none.
func (p *Tree) Text(path string) string {
	if node := p.At(path); node != nil {
		return node.Value
	}
	return ""
}

// List returns the numbered entries below a path in order.
func (p *Tree) List(path string) []*Tree {
	node := p.At(path)
	if node == nil {
		return nil
	}
	var numbers []int
	for name := range node.Kids {
		if n, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	entries := make([]*Tree, len(numbers))
	for i, n := range numbers {
		entries[i] = node.Kids[strconv.Itoa(n)]
	}
	return entries
}

// Texts are the values of a List.
func (p *Tree) Texts(path string) []string {
	var values []string
	for _, entry := range p.List(path) {
		values = append(values, entry.Value)
	}
	return values
}

// Number reads a positive number, 0 if it is not there.
func (p *Tree) Number(path string) (int, error) {
	text := p.Text(path)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, refusal.New("MalformedInput", "Value '%s' at '%s' is not a number", text, path)
	}
	if n < 1 {
		return 0, refusal.Unfit(path, n, "have value greater than or equal to 1")
	}
	return n, nil
}

// Fill takes JSON in as a form has it: the entries of a list are numbered from 1.
func (p *Tree) Fill(value any) {
	switch value := value.(type) {
	case nil:
	case map[string]any:
		for name, field := range value {
			p.grow(name).Fill(field)
		}
	case []any:
		for i, entry := range value {
			p.grow(strconv.Itoa(i + 1)).Fill(entry)
		}
	default:
		p.Value = fmt.Sprint(value)
	}
}

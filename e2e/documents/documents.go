// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Block are commands that stand together in a document.
type Block struct {
	// Document is the path below the repository's root, and Line that of the first command.
	Document string
	Line     int
	Commands string
}

// Moves reports whether the block is about the move from another controller, and back.
func (b Block) Moves() bool { return filepath.Base(b.Document) == "MOVING.md" }

// Provisions reports whether the block is about load balancers of Ingresses.
func (b Block) Provisions() bool { return filepath.Base(b.Document) == "INGRESS.md" }

// Installs reports whether the block is about an installation, and needs Helm.
func (b Block) Installs() bool { return b.Moves() || strings.Contains(b.Commands, "helm ") }

func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Document, b.Line) }

// Read returns the blocks of all documents of the repository, in their order.
func Read(root string) ([]Block, error) {
	var blocks []Block
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		document, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		found, err := parse(document, string(text))
		blocks = append(blocks, found...)
		return err
	})
	return blocks, err
}

// parse refuses other names of shells: their blocks would run nowhere.
func parse(document, text string) ([]Block, error) {
	var blocks []Block
	var open *Block
	line := 0
	for content := range strings.Lines(text) {
		line++
		switch fence := strings.TrimSpace(content); {
		case open == nil && fence == "```sh":
			open = &Block{Document: document, Line: line + 1}
		case open == nil && slices.Contains([]string{"```bash", "```shell", "```console"}, fence):
			return nil, fmt.Errorf("%s:%d: commands are in a block of type sh, not %s", document, line, fence)
		case open != nil && fence == "```":
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.Commands += content
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s has no end", open)
	}
	return blocks, nil
}

// Shell is where a reader types.
type Shell struct {
	// Programs are what the reader has: name and path.
	Programs map[string]string
	// Values stand for the words in capitals, and whatever else a reader would change.
	Values map[string]string
	// Env are further environment variables, name=value.
	Env []string
	// Dir is the current folder.
	Dir string
}

//go:embed prologue.sh
var prologue string

// Run types the block, and returns what is printed. The error tells each program that failed.
func (s *Shell) Run(ctx context.Context, block Block) (string, error) {
	own, err := os.MkdirTemp("", "documents")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(own)
	for name, path := range s.Programs {
		if err := os.Symlink(path, filepath.Join(own, name)); err != nil {
			return "", err
		}
	}
	failures := filepath.Join(own, "failures")
	command := exec.CommandContext(ctx, "sh", "-eu", "-c", prologue+s.fill(block.Commands))
	command.Dir = s.Dir
	command.Env = append(os.Environ(), "PATH="+own+":"+os.Getenv("PATH"), "HOME="+own, "FAILURES="+failures)
	command.Env = append(command.Env, s.Env...)
	out, err := command.CombinedOutput()
	failed, readErr := os.ReadFile(failures)
	if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
		return "", readErr
	}
	// What the shell itself complains about, in the middle of a pipe, is in no exit code.
	complains := strings.Contains("\n"+string(out), "\nsh: ")
	if err != nil || len(failed) > 0 || complains {
		err = fmt.Errorf("%s: %w\n%s\nprinted:\n%s", block, cmp.Or(err, errors.New("a program failed")), bytes.TrimSpace(failed), out)
	}
	return string(out), err
}

// fill writes values into commands, in place of whole words.
func (s *Shell) fill(commands string) string {
	words := slices.SortedFunc(maps.Keys(s.Values), func(a, b string) int { return len(b) - len(a) })
	if len(words) == 0 {
		return commands
	}
	for i, word := range words {
		words[i] = regexp.QuoteMeta(word)
	}
	return regexp.MustCompile(`\b(?:`+strings.Join(words, "|")+`)\b`).
		ReplaceAllStringFunc(commands, func(word string) string { return s.Values[word] })
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

const (
	// tailLines is how many lines of a dead process's log its error shows.
	tailLines = 20
	// tailBytes bounds what is read for that, as components write very long lines.
	tailBytes = 16 << 10
)

// tail returns the last lines of the file, at most tailLines of them and at most tailBytes bytes, without a final line
// break. A line that the byte limit cuts is left out, unless it is the only one. When the file cannot be read, the
// answer says so: it goes into an error about something worse.
func tail(path string) string {
	text, err := readEnd(path)
	if err != nil {
		return fmt.Sprintf("(no log: %v)", err)
	}
	lines := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n")))
}

// readEnd returns the last tailBytes bytes of the file, from the first line break on when more precede them.
func readEnd(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	start := max(0, info.Size()-tailBytes)
	text, err := io.ReadAll(io.NewSectionReader(file, start, tailBytes))
	if err != nil {
		return nil, err
	}
	if _, whole, found := bytes.Cut(text, []byte("\n")); start > 0 && found && len(whole) > 0 {
		text = whole
	}
	return text, nil
}

// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package networking

import (
	"testing"
	"testing/synctest"
	"time"
)

// A record that somebody else has changed is back within a minute, and EC2 is not asked more often while nobody does.
func TestRecordThatSomebodyElseChangesIsPutBack(t *testing.T) {
	inBed(t, func(b *bed) {
		b.start()
		b.want(asking("web", from("sg-lb", 80)))
		b.settle()
		text := func() string {
			b.records.mu.Lock()
			defer b.records.mu.Unlock()
			return b.records.texts["sg-node"]
		}
		for name, change := range map[string]func(){
			"removed": func() { delete(b.records.texts, "sg-node") },
			"damaged": func() { b.records.texts["sg-node"] = "nonsense" },
		} {
			ours := text()
			b.records.mu.Lock()
			change()
			b.records.mu.Unlock()
			time.Sleep(time.Minute)
			if synctest.Wait(); text() != ours || ours == "" {
				b.Errorf("%s: a minute later it is %q, want %q", name, text(), ours)
			}
		}
	})
}

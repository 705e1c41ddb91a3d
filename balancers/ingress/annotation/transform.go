// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Transform changes requests before they are sent to targets, as an annotation says it. Exactly the config of its Type is set.
type Transform struct {
	Type                                      string
	HostHeaderRewriteConfig, URLRewriteConfig *Rewrites
}

// Rewrites put Replace in the place of what Regex matches.
type Rewrites struct {
	Rewrites []struct{ Regex, Replace string }
}

func parseTransforms(value string) ([]Transform, error) {
	transforms, err := ParseJSON[[]Transform](value)
	if err != nil {
		return nil, err
	}
	for i, transform := range transforms {
		if err := transform.check(); err != nil {
			return nil, fmt.Errorf("[%d], type %.30q: %w", i, transform.Type, err)
		}
		if slices.ContainsFunc(transforms[:i], func(other Transform) bool { return other.Type == transform.Type }) {
			return nil, fmt.Errorf("type %s is listed twice: list it once", transform.Type)
		}
	}
	return transforms, nil
}

func (t Transform) check() error {
	switch {
	case t.Type == "host-header-rewrite" && t.URLRewriteConfig == nil:
		return t.HostHeaderRewriteConfig.check("hostHeaderRewriteConfig")
	case t.Type == "url-rewrite" && t.HostHeaderRewriteConfig == nil:
		return t.URLRewriteConfig.check("urlRewriteConfig")
	}
	return errors.New("set host-header-rewrite with hostHeaderRewriteConfig, or url-rewrite with urlRewriteConfig")
}

// check is what AWS takes.
func (r *Rewrites) check(name string) error {
	const longest = 1024
	if r == nil || len(r.Rewrites) != 1 {
		return fmt.Errorf("set %s with one of rewrites", name)
	}
	for _, rewrite := range r.Rewrites {
		if n := utf8.RuneCountInString(rewrite.Regex); n == 0 || n > longest {
			return fmt.Errorf("regex has %d characters, must be 1 to %d", n, longest)
		}
		if n := utf8.RuneCountInString(rewrite.Replace); n > longest {
			return fmt.Errorf("replace has %d characters, must be at most %d", n, longest)
		}
	}
	return nil
}

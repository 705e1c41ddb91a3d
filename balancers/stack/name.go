// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// hashDigits is how many hex digits of a hash end a name.
const hashDigits = 10

// Part is a readable part of a name.
type Part struct {
	Text string
	Max  int // bytes that are kept of it
}

// Name is "k8s", the letters and digits of each part, and a hash of the texts, joined by hyphens. The texts are hashed as one, with nothing
// between them. Parts of at most 17 bytes in all, with their hyphens, keep it within the 32 that load balancers and target groups may
// have.
func Name(parts []Part, hashed ...string) string {
	name := "k8s"
	for _, part := range parts {
		text := alphanumeric(part.Text)
		name += "-" + text[:min(part.Max, len(text))]
	}
	sum := sha256.Sum256([]byte(strings.Join(hashed, "")))
	return name + "-" + hex.EncodeToString(sum[:])[:hashDigits]
}

// BackendSecurityGroupName is the name of the security group that all load balancers of a cluster share.
func BackendSecurityGroupName(cluster string) string {
	return Name([]Part{{"traffic", 7}, {cluster, 232}}, cluster)
}

func alphanumeric(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, text)
}

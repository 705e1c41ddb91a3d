// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Protocol is that of a listener.
type Protocol string

// The protocols of listeners.
const (
	HTTP  Protocol = "HTTP"
	HTTPS Protocol = "HTTPS"
)

// parseListenPorts parses the protocols of listeners by port, as [{"HTTP": 80}, {"HTTPS": 443}]. Of two with one port the last counts, as
// with the incumbent, and HTTPS if they are in one map.
func parseListenPorts(value string) (map[int32]Protocol, error) {
	entries, err := ParseJSON[[]map[Protocol]int32](value)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, errors.New(`list at least one listener, as [{"HTTP": 80}]`)
	}
	ports := map[int32]Protocol{}
	for _, entry := range entries {
		for _, protocol := range slices.Sorted(maps.Keys(entry)) {
			port := entry[protocol]
			switch {
			case protocol != HTTP && protocol != HTTPS:
				return nil, fmt.Errorf("protocol %.20q: must be HTTP or HTTPS", protocol)
			case port < 1 || port > 65535:
				return nil, fmt.Errorf("port %d: must be 1 to 65535", port)
			}
			ports[port] = protocol
		}
	}
	return ports, nil
}

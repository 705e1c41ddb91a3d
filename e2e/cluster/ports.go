// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	loopback = "127.0.0.1"

	// Ports are taken from below the range from which Linux takes the local ports of outgoing connections (32768 to
	// 60999 by default). A port chosen by the system would come from that very range, and while the API server is
	// down for a fault test, one of the load client's many connections could take it away.
	firstPort, lastPort = 20000, 32000
	portAttempts        = 100
)

// FreePorts returns that many different TCP ports on which nothing listens on 127.0.0.1. They are not reserved: the
// random choice is what keeps two clusters that start at the same time apart.
func FreePorts(count int) ([]int, error) {
	ports := make([]int, 0, count)
	for range portAttempts {
		if len(ports) == count {
			return ports, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := net.Listen("tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			continue // taken, perhaps by ourselves: the listeners stay open until all ports are found
		}
		defer listener.Close()
		ports = append(ports, port)
	}
	return nil, fmt.Errorf("choosing ports: found %d of %d free ports in %d attempts", len(ports), count, portAttempts)
}

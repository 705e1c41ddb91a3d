// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

const (
	loopback = "127.0.0.1"

	// Ports are taken from below the range from which Linux takes the local ports of outgoing connections (32768 to
	// 60999 by default). A port chosen by the system would come from that very range, and while the API server is
	// down for a fault test, one of the load client's many connections could take it away.
	firstPort, lastPort = 20000, 32000
	// blockSize is how many ports a process claims at once. A bed needs five, and three for each more replica.
	blockSize     = 100
	claimAttempts = 1000
)

// claimed are the ports of this process: blocks of which it listens on the first, as long as it runs. So a port that it has given to a
// component, which does not listen yet or any more, is not given to a component of another process.
var claimed struct {
	sync.Mutex
	claims    []net.Listener // kept here, as Go closes a listener that nothing refers to
	next, end int            // of the last block, what is not given yet
}

// FreePorts returns that many different TCP ports on which nothing listens on 127.0.0.1, and that no call returns again, in no process.
func FreePorts(count int) ([]int, error) {
	claimed.Lock()
	defer claimed.Unlock()
	ports := make([]int, 0, count)
	for len(ports) < count {
		if claimed.next == claimed.end {
			if err := claimBlock(); err != nil {
				return nil, err
			}
		}
		if listener, err := listen(claimed.next); err == nil {
			_ = listener.Close()
			ports = append(ports, claimed.next)
		}
		claimed.next++
	}
	return ports, nil
}

func claimBlock() error {
	for range claimAttempts {
		first := firstPort + blockSize*rand.IntN((lastPort-firstPort)/blockSize)
		if listener, err := listen(first); err == nil {
			claimed.claims = append(claimed.claims, listener)
			claimed.next, claimed.end = first+1, first+blockSize
			return nil
		}
	}
	return errors.New("choosing ports: each block of ports is another process's")
}

func listen(port int) (net.Listener, error) {
	return net.Listen("tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
}

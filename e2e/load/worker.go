// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// Kinds of failure without an answer.
const (
	Refused = "refused"
	Reset   = "reset"
	Closed  = "closed"
	Timeout = "timeout"
	Other   = "other"
)

// Stranger is the status of a request that was answered by another than Options.Answered wants.
const Stranger = "answered by another"

// worker sends requests on one connection and reads the answers.
type worker struct {
	request   *http.Request
	timeout   time.Duration
	keepAlive bool
	dial      func(ctx context.Context, network, address string) (net.Conn, error) // nil is an ordinary dialer
	answered  func(http.Header) bool                                               // nil for anybody
	tls       *tls.Config                                                          // nil for http

	connection net.Conn // nil when there is none
	reader     *bufio.Reader
}

// ask sends the request once and returns its status or kind of failure.
func (w *worker) ask() string {
	deadline := time.Now().Add(w.timeout)
	answer, keep, err := w.exchange(deadline)
	if err != nil || !keep {
		w.close()
	}
	if err != nil {
		return kind(err)
	}
	if answer.status == http.StatusOK && w.answered != nil && !w.answered(answer.header) {
		return Stranger
	}
	return strconv.Itoa(answer.status)
}

// reply is an answer without its body.
type reply struct {
	status int
	header http.Header
}

// exchange returns the answer and whether the connection can be used again.
func (w *worker) exchange(deadline time.Time) (answer reply, keep bool, err error) {
	if err := w.connect(deadline); err != nil {
		return reply{}, false, err
	}
	if err := w.connection.SetDeadline(deadline); err != nil {
		return reply{}, false, err
	}
	if err := w.request.Write(w.connection); err != nil {
		return reply{}, false, err
	}
	response, err := http.ReadResponse(w.reader, w.request)
	if err != nil {
		return reply{}, false, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return reply{}, false, err
	}
	return reply{response.StatusCode, response.Header}, w.keepAlive && !response.Close, nil
}

// connect makes sure of a connection that the server has not closed yet.
func (w *worker) connect(deadline time.Time) error {
	if w.connection != nil && !isOpen(w.connection) {
		w.close()
	}
	if w.connection != nil {
		return nil
	}
	connection, err := w.open(deadline)
	if err != nil {
		return err
	}
	w.connection, w.reader = connection, bufio.NewReader(connection)
	return nil
}

// open makes a connection, and for https the handshake on it.
func (w *worker) open(deadline time.Time) (net.Conn, error) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	dial := w.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	connection, err := dial(ctx, "tcp", hostPort(w.request))
	if err != nil || w.tls == nil {
		return connection, err
	}
	secured := tls.Client(connection, w.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = connection.Close() // the handshake has failed already
		return nil, err
	}
	return secured, nil
}

func (w *worker) close() {
	if w.connection == nil {
		return
	}
	_ = w.connection.Close() // it is given up, whatever state it is in
	w.connection = nil
}

// isOpen looks, without waiting, whether an idle connection has been closed or reset by the other side.
func isOpen(connection net.Conn) bool {
	if secured, ok := connection.(*tls.Conn); ok {
		connection = secured.NetConn()
	}
	raw, err := connection.(*net.TCPConn).SyscallConn()
	if err != nil {
		return false
	}
	open := false
	err = raw.Control(func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		open = errors.Is(err, syscall.EAGAIN)
	})
	return open && err == nil
}

func hostPort(request *http.Request) string {
	port := request.URL.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[request.URL.Scheme]
	}
	return net.JoinHostPort(request.URL.Hostname(), port)
}

// kind puts an error in one of a few words.
func kind(err error) string {
	var netErr net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Closed
	case errors.As(err, &netErr) && netErr.Timeout():
		return Timeout
	default:
		return Other
	}
}

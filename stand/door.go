package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// door answers under the names of AWS inside a cluster's own network, where a resolver of its own leads to it: S3's names
// are the S3 server's, as they come, and all other services' get an answer in AWS's own form that they are not here.
type door struct {
	tls   net.Listener
	names net.PacketConn
	to    netip.AddrPort // the S3 server
	rest  *elsewhere
}

// handshakeWait is longer than a client needs to say whom it wants.
const handshakeWait = 10 * time.Second

// bindDoor binds the door's addresses; it is nil where there is to be none.
func bindDoor(o s3Options) (*door, error) {
	if !o.TLS.IsValid() {
		return nil, nil
	}
	ca, err := readAuthority(o.Authority)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.TLS.String())
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", o.TLS, reason(err))
	}
	names, err := net.ListenPacket("udp", netip.AddrPortFrom(o.TLS.Addr(), o.Names).String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on %s, port %d, for names: %w", o.TLS.Addr(), o.Names, reason(err)), l.Close())
	}
	config := &tls.Config{GetCertificate: ca.certificate, NextProtos: []string{"http/1.1"}}
	return &door{tls: tls.NewListener(l, config), names: names, rest: newElsewhere(l.Addr())}, nil
}

// serve answers until ctx ends. Requests for S3 go to an address.
func (d *door) serve(ctx context.Context, to netip.AddrPort) {
	if d == nil {
		return
	}
	d.to = to
	stop := context.AfterFunc(ctx, func() {
		_ = errors.Join(d.tls.Close(), d.names.Close())
		d.rest.close()
	})
	defer stop()
	here := d.tls.Addr().(*net.TCPAddr).AddrPort().Addr()
	go answerNames(d.names, here)
	go d.rest.serve()
	for {
		conn, err := d.tls.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go d.answer(ctx, conn.(*tls.Conn))
		}
	}
}

// answer gives a connection to whom it is for.
func (d *door) answer(ctx context.Context, conn *tls.Conn) {
	within, cancel := context.WithTimeout(ctx, handshakeWait)
	defer cancel()
	if err := conn.HandshakeContext(within); err != nil {
		_ = conn.Close()
		return
	}
	if isS3(conn.ConnectionState().ServerName) {
		_ = join(ctx, conn, d.to)
		return
	}
	d.rest.take(conn)
}

// join carries bytes between a client and a server until one of them has ended.
func join(ctx context.Context, client *tls.Conn, to netip.AddrPort) error {
	server, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(to))
	if err != nil {
		return errors.Join(err, client.Close())
	}
	shut := func() { _ = errors.Join(client.Close(), server.Close()) }
	defer shut()
	defer context.AfterFunc(ctx, shut)()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.CloseWrite() // who has asked all may still read
	}()
	_, err = io.Copy(client, server)
	return err
}

// isS3 tells whether S3 answers under a name: s3.REGION.amazonaws.com, s3.amazonaws.com, s3-REGION.amazonaws.com,
// s3.dualstack.REGION.amazonaws.com, and whatever bucket stands before it.
func isS3(name string) bool {
	labels := strings.Split(strings.ToLower(name), ".")
	end := len(labels) - 2 // amazonaws.com
	if end > 0 && labels[len(labels)-1] == "cn" {
		end--
	}
	if end < 1 || labels[end] != "amazonaws" {
		return false
	}
	labels = labels[:end]
	for back := 1; back <= min(3, len(labels)); back++ {
		label, region := labels[len(labels)-back], labels[len(labels)-back+1:]
		if label == "s3" && (len(region) < 2 || region[0] == "dualstack") {
			return true
		}
		if back == 1 && strings.HasPrefix(label, "s3-") && label != "s3-control" && label != "s3-outposts" {
			return true
		}
	}
	return false
}

// handed is a listener that is given its connections.
type handed struct {
	conns chan net.Conn
	done  chan struct{}
	addr  net.Addr
}

func (h handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

func (h handed) Close() error   { return nil }
func (h handed) Addr() net.Addr { return h.addr }

var _ net.Listener = handed{}

// elsewhere is the server of all that is not S3.
type elsewhere struct {
	handed
	server *http.Server
}

func newElsewhere(addr net.Addr) *elsewhere {
	return &elsewhere{
		handed: handed{conns: make(chan net.Conn), done: make(chan struct{}), addr: addr},
		server: &http.Server{Handler: http.HandlerFunc(answerElsewhere), ReadHeaderTimeout: handshakeWait, IdleTimeout: time.Minute},
	}
}

func (e *elsewhere) serve() { _ = e.server.Serve(e.handed) }

func (e *elsewhere) close() {
	close(e.done)
	_ = e.server.Close()
}

// take gives the server a connection.
func (e *elsewhere) take(c net.Conn) {
	select {
	case e.conns <- c:
	case <-e.done:
		_ = c.Close()
	}
}

//go:build linux

package load

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// ServeTraffic is a node's worker: it listens on an address of the network that is measured, for connections that know the token that it
// was told, and measures with others when it is told to. It ends when nothing more is told, and everything that it began ends with it.
func ServeTraffic(ctx context.Context, in io.Reader, out io.Writer, node string) error {
	ctx, cancel := context.WithCancel(ctx)
	w := &trafficWorker{node: node, out: out}
	defer w.running.Wait()
	defer cancel()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, commandLimit)
	for lines.Scan() {
		var told trafficTold
		if err := json.Unmarshal(lines.Bytes(), &told); err != nil {
			return fmt.Errorf("read what to do: %w", err)
		}
		switch {
		case told.Do == doOpen && w.token == nil:
			address, err := w.open(ctx, told)
			if err != nil {
				w.say(trafficSaid{Kind: kindReady, Err: err.Error()})
				return err
			}
			w.say(trafficSaid{Kind: kindReady, Address: address})
		case told.Do == doMeasure && w.token != nil:
			w.begin(ctx, told)
		}
	}
	return lines.Err()
}

type trafficWorker struct {
	node    string
	token   []byte
	running sync.WaitGroup
	mu      sync.Mutex // guards out, so that lines stay whole
	out     io.Writer
}

func (w *trafficWorker) say(s trafficSaid) {
	s.Node, s.Err = w.node, tidyWhy(s.Err)
	text, err := json.Marshal(s)
	if err != nil || len(text) >= saidLimit {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.out.Write(append(text, '\n')) // if nobody hears, the input ends too
}

// open begins to listen.
func (w *trafficWorker) open(ctx context.Context, told trafficTold) (address string, err error) {
	token, err := hex.DecodeString(told.Token)
	if err != nil || len(token) < 16 {
		return "", errors.New("the token is none")
	}
	ip, err := ownAddress(ctx, told.Towards, w.node)
	if err != nil {
		return "", err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return "", err
	}
	w.token = token
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	w.running.Go(func() { w.accept(ctx, listener) })
	return listener.Addr().String(), nil
}

// ownAddress is this node's address in the network towards another one, or else the one that its name has.
func ownAddress(ctx context.Context, towards, node string) (string, error) {
	if towards != "" {
		conn, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(towards, "9")) // nothing is sent
		if err != nil {
			return "", fmt.Errorf("find the way to %s: %w", towards, err)
		}
		defer conn.Close()
		return conn.LocalAddr().(*net.UDPAddr).IP.String(), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lookupTime, errors.New("no answer in time"))
	defer cancel()
	names, err := net.DefaultResolver.LookupHost(ctx, node)
	if err != nil {
		return "", fmt.Errorf("look up %s: %w", node, err)
	}
	mine, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("list this node's addresses: %w", err)
	}
	for _, name := range names {
		ip := net.ParseIP(name)
		if ip != nil && !ip.IsLoopback() && slices.ContainsFunc(mine, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.Equal(ip)
		}) {
			return name, nil
		}
	}
	return "", fmt.Errorf("no address of the name %s is this node's", node)
}

const (
	lookupTime = 10 * time.Second
	// mostConns bounds the connections at once, proven or not.
	mostConns = 128
)

// accept serves connections until the worker ends.
func (w *trafficWorker) accept(ctx context.Context, l net.Listener) {
	room := make(chan struct{}, mostConns)
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return
		}
		if err != nil { // such as too many open files
			wait := time.NewTimer(50 * time.Millisecond)
			select {
			case <-wait.C:
			case <-ctx.Done():
			}
			continue
		}
		select {
		case room <- struct{}{}:
			w.running.Go(func() {
				w.answer(ctx, conn.(*net.TCPConn))
				<-room
			})
		default:
			_ = conn.Close() // it may come again
		}
	}
}

// answer serves one connection. Whoever called tells what goes wrong.
func (w *trafficWorker) answer(ctx context.Context, c *net.TCPConn) {
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	wish, err := welcome(c, w.token)
	if err != nil {
		return
	}
	switch wish.kind {
	case wishEcho:
		_ = echo(c, wish)
	case wishTake:
		_ = send(c, wish)
	case wishSend:
		f, err := take(c, wish)
		if err == nil {
			_ = json.NewEncoder(c).Encode([2]int64{f.bytes, f.took.Nanoseconds()})
			drain(c)
		}
	}
}

// echo sends messages back until their sender ends.
func echo(c *net.TCPConn, w wish) error {
	_ = c.SetDeadline(time.Now().Add(w.lasts + proveWait)) // of a broken connection the next read tells
	message := make([]byte, pingBytes)
	for {
		if _, err := io.ReadFull(c, message); err != nil {
			return err
		}
		if _, err := c.Write(message); err != nil {
			return err
		}
	}
}

// begin measures with the other of the pair that this node leads.
func (w *trafficWorker) begin(ctx context.Context, told trafficTold) {
	for _, p := range told.Pairs {
		if p.A != w.node {
			continue
		}
		w.running.Go(func() {
			limit := workerLimit(told.Seconds)
			ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
			defer cancel()
			s := w.measure(ctx, p, told)
			if ctx.Err() != nil {
				s = trafficSaid{Err: fmt.Sprintf("measure with %s at %s: %v", p.B, p.To, context.Cause(ctx))}
			}
			s.Kind, s.Turn = kindMeasured, told.Turn
			w.say(s)
		})
	}
}

// workerLimit is how long a worker measures at most: connections are made three times.
func workerLimit(seconds float64) time.Duration {
	return time.Duration(seconds*float64(time.Second)) + 10*time.Second
}

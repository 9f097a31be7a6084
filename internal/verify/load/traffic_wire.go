//go:build linux

package load

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// A connection begins so that both ends prove that they know the token, which itself never goes over the network:
//
//	server: nonce (16 bytes)
//	client: wish (24 bytes), HMAC-SHA256 of "client", the nonce and the wish
//	server: HMAC-SHA256 of "server", the nonce and the wish
//
// What follows is as the wish says.
const (
	nonceBytes = 16
	wishBytes  = 24
	proveWait  = 5 * time.Second
)

// Kinds of wishes: to have messages sent back, to send, and to be sent to.
const (
	wishEcho = 'e'
	wishSend = 's'
	wishTake = 't'
)

// wish is what a connection is for.
type wish struct {
	kind byte
	// lasts is for how long data flow, warms how much of it, at the begin, does not count.
	lasts, warms time.Duration
	// rate is the most bytes a second, 0 for no limit.
	rate int64
}

func (w wish) bytes() []byte {
	b := make([]byte, wishBytes)
	b[0] = w.kind
	binary.BigEndian.PutUint32(b[4:], uint32(w.lasts.Milliseconds()))
	binary.BigEndian.PutUint32(b[8:], uint32(w.warms.Milliseconds()))
	binary.BigEndian.PutUint64(b[16:], uint64(w.rate))
	return b
}

func readWish(b []byte) (wish, error) {
	ms := func(at int) time.Duration { return time.Duration(binary.BigEndian.Uint32(b[at:])) * time.Millisecond }
	w := wish{kind: b[0], lasts: ms(4), warms: ms(8), rate: int64(binary.BigEndian.Uint64(b[16:]))}
	if w.lasts > secondsLimit*time.Second || w.warms > w.lasts || w.rate < 0 {
		return w, errors.New("the wish is out of bounds")
	}
	return w, nil
}

func proof(token []byte, who string, nonce, wish []byte) []byte {
	m := hmac.New(sha256.New, token)
	m.Write([]byte(who))
	m.Write(nonce)
	m.Write(wish)
	return m.Sum(nil)
}

// welcome proves a client and tells its wish.
func welcome(c net.Conn, token []byte) (wish, error) {
	_ = c.SetDeadline(time.Now().Add(proveWait)) // of a broken connection the next read tells
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce) // it does not fail
	if _, err := c.Write(nonce); err != nil {
		return wish{}, err
	}
	said := make([]byte, wishBytes+sha256.Size)
	if _, err := io.ReadFull(c, said); err != nil {
		return wish{}, err
	}
	if !hmac.Equal(said[wishBytes:], proof(token, "client", nonce, said[:wishBytes])) {
		return wish{}, errors.New("the token is wrong")
	}
	w, err := readWish(said[:wishBytes])
	if err != nil {
		return w, err
	}
	_, err = c.Write(proof(token, "server", nonce, said[:wishBytes]))
	return w, err
}

// call connects and says what for.
func call(ctx context.Context, to string, token []byte, w wish) (*net.TCPConn, error) {
	conn, err := (&net.Dialer{Timeout: proveWait}).DialContext(ctx, "tcp", to)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(proveWait)) // of a broken connection the next read tells
	err = introduce(conn, token, w)
	if err != nil {
		_ = conn.Close() // the error says more
		return nil, fmt.Errorf("prove the token at %s: %w", to, err)
	}
	return conn.(*net.TCPConn), nil
}

func introduce(c net.Conn, token []byte, w wish) error {
	nonce := make([]byte, nonceBytes)
	if _, err := io.ReadFull(c, nonce); err != nil {
		return err
	}
	wish := w.bytes()
	if _, err := c.Write(append(wish[:wishBytes:wishBytes], proof(token, "client", nonce, wish)...)); err != nil {
		return err
	}
	answer := make([]byte, sha256.Size)
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if !hmac.Equal(answer, proof(token, "server", nonce, wish)) {
		return errors.New("the other end does not know it")
	}
	return nil
}

// Sizes of what goes over a connection. mostOfStream bounds a stream.
const (
	blockBytes   = 256 << 10
	pingBytes    = 64
	mostOfStream = 64 << 30
)

// catchUp is how much of a time in which nothing could be sent is made good at a rate: more would be a burst of many times the rate.
const catchUp = 50 * time.Millisecond

// send sends for as long as the wish says and ends the stream. More than rate a second is not sent. A network that is too slow to take
// a block in that time is no error: the other end knows what came.
func send(c *net.TCPConn, w wish) error {
	block := make([]byte, blockBytes)
	_, _ = rand.Read(block) // it does not fail; nothing on the way can make it smaller
	if w.rate > 0 {
		block = block[:min(blockBytes, max(4<<10, w.rate/100))]
	}
	begun := time.Now()
	next := begun                              // when the next block may go
	_ = c.SetWriteDeadline(begun.Add(w.lasts)) // of a broken connection the next write tells
	for sent := int64(0); sent < mostOfStream; {
		took := time.Since(begun)
		if took >= w.lasts {
			break
		}
		if w.rate > 0 {
			if wait := time.Until(next); wait > 0 {
				time.Sleep(min(wait, w.lasts-took))
				continue
			}
			if late := time.Since(next); late > catchUp {
				next = next.Add(late - catchUp)
			}
			next = next.Add(time.Duration(float64(len(block)) / float64(w.rate) * float64(time.Second)))
		}
		n, err := c.Write(block)
		sent += int64(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return err
		}
	}
	return c.CloseWrite()
}

// flow is what came over a stream behind its warm-up.
type flow struct {
	bytes int64
	took  time.Duration
}

// gbps is its rate: 0 if nothing came.
func (f flow) gbps() float64 {
	if f.took <= 0 {
		return 0
	}
	return float64(f.bytes) / f.took.Seconds() / 1e9
}

// take reads a stream for as long as the wish says from its first bytes on, and counts. The kernel drops the data (MSG_TRUNC, tcp(7)),
// so that counting costs little. If nothing came behind the warm-up, what came before counts.
func take(c *net.TCPConn, w wish) (flow, error) {
	_ = c.SetReadDeadline(time.Now().Add(w.lasts + proveWait)) // of a broken connection the next read tells
	raw, err := c.SyscallConn()
	if err != nil {
		return flow{}, err
	}
	buffer := make([]byte, blockBytes)
	if n, err := drop(raw, buffer); err != nil || n == 0 {
		return flow{}, err
	}
	begun := time.Now()
	_ = c.SetReadDeadline(begun.Add(w.lasts))
	var all, warm flow
	for {
		n, err := drop(raw, buffer)
		now := time.Now()
		if n > 0 || err != nil {
			all = flow{all.bytes + int64(n), now.Sub(begun)}
		}
		switch {
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return flow{}, err
		case err != nil || n == 0:
			if behind := (flow{all.bytes - warm.bytes, all.took - warm.took}); behind.bytes > 0 {
				return behind, nil
			}
			return all, nil
		case warm.took == 0 && all.took >= w.warms:
			warm = all
		}
	}
}

// drain reads what is still on its way, so that closing does not break the connection before the other end has read its answer.
func drain(c *net.TCPConn) {
	_ = c.SetReadDeadline(time.Now().Add(proveWait)) // of a broken connection the next read tells
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	buffer := make([]byte, blockBytes)
	for {
		if n, err := drop(raw, buffer); err != nil || n <= 0 {
			return
		}
	}
}

func drop(raw syscall.RawConn, buffer []byte) (n int, err error) {
	wait := raw.Read(func(fd uintptr) bool {
		for {
			n, _, err = syscall.Recvfrom(int(fd), buffer, syscall.MSG_TRUNC|syscall.MSG_DONTWAIT)
			if !errors.Is(err, syscall.EINTR) {
				return !errors.Is(err, syscall.EAGAIN)
			}
		}
	})
	if wait != nil {
		return 0, wait
	}
	return max(0, n), err
}

package ssh

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/muster-hpc/muster/internal/sys/peer"
)

// Agent answers SSH's clients as ssh-agent does (draft-miller-ssh-agent). For each connection
// it has a key of its own and a certificate for the user at the other end: a server that
// has seen a certificate cannot find another agent that signs with its key.
type Agent struct {
	Authority Authority
	// Names are the names of the user with this ID, none if he may not log in.
	Names func(uid int) []string
}

// Messages of the protocol.
const (
	failure          = 5
	askIdentities    = 11
	answerIdentities = 12
	askSignature     = 13
	answerSignature  = 14
)

// messageLimit is more than any question has.
const messageLimit = 256 << 10

// Serve answers until ctx ends.
func (a Agent) Serve(ctx context.Context, socket net.Listener) error {
	defer context.AfterFunc(ctx, func() { socket.Close() })()
	for {
		conn, err := socket.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("answer SSH's clients: %w", err)
		}
		go a.serve(ctx, conn)
	}
}

// serve answers one client, as long as it asks.
func (a Agent) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	names := a.Names(peer.UID(conn))
	if len(names) == 0 {
		return
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return
	}
	certificate := a.Authority.certificate(key, names, time.Now())
	for {
		message, err := read(conn)
		if err != nil {
			return
		}
		if _, err := conn.Write(text(answer(message, key, certificate))); err != nil {
			return
		}
	}
}

// answer answers one message.
func answer(message []byte, key ed25519.PrivateKey, certificate []byte) []byte {
	if len(message) == 0 {
		return []byte{failure}
	}
	switch message[0] {
	case askIdentities:
		return join([]byte{answerIdentities}, number(1), text(certificate), text("muster's cluster"))
	case askSignature:
		with, rest, err := next(message[1:])
		if err != nil || !bytes.Equal(with, certificate) {
			return []byte{failure}
		}
		data, _, err := next(rest)
		if err != nil || !bytes.Contains(data, text(certificate)) { // the signed data of a login contains it (RFC 4252, 7)
			return []byte{failure}
		}
		return join([]byte{answerSignature}, text(sign(key, data)))
	}
	return []byte{failure}
}

func read(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > messageLimit {
		return nil, errors.New("a message is too long")
	}
	message := make([]byte, n)
	_, err := io.ReadFull(r, message)
	return message, err
}

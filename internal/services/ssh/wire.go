package ssh

import (
	"encoding/binary"
	"errors"
)

// The forms of RFC 4251, section 5: numbers, and texts with their length before them.

func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func text[T string | []byte](t T) []byte {
	return append(number(uint32(len(t))), t...)
}

func join(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

var errShort = errors.New("a message ends too early")

// next takes a text off the front of a message.
func next(message []byte) (text, rest []byte, err error) {
	if len(message) < 4 {
		return nil, nil, errShort
	}
	n := binary.BigEndian.Uint32(message)
	if uint64(n) > uint64(len(message)-4) {
		return nil, nil, errShort
	}
	return message[4 : 4+n], message[4+n:], nil
}

package tensorboard

import (
	"encoding/binary"
	"math"
	"time"
)

// The numbers of fields in tensorboard/compat/proto/event.proto and summary.proto, each with its wire type: what a field's
// key is made of. docs/decisions/0045-event-files.md says why they stand here.
const (
	eventTime    = 1<<3 | fixed64   // double wall_time
	eventStep    = 2<<3 | varint    // int64 step
	eventVersion = 3<<3 | delimited // string file_version
	eventSummary = 5<<3 | delimited // Summary summary
	eventSession = 7<<3 | delimited // SessionLog session_log

	summaryValue = 1<<3 | delimited // repeated Value value
	valueTag     = 1<<3 | delimited // string tag
	valueSimple  = 2<<3 | fixed32

	sessionStatus = 1<<3 | varint // START is 1

	varint, fixed64, delimited, fixed32 = 0, 1, 2, 5
)

// version is what TensorBoard wants to read first; from version 2 on it believes session logs on restarts.
const version = "brain.Event:2"

func appendHead(to []byte, at time.Time, step int64) []byte {
	to = append(to, eventTime)
	to = binary.LittleEndian.AppendUint64(to, math.Float64bits(seconds(at)))
	if step != 0 {
		to = append(to, eventStep)
		to = binary.AppendUvarint(to, uint64(step))
	}
	return to
}

// seconds since 1970, whose microseconds survive.
func seconds(at time.Time) float64 { return float64(at.UnixMicro()) / 1e6 }

func appendBytes(to []byte, key byte, data []byte) []byte {
	to = append(to, key)
	to = binary.AppendUvarint(to, uint64(len(data)))
	return append(to, data...)
}

func appendVersion(to []byte, at time.Time) []byte {
	return appendBytes(appendHead(to, at, 0), eventVersion, []byte(version))
}

// appendStart says that a session starts at a step: what there is of this step and later ones is not true any more.
func appendStart(to []byte, at time.Time, step int64) []byte {
	return appendBytes(appendHead(to, at, step), eventSession, []byte{sessionStatus, 1})
}

func appendScalars(to []byte, e Event) []byte {
	var summary, value []byte
	for _, s := range e.Scalars {
		value = appendBytes(value[:0], valueTag, []byte(s.Tag))
		value = append(value, valueSimple)
		value = binary.LittleEndian.AppendUint32(value, math.Float32bits(float32(s.Value)))
		summary = appendBytes(summary, summaryValue, value)
	}
	return appendBytes(appendHead(to, e.Time, e.Step), eventSummary, summary)
}

// parsed is what Read wants of an event.
type parsed struct {
	step           int64
	summary, start bool
}

// parseEvent reads an event, of which fields may be unknown. What is no event at all says nothing.
func parseEvent(data []byte) parsed {
	var p parsed
	for len(data) > 0 {
		key, n := binary.Uvarint(data)
		if n <= 0 {
			return p
		}
		data = data[n:]
		value, size := uint64(0), 0
		switch key & 7 {
		case varint:
			value, size = binary.Uvarint(data)
		case fixed64:
			size = 8
		case fixed32:
			size = 4
		case delimited:
			length, n := binary.Uvarint(data)
			if n <= 0 || length > uint64(len(data)-n) {
				return p
			}
			data, size = data[n:], int(length)
		default:
			return p
		}
		if size <= 0 && key&7 != delimited || size > len(data) {
			return p
		}
		switch key {
		case eventStep:
			p.step = int64(value)
		case eventSummary:
			p.summary = true
		case eventSession:
			p.start = size >= 2 && data[0] == sessionStatus && data[1] == 1
		}
		data = data[size:]
	}
	return p
}

package tensorboard

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// A record is TFRecord's (tensorflow/core/lib/io/record_writer.h), little endian:
//
//	uint64 length
//	uint32 masked CRC32C of the length
//	byte   data[length]
//	uint32 masked CRC32C of the data
const (
	headSize = 12
	tailSize = 4
	// mostData is more than any record of ours has; one that says it has more is none.
	mostData = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is a checksum as records have it: one of data that holds checksums themselves is no good otherwise.
func masked(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

func appendRecord(to, data []byte) []byte {
	at := len(to)
	to = binary.LittleEndian.AppendUint64(to, uint64(len(data)))
	to = binary.LittleEndian.AppendUint32(to, masked(to[at:]))
	to = append(to, data...)
	return binary.LittleEndian.AppendUint32(to, masked(data))
}

// Read reads an event file up to its end or to the first record that is not whole. TensorBoard does the same, and never gets
// past such a record.
func Read(r io.Reader) (File, error) {
	var f File
	in := bufio.NewReaderSize(r, 1<<16)
	var data []byte
	for {
		var err error
		data, err = readRecord(in, data)
		if errors.Is(err, errTorn) {
			return f, nil
		}
		if err != nil {
			return f, err
		}
		f.Size += int64(headSize + len(data) + tailSize)
		e := parseEvent(data)
		f.Started = f.Started || e.start
		if e.summary {
			f.Events++
			f.Step = e.step
		}
	}
}

// errTorn says that there is no other whole record.
var errTorn = errors.New("no whole record")

// readRecord reads the next one, in a buffer that it may use again.
func readRecord(in io.Reader, buffer []byte) ([]byte, error) {
	var head [headSize]byte
	if err := fill(in, head[:]); err != nil {
		return nil, err
	}
	length := binary.LittleEndian.Uint64(head[:8])
	if binary.LittleEndian.Uint32(head[8:]) != masked(head[:8]) || length > mostData {
		return nil, errTorn
	}
	if need := int(length) + tailSize; cap(buffer) < need {
		buffer = make([]byte, need)
	}
	buffer = buffer[:int(length)+tailSize]
	if err := fill(in, buffer); err != nil {
		return nil, err
	}
	data := buffer[:length]
	if binary.LittleEndian.Uint32(buffer[length:]) != masked(data) {
		return nil, errTorn
	}
	return data, nil
}

// fill reads all of a buffer. A file that ends before is torn; one that cannot be read is not.
func fill(in io.Reader, buffer []byte) error {
	_, err := io.ReadFull(in, buffer)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTorn
	}
	return err
}

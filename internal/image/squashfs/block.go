package squashfs

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Encoder compresses blocks, one at a time. What it writes depends on its
// input alone.
type Encoder struct{ zstd *zstd.Encoder }

// NewEncoder makes an encoder of the fastest level, which holds about a
// megabyte.
func NewEncoder() *Encoder {
	z, err := zstd.NewWriter(nil,
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(BlockSize), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return &Encoder{zstd: z}
}

// Block returns what is stored for a data or fragment block of at most
// BlockSize bytes, and its size word. Where compression does not help, that is
// the block itself. The result may lie in buf, whose content is replaced.
func (e *Encoder) Block(block, buf []byte) ([]byte, uint32) {
	out := e.zstd.EncodeAll(block, buf[:0])
	if len(out) >= len(block) {
		return block, uint32(len(block)) | Raw
	}
	return out, uint32(len(out))
}

// Decoder is Encoder's inverse, one block at a time.
type Decoder struct{ zstd *zstd.Decoder }

// NewDecoder makes a decoder. It never returns more than a block.
func NewDecoder() *Decoder {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(BlockSize), zstd.WithDecoderMaxWindow(BlockSize))
	if err != nil {
		panic(err) // the options are constants
	}
	return &Decoder{zstd: z}
}

// Block returns the block that is stored as data under the size word. The
// result may lie in buf or be data.
func (d *Decoder) Block(data []byte, word uint32, buf []byte) ([]byte, error) {
	if word&Raw != 0 {
		return data, nil
	}
	out, err := d.zstd.DecodeAll(data, buf[:0])
	if err != nil {
		return nil, fmt.Errorf("decompress block: %w", err)
	}
	return out, nil
}

// StoredSize is the number of bytes that a block with this size word takes.
func StoredSize(word uint32) int { return int(word &^ Raw) }

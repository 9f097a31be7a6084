//go:build linux

package load

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"syscall"
)

const (
	// chunk is what one write or read does, and after which the data repeat but for their stamps: more than the records of ZFS, so
	// that neither compression nor deduplication finds anything.
	chunk = 4 << 20
	// sector is what O_DIRECT aligns to at most, and every sector has a stamp.
	sector = 4096
)

// pattern is what a file holds: random bytes that only the file's name decides, so that other nodes know them, too.
type pattern struct {
	seed uint64
	base []byte
}

// patternOf are the data of a file of a run.
func patternOf(run, file string) *pattern {
	sum := sha256.Sum256([]byte(run + "/" + file))
	p := &pattern{seed: binary.LittleEndian.Uint64(sum[:]), base: make([]byte, chunk)}
	random := rand.NewChaCha8(sum)
	_, _ = random.Read(p.base) // it never fails
	return p
}

// stamp is at the beginning of a sector: by itself it looks as random as the rest.
func (p *pattern) stamp(number int64) uint64 {
	x := p.seed + uint64(number)*0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// stampAll makes a buffer that holds the base be the chunk of that number.
func (p *pattern) stampAll(buffer []byte, number int64) {
	first := number * (chunk / sector)
	for i := range int64(chunk / sector) {
		binary.LittleEndian.PutUint64(buffer[i*sector:], p.stamp(first+i))
	}
}

// check holds that a buffer is the chunk of that number.
func (p *pattern) check(buffer []byte, number int64) error {
	first := number * (chunk / sector)
	for i := range int64(chunk / sector) {
		at := i * sector
		if binary.LittleEndian.Uint64(buffer[at:]) != p.stamp(first+i) || !bytes.Equal(buffer[at+8:at+sector], p.base[at+8:at+sector]) {
			return fmt.Errorf("%w: the %d bytes at %d differ", errDamaged, sector, number*chunk+at)
		}
	}
	return nil
}

// aligned is memory for O_DIRECT; free gives it back.
func aligned() (buffer []byte, free func(), err error) {
	buffer, err = syscall.Mmap(-1, 0, chunk, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("get memory for a chunk: %w", err)
	}
	return buffer, func() { _ = syscall.Munmap(buffer) }, nil
}

package store

import (
	"bytes"
	"hash/crc64"
	"math/rand/v2"
	"testing"

	"github.com/minio/crc64nvme"
)

// TestCheckValue has the value that the standard and every catalogue of CRCs name for CRC-64/NVME.
func TestCheckValue(t *testing.T) {
	const want = 0xae8b14860a799888
	digits := []byte("123456789")
	table := crc64.MakeTable(polynomial)
	if got := crc64.Checksum(digits, table); got != want {
		t.Errorf("hash/crc64 has %#x, want %#x", got, uint64(want))
	}
	if got := crc64nvme.Checksum(digits); got != want {
		t.Errorf("crc64nvme has %#x, want %#x", got, uint64(want))
	}
	if got := Combine(crc64nvme.Checksum(digits[:4]), crc64nvme.Checksum(digits[4:]), 5); got != want {
		t.Errorf("combined it is %#x, want %#x", got, uint64(want))
	}
	sums, err := Sum(bytes.NewReader(digits), 9)
	if err != nil || sums.CRC64NVME != "rosUhgp5mIg=" {
		t.Errorf("Sum has %q, %v", sums.CRC64NVME, err)
	}
}

// TestCombine splits contents of many lengths at random places, and compares with the library's plain loop.
func TestCombine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	bytes := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{2}).Read(bytes)
	table := crc64.MakeTable(polynomial)
	for range 300 {
		content := bytes[:r.IntN(1<<r.IntN(20)+1)]
		want := crc64.Checksum(content, table)
		if got := crc64nvme.Checksum(content); got != want {
			t.Fatalf("crc64nvme has %#x of %d bytes, hash/crc64 %#x", got, len(content), want)
		}
		got := uint64(0)
		for rest := content; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			got = Combine(got, crc64.Checksum(rest[:n], table), int64(n))
			rest = rest[n:]
		}
		if got != want {
			t.Fatalf("%d bytes in parts have %#x, want %#x", len(content), got, want)
		}
	}
}

// TestCombineManyBytes has parts longer than any test can read: it does not matter which two are put together first.
func TestCombineManyBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		a, b, c := r.Uint64(), r.Uint64(), r.Uint64()
		m, n := r.Int64N(5<<40), r.Int64N(5<<40)
		if left, right := Combine(Combine(a, b, m), c, n), Combine(a, Combine(b, c, n), m+n); left != right {
			t.Fatalf("%d and %d bytes: %#x and %#x", m, n, left, right)
		}
	}
}

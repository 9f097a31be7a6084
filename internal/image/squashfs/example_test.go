package squashfs_test

import (
	"bytes"
	"fmt"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// A block is stored with a word that says its size, and whether it is compressed.
func ExampleEncoder_Block() {
	block := bytes.Repeat([]byte("muster "), 1000)
	data, word := squashfs.NewEncoder().Block(block, nil)
	again, err := squashfs.NewDecoder().Block(data, word, nil)
	fmt.Println(len(data) == squashfs.StoredSize(word), len(data) < len(block), bytes.Equal(again, block), err)
	// Output: true true true <nil>
}

package store_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/muster-hpc/muster/internal/store"
)

// No byte is trusted without its checksum: a reader of other bytes ends with an error, not with io.EOF.
func ExampleVerify() {
	sums, err := store.Sum(strings.NewReader("weights"), 7)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"weights", "weighty"} {
		_, err := io.ReadAll(store.Verify(io.NopCloser(strings.NewReader(text)), 7, sums))
		fmt.Println(text, errors.Is(err, store.ErrChecksum))
	}
	// Output:
	// weights false
	// weighty true
}

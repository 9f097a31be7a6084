package store_test

import (
	"fmt"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

func TestFakeKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return &storetest.Fake{PartBytes: 32 << 20} })
}

func TestS3KeepsTheContract(t *testing.T) {
	_, config := storetest.Stand(t)
	buckets := 0
	storetest.Run(t, func(t *testing.T) store.Store {
		buckets++
		c := config
		c.Bucket = fmt.Sprintf("bucket-%d", buckets)
		s, err := store.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.MakeBucket(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s
	})
}
